"""Table of named columns of numbers or strings, with case weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.castable import are_dates
from onnxplain_server.core.columns import NamedColumns, stored_columns, widen
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places

_LISTED_VALUES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Named columns of equal length.

    Attributes
    ----------
    columns : mapping of name to (n_rows,)
        float64 with NaN for missing values, or str objects with "" for missing values;
        `NamedColumns` where some are float32 in memory.
    n_rows : int
    unreadable : mapping of name to str
        Columns of types other than numbers and strings, with the name of the type.
    sent_rows : (n_rows,) or None
        Position of each row in the table as sent; None if no row was removed.
    durations : tuple of str
        Columns of durations, which are in seconds.
    texts : callable (name) -> (n_sent,) of str objects, or None
        Reads a column as it stands in a file that has no types, of all rows as sent; None for
        tables with types.
    """

    columns: Mapping[str, Array]
    n_rows: int
    unreadable: Mapping[str, str] = field(default_factory=dict)
    sent_rows: Indices | None = None
    durations: tuple[str, ...] = ()
    texts: Callable[[str], Array] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the readable columns, in order."""
        return tuple(self.columns)

    @property
    def stored(self) -> Mapping[str, Array]:
        """The columns as they are in memory, also as float32."""
        return stored_columns(self.columns)

    def column(self, name: str, path: str = "") -> Array:
        """Return a column, (n_rows,), float64 or str objects, as `stored_column` finds it."""
        return widen(self.stored_column(name, path))

    def stored_column(self, name: str, path: str = "") -> Array:
        """Return a column as it is in memory, also as float32: (n_rows,).

        Raises
        ------
        ExplainError
            MISSING_COLUMN, or WRONG_TYPE if it is neither numeric nor text.
            `path` is the field of the request that named the column.
        """
        if name in self.unreadable:
            raise ExplainError(
                Reason.WRONG_TYPE,
                f"column {name!r} has values of type {self.unreadable[name]}; "
                "give it as numbers or text; dates as the numbers that the model was trained on",
                path,
            )
        if name not in self.columns:
            raise ExplainError(
                Reason.MISSING_COLUMN,
                f"the table has no column {name!r}; it has {listed(self.names)}",
                path,
            )
        return self.stored[name]

    def check_readable(self, text: str, path: str) -> str:
        """Return a text that may name a column; WRONG_TYPE for the name of one of another type."""
        if (name := text.strip().strip("`")) in self.unreadable:
            self.stored_column(name, path)
        return text

    def take(self, rows: Indices) -> Table:
        """Keep these rows, in this order."""
        columns = {name: values[rows] for name, values in self.stored.items()}
        sent_rows = self.as_sent(rows)
        return replace(self, columns=NamedColumns(columns), n_rows=len(rows), sent_rows=sent_rows)

    def with_texts(self, names: Sequence[str]) -> Table:
        """Have columns as text, as it stands in the file; columns with types are left alone."""
        numbers = [
            name for name in names if name in self.unreadable or self.stored[name].dtype != object
        ]
        if self.texts is None or not numbers:
            return self
        read = {name: self.texts(name) for name in numbers}
        if self.sent_rows is not None:
            read = {name: column[self.sent_rows] for name, column in read.items()}
        columns = NamedColumns({**self.stored, **read})
        unreadable = {name: kind for name, kind in self.unreadable.items() if name not in read}
        return replace(self, columns=columns, unreadable=unreadable)

    def as_sent(self, rows: Indices) -> Indices:
        """Return the positions of rows in the table as sent: (n,)."""
        return rows if self.sent_rows is None else self.sent_rows[rows]


def listed(names: tuple[object, ...], limit: int = 12) -> str:
    """Join names for a message; of many, only the first `limit`."""
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _first(values: Vector) -> str:
    """Write the first of some numbers, and that there are others."""
    shown = [f"{value:g}" for value in dict.fromkeys(values[:_LISTED_VALUES].tolist())]
    return f"{shown[0]}{' and others' * (len(shown) > 1)}"


def weights(table: Table, name: str) -> Vector:
    """Return the case weights in column `name`: (n_rows,); ones if `name` is empty.

    Raises
    ------
    ExplainError
        INVALID_WEIGHTS if one is negative, missing or infinite, or all are 0.
    """
    values = row_weights(table, name)
    if len(values) and not values.any():
        raise ExplainError(
            Reason.INVALID_WEIGHTS,
            f"weight column {name!r} is 0 in every row; some row must weigh something",
            "weight_column",
        )
    return values


def row_weights(table: Table, name: str) -> Vector:
    """Return the case weights as `weights` does, also where all are 0."""
    if not name:
        return np.ones(table.n_rows)
    values = table.column(name, "weight_column")
    if values.dtype == object:
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"weight column {name!r} holds {'dates' if are_dates(values) else 'text'}; it needs "
            "numbers",
            "weight_column",
        )
    invalid = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if len(invalid):
        raise ExplainError(
            Reason.INVALID_WEIGHTS,
            f"weight column {name!r} holds {_first(values[invalid])} in "
            f"{row_places(table.as_sent(invalid).tolist())}; weights must be finite and not "
            "negative",
            "weight_column",
        )
    return values.astype(np.float64)
