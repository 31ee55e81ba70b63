"""Grids of curves: explicit, uniform or quantile, or one point per step of a tree model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.effects.engine import Effects, PiecewiseConstant
from onnxplain_server.effects.grids import GridLayout, cross, make_grid
from onnxplain_server.effects.step_grids import make_step_grid
from onnxplain_server.methods.partial_dependence import Options, Strategy

MAX_STEPS = 50_000
"""Largest grid of steps, whose size the model decides and not the caller."""


def lay_grids(
    effects: Effects, features: Features, options: Options, path: str
) -> list[tuple[Array, ...]]:
    """Lay out the grid of each curve that has no explicit one.

    Parameters
    ----------
    effects : Effects
        For STEPS, an engine that knows the steps of the model.
    features : Features
        All rows of the table, not only the sample.
    options : Options
        Resolved.

    Raises
    ------
    ExplainError
        INVALID_OPTION if STEPS is requested and the engine knows no steps, or too many.
    """
    return [
        tuple(explicit.values())
        if explicit is not None
        else _lay(effects, features, [features.index(name) for name in names], options, path)
        for names, explicit in zip(options.features, options.grids, strict=True)
    ]


def _lay(
    effects: Effects, features: Features, positions: Sequence[int], options: Options, path: str
) -> tuple[Array, ...]:
    layout = GridLayout(
        options.grid_size,
        options.strategy is Strategy.QUANTILE,
        options.trim_lower,
        options.trim_upper,
        options.include_missing,
    )
    if options.strategy is Strategy.STEPS:
        return _lay_steps(effects, features, positions, layout, f"{path}.strategy")
    whole = [features.is_whole(j) for j in positions]
    return make_grid([features.columns[j] for j in positions], layout, whole)


def _lay_steps(
    effects: Effects, features: Features, positions: Sequence[int], layout: GridLayout, path: str
) -> tuple[Array, ...]:
    """Lay out a grid of steps; for several features, one point per cell."""
    if not isinstance(effects, PiecewiseConstant):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the strategy STEPS needs the trees engine, which reads the thresholds of the model, "
            "but this model is explained by the black-box engine; use UNIFORM or QUANTILE, or "
            "request the engine TREES to see why it does not apply",
            path,
        )
    axes = [
        make_step_grid(_as_model_input(features, j), effects.breakpoints(j), layout)
        for j in positions
    ]
    _check_count(axes, tuple(features.names[j] for j in positions), path)
    return cross(axes)


def _as_model_input(features: Features, feature: int) -> Array:
    """Return a feature's values in the model's precision: float64 or str objects."""
    column = features.cast(feature, features.columns[feature])
    return column if column.dtype == object else column.astype(np.float64)


def _check_count(axes: Sequence[Array], names: tuple[str, ...], path: str) -> None:
    """Reject a grid that is too large."""
    sizes = [len(axis) for axis in axes]
    count = math.prod(sizes)
    if count <= MAX_STEPS:
        return
    product = "" if len(sizes) == 1 else " × ".join(f"{size:,}" for size in sizes) + " = "
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"the model has {product}{count:,} steps in {listed(names)} between the trimming "
        f"quantiles; the limit is {MAX_STEPS:,}: narrow trim_lower and trim_upper, or use the "
        "strategy QUANTILE",
        path,
    )
