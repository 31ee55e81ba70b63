"""Column values for expressions: float64 or text, for all or some rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.columns import stored_columns, widen
from onnxplain_server.language.tree import ValueKind


class ColumnValues:
    """Columns of a table at some rows.

    Parameters
    ----------
    columns : mapping of name to (n_rows,)
        float64 with NaN for missing values, or str objects with ""; some may be float32 in
        memory (`NamedColumns`).
    rows : (n,) or None
        Rows to use; None: all.
    """

    def __init__(self, columns: Mapping[str, Array], rows: Indices | None = None) -> None:
        self._columns = stored_columns(columns)
        self._rows = rows
        self._letters: dict[str, Array] = {}

    @property
    def kinds(self) -> dict[str, ValueKind]:
        """Kind of each column."""
        return {
            name: ValueKind.TEXT if column.dtype == object else ValueKind.NUMBER
            for name, column in self._columns.items()
        }

    def __getitem__(self, name: str) -> Array:
        return widen(self.stored(name))

    def stored(self, name: str) -> Array:
        """Return a column as it is in memory, also as float32: (n,)."""
        column = self._columns[name]
        return column if self._rows is None else column[self._rows]

    def take(self, rows: Indices) -> ColumnValues:
        """Select rows."""
        return ColumnValues(self._columns, rows if self._rows is None else self._rows[rows])

    def missing(self, name: str) -> Array:
        """Return where a column has no value: (n,)."""
        column = self[name]
        return column == "" if column.dtype == object else np.isnan(column)

    def letters(self, name: str) -> Array:
        """Return texts as code points padded by 0, memoized: (n, max_length)."""
        if name not in self._letters:
            texts = self[name].astype(np.str_)
            length = max(1, texts.dtype.itemsize // 4)
            self._letters[name] = np.ascontiguousarray(texts).view(np.uint32).reshape(-1, length)
        return self._letters[name]


def codes_of(text: str) -> Vector:
    """Return the code points of a text, as in `ColumnValues.letters`."""
    return np.array([ord(letter) for letter in text], dtype=np.uint32)
