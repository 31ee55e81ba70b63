"""Evaluation grids of curves: evenly spaced, at quantiles, all distinct values, or model steps.

A grid of steps has one point per step of a piecewise constant model, which misses no change. Where
there are rows near the points of a grid is told by their weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.column_values import ColumnDistribution, SortedColumn
from onnxplain_server.effects.engine import Effects, PiecewiseConstant
from onnxplain_server.effects.quantiles import even_steps

_SAMPLE_SIZE = 200
"""Number of a feature's values in the rug plot under its curve."""


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Size and spacing of a grid.

    Attributes
    ----------
    size : int
        Number of points.
    by_quantiles : bool
        Equal steps of rank instead of equal steps of value.
    trim_lower, trim_upper : float
        Quantiles at which a grid starts and ends.
    include_missing : bool
        Whether a missing value is a point, where the feature has any.
    """

    size: int
    by_quantiles: bool
    trim_lower: float
    trim_upper: float
    include_missing: bool


def make_axis(
    column: Array, layout: GridLayout, n_features: int = 1, *, is_integer: bool = False
) -> Array:
    """Make the points of one feature, of which all values are in memory: see `axis_of`."""
    return axis_of(SortedColumn(column), layout, n_features, is_integer=is_integer)


def axis_of(
    column: ColumnDistribution,
    layout: GridLayout,
    n_features: int = 1,
    *,
    is_integer: bool = False,
) -> Array:
    """Make the points of one feature in a grid: its distinct values where they are few or text.

    Parameters
    ----------
    column : ColumnDistribution
        The feature's values.
    n_features : int
        Number of features that the grid is over.
    is_integer : bool
        Whether the feature is of an integer type, or its numbers are categories: evenly spaced
        points are rounded, duplicates dropped.

    Returns
    -------
    (n_points,)
        Ascending, then the missing value if included.
    """
    size = axis_size(layout, n_features)
    axis, missing = column.levels(size), column.missing
    if axis is None or (not column.is_text and len(axis) + len(missing) > size):
        axis = _dense(column, layout, size)
        axis = np.unique(np.rint(axis)) if is_integer else axis
    return np.append(axis, missing) if layout.include_missing else axis


def axis_size(layout: GridLayout, n_features: int) -> int:
    """Return the points per feature: of k features, the k-th root of `size`, rounded up."""
    return layout.size if n_features == 1 else math.ceil(layout.size ** (1 / n_features))


def trimmed_ranks(layout: GridLayout, size: int) -> Vector:
    """Return the probabilities of the quantiles that an axis of many values is made of."""
    if layout.by_quantiles:
        return np.linspace(layout.trim_lower, layout.trim_upper, size)
    return np.array([layout.trim_lower, layout.trim_upper])


def make_step_grid(column: Array, breakpoints: Vector, layout: GridLayout) -> Array:
    """Make the grid of one feature, of which all values are in memory: see `step_grid_of`."""
    return step_grid_of(SortedColumn(column), breakpoints, layout)


def step_grid_of(column: ColumnDistribution, breakpoints: Vector, layout: GridLayout) -> Array:
    """Make the grid of one feature: its lower end, the breakpoints, its upper end.

    Parameters
    ----------
    column : ColumnDistribution
        The feature's values in the model's type, as float64; or text, of which all are points.
    breakpoints : (n,)
        Values at which the model may change; see `PiecewiseConstant.breakpoints`.
    layout : GridLayout
        Its trimming quantiles are the ends, or the extremes where these are one value; its size
        is ignored.

    Returns
    -------
    (n_points,)
        Ascending, then the missing value if included. Two points where no breakpoint lies
        between the ends, and one where the ends coincide.
    """
    if column.is_text:
        known = column.levels(0)
        assert known is not None  # noqa: S101 - of text, all are returned
    else:
        low, high = _ends(column, layout)
        known = np.unique([low, *breakpoints[(breakpoints > low) & (breakpoints < high)], high])
    return np.append(known, column.missing) if layout.include_missing else known


def cross(axes: Sequence[Array]) -> tuple[Array, ...]:
    """Return the Cartesian product of axes, one array per axis; the first varies fastest."""
    crossed = np.meshgrid(*axes, indexing="ij")
    return tuple(axis.ravel(order="F") for axis in crossed)


def _dense(column: ColumnDistribution, layout: GridLayout, size: int) -> Vector:
    """Make an axis of numbers: distinct quantiles, or even steps between two of them."""
    if layout.by_quantiles:
        quantiles = np.unique(column.quantiles(trimmed_ranks(layout, size)))
        if len(quantiles) > 1:
            return quantiles
    low, high = _ends(column, layout)
    [common] = column.quantiles(np.array([layout.trim_lower])).tolist()
    if common in {low, high}:
        return even_steps(low, high, size)
    return np.unique([*even_steps(low, high, max(size - 1, 2)), common])


def _ends(column: ColumnDistribution, layout: GridLayout) -> tuple[float, float]:
    """Return the trimming quantiles of numbers, or where these are one value, all that there are.

    Most rows of a column may have one value, such as 0, and the others lie beyond the quantiles.
    """
    low, high = column.quantiles(np.array([layout.trim_lower, layout.trim_upper])).tolist()
    if low == high and layout.trim_lower < layout.trim_upper:
        low, high = column.quantiles(np.array([0.0, 1.0])).tolist()
    return low, high


def weights_near(
    grid: Sequence[Array], columns: Sequence[Array], weights: Vector, *, is_stepped: bool
) -> Vector:
    """Add up the weights of the rows nearest to each point: (n_points,).

    A row counts at the point that is nearest along each feature. Rows beyond the ends of the grid,
    by more than half a step, count nowhere; nor do those of which no point has the nearest values.

    Parameters
    ----------
    grid : one (n_points,) array per feature
    columns : one (n_rows,) array per feature
        The rows, as the grid: float64 or texts.
    weights : (n_rows,)
    is_stepped : bool
        Whether rows belong to the point at or below them, instead of the nearest one.
    """
    coded = [_codes(*both, is_stepped=is_stepped) for both in zip(grid, columns, strict=True)]
    is_near = np.all([rows >= 0 for _, rows in coded], axis=0)
    n_points = len(grid[0])
    _, joined = combine([np.append(points, rows[is_near]) for points, rows in coded])
    totals = np.bincount(joined[n_points:], weights[is_near], joined.max() + 1)
    near: Vector = totals[joined[:n_points]].astype(np.float64)
    return near


def _codes(grid: Array, column: Array, *, is_stepped: bool) -> tuple[Indices, Indices]:
    """Number the distinct values of a grid, and give rows the numbers of theirs, or -1."""
    if "O" in {grid.dtype.kind, column.dtype.kind}:
        return _text_codes(grid, column)
    levels = np.unique(grid[np.isfinite(grid)])
    last = len(levels)  # the number of missing values; the next one is that of infinite points
    points = np.where(np.isfinite(grid), np.searchsorted(levels, grid), last + ~np.isnan(grid))
    rows = np.where(np.isnan(column), last, -1)
    if last:
        is_finite = np.isfinite(column)
        rows[is_finite] = _nearest(levels, column[is_finite], is_stepped=is_stepped)
    return points.astype(np.intp), rows.astype(np.intp)


def _nearest(levels: Vector, values: Vector, *, is_stepped: bool) -> Indices:
    """Return the number of the level of each value, or -1 beyond the ends."""
    if len(levels) == 1:
        return np.where(values == levels[0], 0, -1)
    if is_stepped:
        # The last point ends the last step, and has rows of its own only at its value.
        place = np.searchsorted(levels, values, side="right") - 1
        return np.where(values > levels[-1], -1, place)
    middle = levels[:-1] / 2 + levels[1:] / 2
    with np.errstate(over="ignore"):  # no value is beyond an end that is infinite
        first, last = 1.5 * levels[0] - levels[1] / 2, 1.5 * levels[-1] - levels[-2] / 2
    place = np.searchsorted(middle, values)
    is_first, is_last = place == 0, place == len(middle)
    beyond = (is_first & (values < first)) | (is_last & (values > last))
    return np.where(beyond, -1, place)


def _text_codes(grid: Array, column: Array) -> tuple[Indices, Indices]:
    """Number texts; None and empty text are both missing."""
    numbers: dict[str, int] = {}
    points = [numbers.setdefault(str(text or ""), len(numbers)) for text in grid.tolist()]
    rows = [numbers.get(str(text or ""), -1) for text in column.tolist()]
    return np.array(points, np.intp), np.array(rows, np.intp)


def rows_near(
    rows: Background, names: Sequence[str], grid: tuple[Array, ...], *, is_stepped: bool
) -> Vector:
    """Return the weights, in their unit, of the rows nearest to each grid point: (n_points,)."""
    columns = [rows.features.columns[rows.features.index(name)] for name in names]
    return weights_near(grid, columns, rows.weights, is_stepped=is_stepped)


def predictions_near(
    effects: Effects,
    names: Sequence[str],
    grid: tuple[Array, ...],
    near: Vector,
    *,
    is_stepped: bool,
) -> Matrix | None:
    """Average the predictions of the rows nearest to each point: see `means_near`.

    None for several features, and for engines to which a prediction is a call of the model.
    """
    if len(names) > 1 or not isinstance(effects, PiecewiseConstant):
        return None
    rows = effects.background
    return means_near(rows, names[0], grid, effects.outputs(), near, is_stepped=is_stepped)


def means_near(
    rows: Background,
    name: str,
    grid: tuple[Array, ...],
    values: Matrix,
    near: Vector,
    *,
    is_stepped: bool,
) -> Matrix:
    """Average values of the rows nearest to each point of one feature: (n_points, n_outputs).

    Parameters
    ----------
    values : (n_rows, n_outputs)
    near : (n_points,)
        Weights of these rows, as of `rows_near`; where they are 0, means are NaN.
    """
    column = rows.features.columns[rows.features.index(name)]
    sums = [
        weights_near(grid, [column], rows.weights * own, is_stepped=is_stepped) for own in values.T
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Matrix = np.array(sums).T / near[:, None]
    return means


def sample_values(features: Features, names: set[str]) -> dict[str, Array]:
    """Sample values of each feature from rows evenly spaced over the table."""
    n = features.n_rows
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE_SIZE)).astype(int))
    return {name: features.columns[features.index(name)][rows] for name in sorted(names)}
