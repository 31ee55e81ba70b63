"""Columns of a table as numbers that scikit-learn's trees take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices

_MOST_LEVELS = 64
"""Values of text, the most frequent ones, that get a column each."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Rows for training.

    Attributes
    ----------
    values : (n_rows, n_columns) float32
        NaN where a number is missing; a column of 0 and 1 for each value of text.
    column_of : (n_columns,)
        Feature that each column was made from.
    """

    values: npt.NDArray[np.float32]
    column_of: Indices

    def take(self, rows: Indices) -> Encoded:
        """Keep these rows."""
        return Encoded(self.values[rows], self.column_of)


def encode(columns: Sequence[Array]) -> Encoded:
    """Encode features: (n_rows,) each, numbers or text."""
    parts: list[Array] = []
    features: list[int] = []
    for position, column in enumerate(columns):
        found = _indicators(column) if column.dtype == object else [_finite(column)]
        parts += found
        features += [position] * len(found)
    values = np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.float32)
    return Encoded(values, np.array(features, dtype=np.intp))


def _finite(column: Array) -> Array:
    """Bring infinite numbers to the ends of what trees take; missing ones stay."""
    most = np.finfo(np.float32).max
    return np.clip(column.astype(np.float64), -most, most)


def _indicators(column: Array) -> list[Array]:
    levels, codes, counts = np.unique(column.astype(str), return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    # Of two values, one column tells all.
    return [codes == level for level in (kept[1:] if len(levels) == 2 else kept)]
