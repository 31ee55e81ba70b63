"""Encoding of columns as float32 for scikit-learn's trees: text as indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices

_MAX_LEVELS = 64
"""Largest number of indicator columns of a text column, for its most frequent values."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded rows.

    Attributes
    ----------
    values : (n_rows, n_columns) float32
        NaN for missing numbers; an indicator column per value of text.
    column_of : (n_columns,)
        Feature of each column.
    """

    values: npt.NDArray[np.float32]
    column_of: Indices

    def take(self, rows: Indices) -> Encoded:
        """Select rows."""
        return Encoded(self.values[rows], self.column_of)


def encode(columns: Sequence[Array]) -> Encoded:
    """Encode features: (n_rows,) each, numbers or text."""
    parts: list[Array] = []
    features: list[int] = []
    for position, column in enumerate(columns):
        encoded = _indicators(column) if column.dtype == object else [_finite(column)]
        parts += encoded
        features += [position] * len(encoded)
    values = np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.float32)
    return Encoded(values, np.array(features, dtype=np.intp))


def _finite(column: Array) -> Array:
    """Clip numbers to the range of float32; NaN is kept."""
    largest = np.finfo(np.float32).max
    return np.clip(column.astype(np.float64), -largest, largest)


def _indicators(column: Array) -> list[Array]:
    levels, codes, counts = np.unique(column.astype(str), return_inverse=True, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LEVELS])
    # Two values need a single column.
    chosen = frequent[1:] if len(levels) == 2 else frequent
    return [codes == level for level in chosen]
