"""Nearest rows of a table by Gower's distance; exact, over all rows.

Source: Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.rows import is_missing


def distances(columns: Sequence[Array], row: Sequence[Array]) -> Vector:
    """Return Gower's distance of each row of a table to one row: (n_rows,), in [0, 1].

    Parameters
    ----------
    columns : sequence of (n_rows,)
        Numbers or text, with NaN or "" for missing values; at least one.
    row : sequence of (1,)
        A value for each column, of its kind.
    """
    total = np.zeros(len(columns[0]))
    for column, value in zip(columns, row, strict=True):
        total += _differences(column, value[0])
    return total / len(columns)


def _differences(column: Array, value: float | str) -> Vector:
    """Return the differences of a column's values to one value, each in [0, 1]: (n_rows,)."""
    if column.dtype == object:
        return np.not_equal(column, value).astype(np.float64)
    if np.isnan(value):
        return (~is_missing(column)).astype(np.float64)
    numbers = column.astype(np.float64, copy=False)
    finite = numbers[np.isfinite(numbers)]
    # Halves: the range of the largest numbers overflows.
    width = finite.max() / 2 - finite.min() / 2 if len(finite) else 0.0
    if width == 0 or not np.isfinite(value):
        return np.not_equal(numbers, value).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        shares = np.abs(numbers / 2 - float(value) / 2) / width
    # Missing and infinite values differ by 1, as others beyond the range do.
    return np.where(np.isfinite(shares), np.minimum(shares, 1.0), 1.0)


def nearest(distance: Vector, count: int) -> Indices:
    """Return the positions of the least distances, ascending; equal ones by position: (count,)."""
    count = min(count, len(distance))
    if count == 0:
        return np.zeros(0, np.intp)
    limit = np.partition(distance, count - 1)[count - 1]
    candidates = np.flatnonzero(distance <= limit)
    return candidates[np.argsort(distance[candidates], kind="stable")][:count]
