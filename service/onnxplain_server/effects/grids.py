"""Grids over features, as users see them: where curves are evaluated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.quantiles import inverse_ecdf


@dataclass(frozen=True, slots=True)
class GridLayout:
    """How grids are laid.

    Attributes
    ----------
    size : int
        Number of points.
    by_quantiles : bool
        Equal steps of rank instead of equal steps of value.
    trim_lower, trim_upper : float
        Quantiles at which a grid starts and ends.
    include_missing : bool
        Whether a missing value, where the feature has any, is a point too.
    """

    size: int
    by_quantiles: bool
    trim_lower: float
    trim_upper: float
    include_missing: bool


def make_grid(
    columns: Sequence[Array], layout: GridLayout, whole: Sequence[bool]
) -> tuple[Array, ...]:
    """Lay a grid over one or several features.

    Parameters
    ----------
    columns : sequence of (n_rows,)
        The features' values, float64 or str objects.
    whole : sequence of bool
        Which features can have whole numbers only: equal steps between them are
        rounded, and points that coincide are one.

    Returns
    -------
    tuple of (n_points,)
        One array per feature. Over several features, the grid of each has the
        root of `layout.size` points, rounded up, and the first varies fastest.
    """
    size = layout.size if len(columns) == 1 else math.ceil(layout.size ** (1 / len(columns)))
    axes = [_axis(column, layout, size, whole=w) for column, w in zip(columns, whole, strict=True)]
    return cross(axes)


def cross(axes: Sequence[Array]) -> tuple[Array, ...]:
    """Combine every value of each axis with all of the others; the first varies fastest."""
    crossed = np.meshgrid(*axes, indexing="ij")
    return tuple(axis.ravel(order="F") for axis in crossed)


def _axis(column: Array, layout: GridLayout, size: int, *, whole: bool) -> Array:
    """Lay the grid of one feature: its distinct values where they are few or text."""
    distinct = np.unique(column)
    known, missing = split_missing(distinct)
    axis = known
    if column.dtype != object and len(distinct) > size:
        axis = _dense(column, layout, size)
        axis = np.unique(np.rint(axis)) if whole else axis
    return np.append(axis, missing) if layout.include_missing else axis


def split_missing(distinct: Array) -> tuple[Array, Array]:
    """Part values from the missing one, if it is among them."""
    missing = distinct == "" if distinct.dtype == object else np.isnan(distinct)
    return distinct[~missing], distinct[missing]


def _dense(column: Vector, layout: GridLayout, size: int) -> Vector:
    if layout.by_quantiles:
        ranks = np.linspace(layout.trim_lower, layout.trim_upper, size)
        return np.unique(inverse_ecdf(column, ranks))
    low, high = inverse_ecdf(column, np.array([layout.trim_lower, layout.trim_upper]))
    return np.linspace(low, high, size)
