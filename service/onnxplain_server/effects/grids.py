"""Evaluation grids of curves: evenly spaced, at quantiles, or all distinct values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.quantiles import sorted_quantiles


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
    """Make the points of one feature in a grid: its distinct values where they are few or text.

    Parameters
    ----------
    column : (n_rows,)
        The feature's values, float64 or str objects.
    n_features : int
        Number of features that the grid is over. Each of k features has the k-th root of
        `layout.size` points, rounded up.
    is_integer : bool
        Whether the feature is of an integer type: evenly spaced points are rounded, duplicates
        dropped.

    Returns
    -------
    (n_points,)
        Ascending, then the missing value if included.
    """
    size = layout.size if n_features == 1 else math.ceil(layout.size ** (1 / n_features))
    known, missing = sort_values(column)
    axis = np.append(known[:1], known[1:][known[1:] != known[:-1]])
    if column.dtype != object and len(axis) + len(missing) > size:
        axis = _dense(known, layout, size)
        axis = np.unique(np.rint(axis)) if is_integer else axis
    return np.append(axis, missing) if layout.include_missing else axis


def cross(axes: Sequence[Array]) -> tuple[Array, ...]:
    """Return the Cartesian product of axes, one array per axis; the first varies fastest."""
    crossed = np.meshgrid(*axes, indexing="ij")
    return tuple(axis.ravel(order="F") for axis in crossed)


def sort_values(column: Array) -> tuple[Array, Array]:
    """Sort a column.

    Returns
    -------
    known : (n_known,)
        Ascending; text without duplicates.
    missing : (1,) or (0,)
        The missing value, if the column has any.
    """
    if column.dtype == object:
        levels = np.unique(column)
        is_missing = levels == ""
        return levels[~is_missing], levels[is_missing]
    ordered = np.sort(column)  # NaN last
    count = len(ordered) - int(np.count_nonzero(np.isnan(ordered)))
    return ordered[:count], ordered[count : count + 1]


def _dense(known: Vector, layout: GridLayout, size: int) -> Vector:
    """Make an axis from sorted values: quantiles, or even steps between two of them."""
    if layout.by_quantiles:
        ranks = np.linspace(layout.trim_lower, layout.trim_upper, size)
        return np.unique(sorted_quantiles(known, ranks))
    low, high = sorted_quantiles(known, np.array([layout.trim_lower, layout.trim_upper]))
    return np.linspace(low, high, size)
