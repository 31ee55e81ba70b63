"""Tables in files that are read block by block: Parquet, Arrow IPC and CSV, one file or several.

Rows are numbered in the order of the files. Only the pages of a block are decoded at a time, so a
reader's memory is that of a block and of the compressed pages that it is in. Lines of CSV have no
numbers by which they could be found, so such a file is first converted into a temporary Arrow file.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.adapters.runner.csv_blocks import convert_csv, is_gzipped, open_content
from onnxplain_server.adapters.runner.ranged_file import FileInRanges
from onnxplain_server.adapters.runner.shared_files import shared_file
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.trees.streaming.row_blocks import (
    BLOCK_ROWS,
    LargeTable,
    RemoteTable,
    cells_bytes,
    whole_bytes,
)
from onnxplain_server.trees.streaming.workers import Workers
from onnxplain_server.wire.table import from_arrow

_PAGE_BUFFER = 1 << 20
"""Bytes of a column that are read from a file at once."""
_DIGEST_BUFFER = 1 << 20
_SNIFFED_BYTES = 1_000
_CONTROL = frozenset(range(32)).difference(b"\t\n\r\f")
"""Bytes that no text has."""
_MAX_RATIO = 1_032
"""Of unpacked to packed bytes, by the format of gzip."""


TablePath: TypeAlias = Path | FileInRanges


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
    def __init__(self, path: TablePath) -> None:
        """Read the footer."""
        from pyarrow.parquet import read_metadata

        self._path = path
        metadata = read_metadata(_where(path))
        self.schema = metadata.schema.to_arrow_schema()
        self.row_count = metadata.num_rows
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._ends = np.cumsum([0, *sizes])

    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow.parquet import ParquetFile

        ends = self._ends
        groups = np.flatnonzero((ends[1:] > start) & (ends[:-1] < stop)).tolist()
        with ParquetFile(_where(self._path), pre_buffer=False, buffer_size=_PAGE_BUFFER) as file:
            batches = file.iter_batches(BLOCK_ROWS, groups, list(names), use_threads=False)
            skipped = start - int(ends[groups[0]])
            yield from _trimmed(batches, skipped, stop - start)


class _ArrowFile(_BlockFile):
    """Arrow IPC file, whose batches can be read in any order."""

    def __init__(self, path: TablePath) -> None:
        self._path = path
        with _mapped(path) as source:
            reader = pyarrow.ipc.open_file(source)
            self.schema = reader.schema
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        self._ends = np.cumsum([0, *sizes])
        self.row_count = int(self._ends[-1])

    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ends = self._ends
        numbers = np.flatnonzero((ends[1:] > start) & (ends[:-1] < stop)).tolist()
        with _mapped(self._path) as source:
            reader = pyarrow.ipc.open_file(source)
            batches = (reader.get_batch(i).select(list(names)) for i in numbers)
            yield from _trimmed(batches, start - int(ends[numbers[0]]), stop - start)


class _CsvFile(_ArrowFile):
    """CSV file, also a gzipped one; its Arrow file lives as long as this."""

    def __init__(self, path: Path) -> None:
        self._converted = NamedTemporaryFile(suffix=".arrow")  # noqa: SIM115 - closed with this
        convert_csv(path, Path(self._converted.name))
        super().__init__(Path(self._converted.name))


_FORMS: dict[bytes, type[_ParquetFile] | type[_ArrowFile]] = {
    b"PAR1": _ParquetFile,
    b"ARRO": _ArrowFile,
}
"""Readers by the first bytes of a file."""


def large_table(path: Path, memory_bytes: int, workers: Workers | None = None) -> LargeTable | None:
    """Return the table of a file that is read in blocks.

    None, where no workers are given, for tables that fit and for files of other forms.

    Raises
    ------
    ExplainError
        INVALID_TABLE, also of a file that workers do not read.
    """
    form = _form(path)
    if workers is not None:
        if form not in _FORMS.values():
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"workers of a cluster read Parquet and Arrow files, and {path.name} is neither",
                "table",
            )
        return LargeTable(
            FileBlocks([path]), memory_bytes, RemoteTable((shared_file(path),), workers)
        )
    if form is None or (form is _CsvFile and _largest_bytes(path) <= memory_bytes):
        return None
    blocks = FileBlocks([path])
    return LargeTable(blocks, memory_bytes) if whole_bytes(blocks) > memory_bytes else None


def _largest_bytes(path: Path) -> int:
    """Bound the memory of a computation on a CSV file: each cell has a separator."""
    ratio = _MAX_RATIO if is_gzipped(path) else 1
    return cells_bytes(ratio * path.stat().st_size)


def _form(path: TablePath) -> type[_ParquetFile] | type[_ArrowFile] | None:
    """Return the reader of a file; None for streams of Arrow, binary files, and CSV by ranges."""
    with _opened(path) as file:
        start = file.read(_SNIFFED_BYTES)
    if start[:4] in _FORMS:
        return _FORMS[start[:4]]
    if isinstance(path, FileInRanges):
        return None
    if is_gzipped(path):
        try:
            with open_content(path) as unpacked:
                start = unpacked.read(_SNIFFED_BYTES)
        except OSError:
            return None
        if start[:4] in _FORMS:
            return None
    return _CsvFile if _CONTROL.isdisjoint(start) else None


class FileBlocks:
    """Implements `TableBlocks` on files.

    Parameters
    ----------
    paths : sequence of Path or FileInRanges
        In the order of the rows.

    Raises
    ------
    ExplainError
        INVALID_TABLE where a file cannot be read, or has other columns than the first.
    """

    def __init__(self, paths: Sequence[TablePath]) -> None:
        self._paths = paths
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
            with _content(path) as file:
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


def _open(path: TablePath) -> _BlockFile:
    form = _form(path)
    if form is None:
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{path.name} is neither Parquet, nor an Arrow file, nor CSV",
            "table",
        )
    with _readable(path):
        return form(path)


def _opened(path: TablePath) -> Any:
    return path.open() if isinstance(path, FileInRanges) else path.open("rb")


def _content(path: TablePath) -> Any:
    """Open a file, unpacked where it is gzipped."""
    return path.open() if isinstance(path, FileInRanges) else open_content(path)


def _where(path: TablePath) -> Any:
    """Return what Arrow opens."""
    return pa.PythonFile(path.open(), "r") if isinstance(path, FileInRanges) else path


def _mapped(path: TablePath) -> Any:
    """Open a file whose batches can be read in any order."""
    return _where(path) if isinstance(path, FileInRanges) else pa.memory_map(str(path))


@contextmanager
def _readable(path: TablePath) -> Iterator[None]:
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
