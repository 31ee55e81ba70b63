"""Grids of curves: explicit, uniform or quantile, or one point per step of a tree model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.effects.column_values import ColumnDistribution, SortedColumn
from onnxplain_server.effects.engine import CategoryEngine, Effects, PiecewiseConstant
from onnxplain_server.effects.grids import (
    GridLayout,
    axis_of,
    axis_size,
    cross,
    step_grid_of,
    trimmed_ranks,
)
from onnxplain_server.methods.partial_dependence import Options, Strategy

MAX_STEPS = 50_000
"""Largest grid of steps, whose size the model decides and not the caller."""


class GridColumns(Protocol):
    """Columns of a table that grids are laid over, by the positions of the features."""

    def values(self, feature: int) -> ColumnDistribution:
        """Return the values as sent."""

    def inputs(self, feature: int) -> ColumnDistribution:
        """Return the values in the model's precision, as float64; or text."""


class TableColumns:
    """Implements `GridColumns` on a table in memory.

    Parameters
    ----------
    features : Features
        All rows of the table, not only the sample.
    """

    def __init__(self, features: Features) -> None:
        self._features = features

    def values(self, feature: int) -> ColumnDistribution:
        return SortedColumn(_finite(self._features.columns[feature]))

    def inputs(self, feature: int) -> ColumnDistribution:
        return SortedColumn(
            as_model_input(self._features, feature, _finite(self._features.columns[feature]))
        )


def _finite(column: Array) -> Array:
    """Leave out infinite values, between which no points can lie, where there are others."""
    if column.dtype == object or not (infinite := np.isinf(column)).any():
        return column
    is_other = ~infinite
    return column[is_other] if np.isfinite(column).any() else column


def lay_grids(
    effects: Effects,
    features: Features,
    options: Options,
    path: str,
    columns: GridColumns | None = None,
) -> list[tuple[Array, ...]]:
    """Lay out the grid of each curve that has no explicit one.

    Parameters
    ----------
    effects : Effects
        For STEPS, an engine that knows the steps of the model.
    features : Features
    options : Options
        Resolved.
    columns : GridColumns or None
        Values of the features; None: those of `features`.

    Raises
    ------
    ExplainError
        INVALID_OPTION if STEPS is requested and the engine knows no steps, or too many.
    """
    axes = _Axes(effects, features, options, path, columns or TableColumns(features))
    return [
        tuple(explicit.values())
        if explicit is not None
        else axes.lay([features.index(name) for name in names])
        for names, explicit in zip(options.features, options.grids, strict=True)
    ]


def grid_ranks(options: Options) -> dict[str, Vector]:
    """Return the probabilities of the quantiles that automatic grids are made of, by feature."""
    layout = _layout(options)
    ranks: dict[str, Vector] = {}
    for names, explicit in zip(options.features, options.grids, strict=True):
        for name in names if explicit is None else ():
            own = trimmed_ranks(layout, axis_size(layout, len(names)))
            ends = np.array([0.0, layout.trim_lower, layout.trim_upper, 1.0])
            ranks[name] = np.concatenate([ranks.get(name, ends), own])
    return ranks


def _layout(options: Options) -> GridLayout:
    return GridLayout(
        options.grid_size,
        _takes_quantiles(options.strategy),
        options.trim_lower,
        options.trim_upper,
        options.include_missing,
    )


def _takes_quantiles(strategy: Strategy) -> bool:
    match strategy:
        case Strategy.QUANTILE:
            return True
        case Strategy.UNIFORM | Strategy.STEPS:
            return False


class _Axes:
    """Axes of automatic grids, each made once: a feature has the same in all its pairs.

    Parameters are those of `lay_grids`.
    """

    def __init__(
        self,
        effects: Effects,
        features: Features,
        options: Options,
        path: str,
        columns: GridColumns,
    ) -> None:
        self._effects = effects
        self._features = features
        self._columns = columns
        self._path = f"{path}.strategy"
        self._are_steps = options.strategy is Strategy.STEPS
        self._layout = _layout(options)
        self._made: dict[tuple[int, int], Array] = {}

    def lay(self, positions: Sequence[int]) -> tuple[Array, ...]:
        """Lay the grid over features; of steps, it has one point per cell."""
        axes = [self._axis(j, len(positions)) for j in positions]
        if self._are_steps:
            _check_count(axes, tuple(self._features.names[j] for j in positions), self._path)
        return cross(axes)

    def _axis(self, feature: int, n_features: int) -> Array:
        """Return the points of one feature in a grid over `n_features`."""
        key = feature, n_features
        if key not in self._made:
            self._made[key] = self._steps(feature) if self._are_steps else self._spaced(*key)
        return self._made[key]

    def _spaced(self, feature: int, n_features: int) -> Array:
        column = self._columns.values(feature)
        is_whole = self._features.is_whole(feature)
        is_whole = is_whole or (feature in self._categories and column.is_whole)
        return axis_of(column, self._layout, n_features, is_integer=is_whole)

    @property
    def _categories(self) -> frozenset[int]:
        effects = self._effects
        return effects.categories if isinstance(effects, CategoryEngine) else frozenset()

    def _steps(self, feature: int) -> Array:
        if not isinstance(self._effects, PiecewiseConstant):
            raise ExplainError(
                Reason.INVALID_OPTION,
                "the strategy STEPS needs the trees engine, which reads the thresholds of the "
                "model, but this model is explained by the black-box engine; use UNIFORM or "
                "QUANTILE, or request the engine TREES to see why it does not apply",
                self._path,
            )
        breakpoints = self._effects.breakpoints(feature)
        if breakpoints is None:
            raise ExplainError(
                Reason.INVALID_OPTION,
                "the strategy STEPS needs a model that is constant between thresholds, but a "
                f"linear function of {self._features.names[feature]!r} is added to the trees; use "
                "UNIFORM or QUANTILE for this feature",
                self._path,
            )
        return step_grid_of(self._columns.inputs(feature), breakpoints, self._layout)


def as_model_input(features: Features, feature: int, values: Array) -> Array:
    """Return values of a feature in the model's precision: float64 or str objects."""
    column = features.cast(feature, values)
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
