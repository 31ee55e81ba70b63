"""Blocks of a table that need not fit into memory: rows by their number, in blocks of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onnxplain_server.core.memory import cells_bytes
from onnxplain_server.core.table import Table

if TYPE_CHECKING:
    from onnxplain_server.trees.streaming.workers import SharedFile, Workers

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

    def with_texts(self, names: Sequence[str]) -> TableBlocks:
        """Have columns as text, as it stands in files that have no types; of others, itself."""

    def digest(self) -> str:
        """Return the digest of the table's files, as an upload of them has it."""

    def read_byte_counts(self) -> Sequence[int]:
        """Return the bytes read of each file since the start, where they have an address."""


@dataclass(frozen=True, slots=True, eq=False)
class RemoteTable:
    """A table in files that workers read themselves.

    Attributes
    ----------
    files : tuple of SharedFile
    workers : Workers
    """

    files: tuple[SharedFile, ...]
    workers: Workers


@dataclass(frozen=True, slots=True, eq=False)
class LargeTable:
    """A table that is read in blocks, and the memory that it may not fit into.

    Attributes
    ----------
    blocks : TableBlocks
    memory_bytes : int
        Memory of the computation, beside the model and the libraries.
    remote : RemoteTable or None
        The same table, as other processes read it, which then compute what is exact in blocks.
    """

    blocks: TableBlocks
    memory_bytes: int
    remote: RemoteTable | None = None


def whole_bytes(blocks: TableBlocks) -> int:
    """Estimate the memory of a computation on the whole table."""
    return cells_bytes(blocks.row_count * len(blocks.names))
