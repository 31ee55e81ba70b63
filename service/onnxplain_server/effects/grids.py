"""Evaluation grids of curves: evenly spaced, at quantiles, all distinct values, or model steps.

A grid of steps has one point per step of a piecewise constant model, which misses no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.column_values import ColumnDistribution, SortedColumn
from onnxplain_server.effects.quantiles import even_steps


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
