"""Queries: rows that are ranked together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places
from onnxplain_server.core.rows import is_missing
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import fingerprint


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries of rows.

    Attributes
    ----------
    codes : (n_rows,)
        Number of the query of each row, from 0.
    """

    codes: Indices

    @property
    def fingerprint(self) -> bytes:
        """Digest of the codes."""
        return fingerprint(self.codes)

    def take(self, rows: Indices) -> Queries:
        """Return the queries of some rows."""
        return Queries(self.codes[rows])


def one_query(row_count: int) -> Queries:
    """Return the queries of rows that are all of one."""
    return Queries(np.zeros(row_count, np.intp))


def read_queries(table: Table, name: str, field: str) -> Queries:
    """Return the queries of a column's values; one of all rows without a column.

    Raises
    ------
    ExplainError
        MISSING_COLUMN; INVALID_TABLE where a row has no value.
    """
    if not name:
        return one_query(table.n_rows)
    column: Array = table.column(name, field)
    missing = is_missing(column)
    if missing.any():
        places = row_places(table.as_sent(np.flatnonzero(missing)).tolist())
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"query column {name!r} has no value in {places}, of {len(column):,}; leave these rows "
            "out, or give them weight 0",
            "table",
        )
    return Queries(np.unique(column, return_inverse=True)[1].astype(np.intp))
