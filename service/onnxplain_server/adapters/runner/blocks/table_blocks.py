"""Tables in files that are read block by block, one file or several.

Rows are numbered in the order of the files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from onnxplain_server.adapters.runner.blocks.block_files import (
    SEEKABLE,
    BlockFile,
    CsvRows,
    TablePath,
    form_of,
    open_bytes,
    open_rows,
    readable,
)
from onnxplain_server.adapters.runner.blocks.csv_blocks import is_gzipped
from onnxplain_server.adapters.runner.blocks.shared_files import shared_file
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.memory import cells_bytes
from onnxplain_server.core.table import Table
from onnxplain_server.trees.streaming.row_blocks import (
    BLOCK_ROWS,
    LargeTable,
    RemoteTable,
    whole_bytes,
)
from onnxplain_server.trees.streaming.workers import Workers
from onnxplain_server.wire.table import from_arrow

_DIGEST_BUFFER = 1 << 20
_MAX_RATIO = 1_032
"""Of unpacked to packed bytes, by the format of gzip."""


def large_table(path: Path, memory_bytes: int, workers: Workers | None = None) -> LargeTable | None:
    """Return the table of a file that is read in blocks.

    None, where no workers are given, for tables that fit and for files of other forms.

    Raises
    ------
    ExplainError
        INVALID_TABLE, also of a file that workers do not read.
    """
    form = form_of(path)
    if workers is not None:
        if form not in SEEKABLE.values():
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"workers of a cluster read Parquet and Arrow files, and {path.name} is neither",
                "table",
            )
        return LargeTable(
            FileBlocks([path]), memory_bytes, RemoteTable((shared_file(path),), workers)
        )
    if form is None or (form is CsvRows and _largest_bytes(path) <= memory_bytes):
        return None
    blocks = FileBlocks([path])
    return LargeTable(blocks, memory_bytes) if whole_bytes(blocks) > memory_bytes else None


def _largest_bytes(path: Path) -> int:
    """Bound the memory of a computation on a CSV file: each cell has a separator."""
    ratio = _MAX_RATIO if is_gzipped(path) else 1
    return cells_bytes(ratio * path.stat().st_size)


class FileBlocks:
    """Implements `TableBlocks` on files.

    Parameters
    ----------
    paths : sequence of Path or FileInRanges
        In the order of the rows.
    files : sequence of BlockFile, optional
        The same, opened; by default, they are opened.

    Raises
    ------
    ExplainError
        INVALID_TABLE where a file cannot be read, or has other columns than the first.
    """

    def __init__(self, paths: Sequence[TablePath], files: Sequence[BlockFile] = ()) -> None:
        self._paths = paths
        self._with_texts: dict[tuple[str, ...], FileBlocks] = {}
        self._files = list(files) or [open_rows(path) for path in paths]
        schema = self._files[0].schema
        for path, file in zip(paths, self._files, strict=True):
            if not file.schema.equals(schema):
                raise ExplainError(
                    Reason.INVALID_TABLE,
                    f"{path.name} has other columns, or other types, than {paths[0].name}",
                    "table",
                )
        from_arrow(schema.empty_table())  # refuses names that repeat
        self.names: tuple[str, ...] = tuple(schema.names)
        self.row_count = sum(file.row_count for file in self._files)

    def with_texts(self, names: Sequence[str]) -> FileBlocks:
        """Have columns as text; see `TableBlocks.with_texts`."""
        asked = tuple(names)
        if asked not in self._with_texts:
            with readable(self._paths[0]):
                files = [file.with_texts(names) for file in self._files]
            if files == self._files:
                return self
            self._with_texts[asked] = FileBlocks(self._paths, files)
        return self._with_texts[asked]

    def digest(self) -> str:
        """Return the SHA-256 of the files' bytes, one after another, as that of an upload."""
        digest = hashlib.sha256()
        for path in self._paths:
            with open_bytes(path) as file:
                while chunk := file.read(_DIGEST_BUFFER):
                    digest.update(chunk)
        return f"sha256:{digest.hexdigest()}"

    def read_byte_counts(self) -> Sequence[int]:
        """Return nothing: these files have no address."""
        return ()

    def read(self, first: int, last: int, names: Sequence[str]) -> Iterator[tuple[int, Table]]:
        """Read blocks; see `TableBlocks.read`."""
        row = first * BLOCK_ROWS
        parts: list[pa.RecordBatch] = []
        for batch in self._batches(row, min(last * BLOCK_ROWS, self.row_count), names):
            parts.append(batch)
            while (full := sum(map(len, parts)) - BLOCK_ROWS) >= 0:
                rest = parts[-1].slice(len(parts[-1]) - full)
                parts[-1] = parts[-1].slice(0, len(parts[-1]) - full)
                yield row, self._block(row, parts)
                row, parts = row + BLOCK_ROWS, [rest] if full else []
        if parts:
            yield row, self._block(row, parts)

    def _batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read rows of all files, by their numbers in the table."""
        before = 0
        for path, file in zip(self._paths, self._files, strict=True):
            own_start, own_stop = max(start - before, 0), min(stop - before, file.row_count)
            if own_start < own_stop:
                with readable(path):
                    yield from file.batches(own_start, own_stop, names)
            before += file.row_count

    def _block(self, row: int, parts: Sequence[pa.RecordBatch]) -> Table:
        table = pa.Table.from_batches(parts)
        with readable(self._paths[0]):
            # Arrow trusts offsets in files; malicious ones would read other memory.
            table.validate(full=True)
        return replace(from_arrow(table), sent_rows=np.arange(row, row + table.num_rows))
