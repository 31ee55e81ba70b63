"""Partial dependence: how the average prediction changes with one or several features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods.option_checks import choose, within

_SAMPLE_SIZE = 200
"""Values of a feature that are enough for the rug under its curve."""


class Strategy(Enum):
    """How a grid is laid over a numeric feature."""

    UNIFORM = "UNIFORM"
    QUANTILE = "QUANTILE"
    STEPS = "STEPS"


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """What to compute; see `PartialDependenceOptions` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        What to vary: one feature a curve, several together a surface. Empty, before
        `resolve`, for every feature by itself.
    grids : tuple, one entry per entry of `features`
        None: the grid is laid; otherwise (n_points,) values by feature. Empty,
        before `resolve`, where all are laid.
    """

    features: tuple[tuple[str, ...], ...] = ()
    grids: tuple[Mapping[str, Array] | None, ...] = ()
    grid_size: int = 49
    strategy: Strategy = Strategy.UNIFORM
    trim_lower: float = 0.01
    trim_upper: float = 0.99
    group_column: str = ""
    group_count: int = 4
    include_missing: bool = False

    @property
    def are_stepped(self) -> tuple[bool, ...]:
        """Whether each grid is one of steps; to be asked after `resolve`."""
        return tuple(self.strategy is Strategy.STEPS and grid is None for grid in self.grids)


@dataclass(frozen=True, slots=True, eq=False)
class PartialDependenceCurve:
    """Average predictions over one grid.

    Attributes
    ----------
    features : tuple of str
    group : str
        Group of rows averaged over; empty where rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64, or str objects.
    values : (n_points, n_outputs)
        Not centred; output unit.
    weight : float
        Total weight of the rows averaged over.
    is_stepped : bool
        Whether nothing changes between neighbouring grid points, but at the later one.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Array, ...]
    values: Matrix
    weight: float
    is_stepped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Curves in the order asked for, each by its groups, by ascending value.

    Attributes
    ----------
    output_names : tuple of str
    curves : tuple of PartialDependenceCurve
    samples : mapping of feature to (n,) array
        Some of the feature's values in the table, for a rug under the curves.
    group_column : str
        Empty where rows are not grouped.
    """

    output_names: tuple[str, ...]
    curves: tuple[PartialDependenceCurve, ...]
    samples: dict[str, Array]
    group_column: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RowGroup:
    """Rows that are averaged over together: a group, or all of them."""

    group: str
    rows: Background


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features, and refuse what is impossible.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    features = options.features or tuple((name,) for name in names)
    for i, group in enumerate(features):
        choose(group or ("",), names, f"{path}.features[{i}].names")
    if options.grids and len(options.grids) != len(features):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(options.grids)} grids for {len(features)} entries of features; give one each",
            f"{path}.grids",
        )
    within(options.grid_size, 2, 10_000, f"{path}.grid_size")
    within(options.group_count, 1, 100, f"{path}.group_count")
    within(options.trim_lower, 0, 1, f"{path}.trim_lower")
    within(options.trim_upper, 0, 1, f"{path}.trim_upper")
    if options.trim_lower >= options.trim_upper:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"trim_lower {options.trim_lower:g} must be below trim_upper {options.trim_upper:g}",
            f"{path}.trim_lower",
        )
    grids = options.grids or (None,) * len(features)
    for i, (group, grid) in enumerate(zip(features, grids, strict=True)):
        if grid is not None:
            _check_grid(group, grid, f"{path}.grids[{i}]")
    return replace(options, features=features, grids=grids)


def _check_grid(features: tuple[str, ...], grid: Mapping[str, Array], path: str) -> None:
    """Refuse an explicit grid that does not fit its features."""
    if tuple(grid) != features:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the grid has columns {listed(tuple(grid))} for features {listed(features)}; "
            "they must be the same, in the same order",
            path,
        )
    lengths = {len(values) for values in grid.values()}
    if len(lengths) > 1 or 0 in lengths:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the columns of a grid must have the same number of points, at least one",
            path,
        )


def cost(points: Sequence[tuple[Array, ...]], parts: Sequence[RowGroup]) -> int:
    """Return an upper bound of the rows to predict."""
    return sum(len(part.rows) for part in parts) * sum(len(grid[0]) for grid in points)


def compute(
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    parts: Sequence[RowGroup],
) -> Result:
    """Compute curves over grids, for each part of the rows.

    Parameters
    ----------
    points : one grid per entry of `options.features`
    """
    by_part = [_curves(effects.restrict(part.rows), options, points, part.group) for part in parts]
    curves = [curve for of_parts in zip(*by_part, strict=True) for curve in of_parts]
    shown = {name for names in options.features for name in names}
    samples = _samples(effects.background.features, shown)
    return Result(effects.output_names, tuple(curves), samples, options.group_column)


def _curves(
    effects: Effects, options: Options, points: Sequence[tuple[Array, ...]], group: str
) -> Iterator[PartialDependenceCurve]:
    """Average over the rows of one part: a curve for each entry of `options.features`."""
    features, weight = effects.background.features, effects.background.weight()
    asked = []
    for names, grid in zip(options.features, points, strict=True):
        positions = [features.index(name) for name in names]
        cast = [features.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        asked.append((positions, cast))
    for names, grid, values, is_stepped in zip(
        options.features, points, effects.curves(asked), options.are_stepped, strict=True
    ):
        yield PartialDependenceCurve(names, group, grid, values, weight, is_stepped)


def _samples(features: Features, names: set[str]) -> dict[str, Array]:
    """Choose some values of each feature, evenly over the table."""
    n = features.n_rows
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE_SIZE)).astype(int))
    return {name: features.columns[features.index(name)][rows] for name in sorted(names)}
