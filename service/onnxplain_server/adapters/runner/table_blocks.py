"""Tables in files that are read block by block: Parquet and Arrow IPC, one file or several.

Rows are numbered in the order of the files. Only the pages of a block are decoded at a time, so a
reader's memory is that of a block and of the compressed pages that it is in.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, LargeTable, whole_bytes
from onnxplain_server.wire.table import from_arrow

_PAGE_BUFFER = 1 << 20
"""Bytes of a column that are read from a file at once."""
_DIGEST_BUFFER = 1 << 20


class _BlockFile(ABC):
    """A file of rows.

    Attributes
    ----------
    schema : pa.Schema
    row_count : int
    """

    schema: pa.Schema
    row_count: int

    @abstractmethod
    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the rows from `start` to `stop`, in batches of at most a block."""


class _ParquetFile(_BlockFile):
    def __init__(self, path: Path) -> None:
        from pyarrow.parquet import read_metadata

        self._path = path
        metadata = read_metadata(path)
        self.schema = metadata.schema.to_arrow_schema()
        self.row_count = metadata.num_rows
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._ends = np.cumsum([0, *sizes])

    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow.parquet import ParquetFile

        ends = self._ends
        groups = np.flatnonzero((ends[1:] > start) & (ends[:-1] < stop)).tolist()
        with ParquetFile(self._path, pre_buffer=False, buffer_size=_PAGE_BUFFER) as file:
            batches = file.iter_batches(BLOCK_ROWS, groups, list(names), use_threads=False)
            skipped = start - int(ends[groups[0]])
            yield from _trimmed(batches, skipped, stop - start)


class _ArrowFile(_BlockFile):
    """Arrow IPC file, whose batches can be read in any order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with pa.memory_map(str(path)) as source:
            reader = pyarrow.ipc.open_file(source)
            self.schema = reader.schema
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        self._ends = np.cumsum([0, *sizes])
        self.row_count = int(self._ends[-1])

    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ends = self._ends
        numbers = np.flatnonzero((ends[1:] > start) & (ends[:-1] < stop)).tolist()
        with pa.memory_map(str(self._path)) as source:
            reader = pyarrow.ipc.open_file(source)
            batches = (reader.get_batch(i).select(list(names)) for i in numbers)
            yield from _trimmed(batches, start - int(ends[numbers[0]]), stop - start)


_FORMS: dict[bytes, type[_ParquetFile] | type[_ArrowFile]] = {
    b"PAR1": _ParquetFile,
    b"ARRO": _ArrowFile,
}
"""Readers by the first bytes of a file."""


def large_table(path: Path, memory_bytes: int) -> LargeTable | None:
    """Return the table of a file that is read in blocks, as it would need more memory.

    None for tables that fit, and for files of other forms.

    Raises
    ------
    ExplainError
        INVALID_TABLE.
    """
    with path.open("rb") as file:
        if file.read(4) not in _FORMS:
            return None
    blocks = FileBlocks([path])
    return LargeTable(blocks, memory_bytes) if whole_bytes(blocks) > memory_bytes else None


class FileBlocks:
    """Implements `TableBlocks` on files.

    Parameters
    ----------
    paths : sequence of Path
        In the order of the rows.

    Raises
    ------
    ExplainError
        INVALID_TABLE where a file cannot be read, or has other columns than the first.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        with _readable(paths[0]):
            self._files = [_open(path) for path in paths]
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

    def digest(self) -> str:
        """Return the SHA-256 of the files' bytes, one after another, as that of an upload."""
        digest = hashlib.sha256()
        for path in self._paths:
            with path.open("rb") as file:
                while chunk := file.read(_DIGEST_BUFFER):
                    digest.update(chunk)
        return f"sha256:{digest.hexdigest()}"

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
                with _readable(path):
                    yield from file.batches(own_start, own_stop, names)
            before += file.row_count

    def _block(self, row: int, parts: Sequence[pa.RecordBatch]) -> Table:
        table = pa.Table.from_batches(parts)
        with _readable(self._paths[0]):
            # Arrow trusts offsets in files; malicious ones would read other memory.
            table.validate(full=True)
        return replace(from_arrow(table), sent_rows=np.arange(row, row + table.num_rows))


def _open(path: Path) -> _BlockFile:
    with path.open("rb") as file:
        start = file.read(4)
    if start not in _FORMS:
        raise ExplainError(
            Reason.INVALID_TABLE, f"{path.name} is neither Parquet nor an Arrow file", "table"
        )
    return _FORMS[start](path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0][:200]
        message = f"{path.name} cannot be read: {cause}"
        raise ExplainError(Reason.INVALID_TABLE, message, "table") from None


def _trimmed(
    batches: Iterator[pa.RecordBatch], skipped: int, count: int
) -> Iterator[pa.RecordBatch]:
    """Leave rows out at the beginning, and stop after `count` others."""
    for batch in batches:
        part = batch.slice(skipped, count)
        skipped = max(0, skipped - len(batch))
        count -= len(part)
        if len(part):
            yield part
        if not count:
            return
