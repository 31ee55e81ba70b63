"""Blocks of a table that need not fit into memory: rows by their number, in blocks of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from onnxplain_server.core.table import Table

BLOCK_ROWS = 65_536
"""Rows of a block: block b has the rows from b · 65,536 on, whatever file they are in."""


class TableBlocks(Protocol):
    """A table, read block by block. Safe for threads.

    Attributes
    ----------
    names : tuple of str
        Names of all columns.
    row_count : int
    """

    names: tuple[str, ...]
    row_count: int

    def read(self, first: int, last: int, names: Sequence[str]) -> Iterator[tuple[int, Table]]:
        """Read the blocks from number `first` up to `last`.

        Parameters
        ----------
        names : sequence of str
            Columns to read.

        Yields
        ------
        (int, Table)
            Number of the first row, and the block; each has `BLOCK_ROWS` rows but the table's last.

        Raises
        ------
        ExplainError
            INVALID_TABLE.
        """
