"""Columns of a table: float64 or text to those who read them, float32 in memory where sent so.

A column of float32 takes half the memory, sorts in half the time, and is ready for a model of
float32. All arithmetic is on its float64 values, made at each access.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np

from onnxplain_server.core.arrays import Array, Indices

_FEWEST_TEXTS = 20
"""Rows from which on a column of texts that occur once is no column of categories."""


def has_single_texts(column: Array) -> bool:
    """Return whether most rows of a column have a text of their own, as reviews or names have.

    Parameters
    ----------
    column : (n_rows,)
        float64, float32 or str objects, of which "" is missing.
    """
    if column.dtype != object:
        return False
    counts = Counter(column[column != ""].tolist())
    single_count = sum(count == 1 for count in counts.values())
    return counts.total() >= _FEWEST_TEXTS and 2 * single_count > counts.total()


class Columns(Sequence[Array]):
    """Columns by position.

    Parameters
    ----------
    stored : sequence of (n_rows,)
        float64, float32 or str objects.

    Attributes
    ----------
    stored : tuple of (n_rows,)
        The columns as they are in memory.
    """

    def __init__(self, stored: Sequence[Array]) -> None:
        self.stored = tuple(stored)

    def __len__(self) -> int:
        return len(self.stored)

    @overload
    def __getitem__(self, position: int) -> Array: ...

    @overload
    def __getitem__(self, position: slice) -> Columns: ...

    def __getitem__(self, position: int | slice) -> Array | Columns:
        if isinstance(position, slice):
            return Columns(self.stored[position])
        return widen(self.stored[position])

    def take(self, rows: Indices) -> Columns:
        """Keep these rows, in this order."""
        return Columns([column[rows] for column in self.stored])


class NamedColumns(Mapping[str, Array]):
    """Columns by name; parameters and attributes are those of `Columns`."""

    def __init__(self, stored: Mapping[str, Array]) -> None:
        self.stored = stored

    def __len__(self) -> int:
        return len(self.stored)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __contains__(self, name: object) -> bool:
        return name in self.stored  # without widening the column

    def __getitem__(self, name: str) -> Array:
        return widen(self.stored[name])


def widen(column: Array) -> Array:
    """Return a column of float32 as float64, and any other as it is."""
    return column.astype(np.float64) if column.dtype == np.float32 else column


def stored_columns(columns: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return columns as they are in memory."""
    return columns.stored if isinstance(columns, NamedColumns) else columns
