"""Resampling units: single rows, or clusters of rows that are drawn together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places
from onnxplain_server.core.rows import is_missing
from onnxplain_server.core.table import Table

_LARGEST_NUMBER = 2.0**62
"""Bound of whole numbers that are keys themselves; others are hashed."""


@dataclass(frozen=True, eq=False)
class RowUnits:
    """RowUnits of some rows: rows of one unit are in a replicate equally often.

    Attributes
    ----------
    keys : (n_rows,)
        Equal for rows of one unit. A unit's part in a replicate depends on its key and the seed
        only: not on the other units, and not on which of its rows are drawn.
    noun : str
        Name of the units in sentences: "rows", or that of clusters of them.
    """

    keys: Indices
    noun: str = "rows"

    @property
    def are_clusters(self) -> bool:
        """Return whether several rows may be of one unit."""
        return self.noun != "rows"

    @cached_property
    def codes(self) -> Indices:
        """Number the units from 0: (n_rows,)."""
        if not self.are_clusters:
            return np.arange(len(self.keys))
        return np.unique(self.keys, return_inverse=True)[1]

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.codes.max(initial=-1)) + 1

    def take(self, rows: Indices) -> RowUnits:
        """Keep the units of these rows."""
        return RowUnits(self.keys[rows], self.noun)

    def effective_count(self, weights: Vector) -> float:
        """Return Kish's effective number of units, each of the weight of its rows."""
        if not self.are_clusters:
            return effective_row_count(weights)
        return effective_row_count(np.bincount(self.codes, weights).astype(np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of the rows of a table.

    Attributes
    ----------
    rows : (n_rows,)
        Row numbers of the table as sent, ascending.
    keys : (n_rows,)
        See `RowUnits`.
    """

    rows: Indices
    keys: Indices

    def of(self, rows: Indices) -> RowUnits:
        """Return the units of rows, by their numbers."""
        return RowUnits(self.keys[np.searchsorted(self.rows, rows)], "clusters")


def read_clusters(table: Table, column: str, rows: Indices) -> Clusters:
    """Read the clusters of a table's rows from a column.

    Parameters
    ----------
    rows : (n,)
        Positions of the rows that count, ascending.

    Raises
    ------
    ExplainError
        MISSING_COLUMN or WRONG_TYPE; INVALID_OPTION where a row has no value.
    """
    values = table.column(column, "cluster_column")[rows]
    missing = np.flatnonzero(is_missing(values))
    if len(missing):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"cluster column {column!r} has no value in "
            f"{row_places(table.as_sent(rows[missing]).tolist())}; give each row a cluster, one of "
            "its own where it belongs to no other",
            "cluster_column",
        )
    return Clusters(table.as_sent(rows), _keys(values))


def effective_row_count(weights: Vector) -> float:
    """Return Kish's effective sample size: the count of equal weights with the same precision."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def _keys(values: Array) -> Indices:
    """Return keys by the values alone: whole numbers themselves, hashes of others."""
    levels, inverse = np.unique(values, return_inverse=True)
    keys: Indices = np.array([_key(level) for level in levels.tolist()], np.int64)[inverse]
    return keys


def _key(value: float | str) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_NUMBER:
        return int(value)
    digest = hashlib.sha256(repr(value).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)
