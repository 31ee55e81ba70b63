"""Evaluation grids of curves: evenly spaced, at quantiles, or all distinct values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.quantiles import inverse_ecdf


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


def make_grid(
    columns: Sequence[Array], layout: GridLayout, is_integer: Sequence[bool]
) -> tuple[Array, ...]:
    """Make a grid over one or several features.

    Parameters
    ----------
    columns : sequence of (n_rows,)
        The features' values, float64 or str objects.
    is_integer : sequence of bool
        Features of an integer type: evenly spaced points are rounded, duplicates dropped.

    Returns
    -------
    tuple of (n_points,)
        One array per feature. Each of k features has the k-th root of `layout.size` points,
        rounded up, and the first feature varies fastest.
    """
    size = layout.size if len(columns) == 1 else math.ceil(layout.size ** (1 / len(columns)))
    axes = [
        _axis(column, layout, size, is_integer=flag)
        for column, flag in zip(columns, is_integer, strict=True)
    ]
    return cross(axes)


def cross(axes: Sequence[Array]) -> tuple[Array, ...]:
    """Return the Cartesian product of axes, one array per axis; the first varies fastest."""
    crossed = np.meshgrid(*axes, indexing="ij")
    return tuple(axis.ravel(order="F") for axis in crossed)


def _axis(column: Array, layout: GridLayout, size: int, *, is_integer: bool) -> Array:
    """Make the grid of one feature: its distinct values where they are few or text."""
    distinct = np.unique(column)
    axis, missing = split_missing(distinct)
    if column.dtype != object and len(distinct) > size:
        axis = _dense(column, layout, size)
        axis = np.unique(np.rint(axis)) if is_integer else axis
    return np.append(axis, missing) if layout.include_missing else axis


def split_missing(distinct: Array) -> tuple[Array, Array]:
    """Split distinct values into known ones and the missing one, as arrays of any length."""
    missing = distinct == "" if distinct.dtype == object else np.isnan(distinct)
    return distinct[~missing], distinct[missing]


def _dense(column: Vector, layout: GridLayout, size: int) -> Vector:
    if layout.by_quantiles:
        ranks = np.linspace(layout.trim_lower, layout.trim_upper, size)
        return np.unique(inverse_ecdf(column, ranks))
    low, high = inverse_ecdf(column, np.array([layout.trim_lower, layout.trim_upper]))
    return np.linspace(low, high, size)
