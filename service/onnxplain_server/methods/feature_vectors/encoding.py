"""Encoding of columns as float32 for scikit-learn's trees: text as indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices

_LARGEST = 1e30
"""Sums of numbers up to here stay within float32, as scikit-learn needs them."""
_MOST_TOLD = 0.99
_MAX_LEVELS = 64
"""Largest number of indicator columns of a text column, for its most frequent values."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded rows.

    Attributes
    ----------
    values : (n_rows, n_columns) float32
        NaN for missing numbers; an indicator column per value of text. Numbers that float32
        cannot tell apart are given by their ranks, which lead to the same splits.
    column_of : (n_columns,)
        Feature, or group of features, of each column.
    """

    values: npt.NDArray[np.float32]
    column_of: Indices

    def take(self, rows: Indices) -> Encoded:
        """Select rows."""
        return Encoded(self.values[rows], self.column_of)


def encode(columns: Sequence[Array], numbers: Indices | None = None) -> Encoded:
    """Encode features.

    Parameters
    ----------
    columns : sequence of (n_rows,)
        Numbers or text.
    numbers : (n_features,) or None
        What each counts as in `Encoded.column_of`; None: each counts singly.
    """
    numbers = np.arange(len(columns)) if numbers is None else numbers
    parts: list[Array] = []
    features: list[int] = []
    for position, column in zip(numbers.tolist(), columns, strict=True):
        encoded = _indicators(column) if column.dtype == object else [_single(column)]
        parts += encoded
        features += [position] * len(encoded)
    values = np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.float32)
    return Encoded(values, np.array(features, dtype=np.intp))


def _single(column: Array) -> Array:
    """Return numbers, or their ranks where many of them are no longer distinct in float32."""
    numbers = column.astype(np.float64)
    known = ~np.isnan(numbers)
    levels, codes = np.unique(numbers[known], return_inverse=True)
    clipped = np.clip(levels, -_LARGEST, _LARGEST).astype(np.float32)
    if len(np.unique(clipped)) < _MOST_TOLD * len(levels):
        clipped = np.arange(len(levels), dtype=np.float32)
    single = np.full(len(numbers), np.nan, dtype=np.float32)
    single[known] = clipped[codes]
    return single


def _indicators(column: Array) -> list[Array]:
    levels, codes, counts = np.unique(column.astype(str), return_inverse=True, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LEVELS])
    # Two values need a single column.
    chosen = frequent[1:] if len(levels) == 2 else frequent
    return [codes == level for level in chosen]
