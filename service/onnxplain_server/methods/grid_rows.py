"""Rows near the points of a grid: where a curve or surface has rows, and where it has none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.effects.background import combine


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
