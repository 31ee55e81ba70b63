"""Files of rows that are read from any row on: Parquet, Arrow IPC and CSV.

Only the pages of a batch are decoded at a time, so a reader's memory is that of a batch and of the
compressed pages that it is in. Lines of CSV have no numbers by which they could be found, so such a
file is first converted into a temporary Arrow file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.adapters.runner.blocks.csv_blocks import convert_csv, open_content, open_text
from onnxplain_server.adapters.runner.blocks.ranged_file import FileInRanges
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

_PAGE_BUFFER = 1 << 20
"""Bytes of a column that are read from a file at once."""
_SNIFFED_BYTES = 1_000
_CONTROL = frozenset(range(32)).difference(b"\t\n\r\f")
"""Bytes that no text has."""


TablePath: TypeAlias = Path | FileInRanges


class BlockFile(ABC):
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

    def with_texts(self, names: Sequence[str]) -> BlockFile:  # noqa: ARG002 - types are the file's
        """Have columns as text, as it stands in the file, where this has no types."""
        return self


class ParquetRows(BlockFile):
    """Parquet file."""

    def __init__(self, path: TablePath) -> None:
        from pyarrow.parquet import read_metadata

        self._path = path
        self._metadata = metadata = read_metadata(_where(path))
        self.schema = metadata.schema.to_arrow_schema()
        self.row_count = metadata.num_rows
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._ends = np.cumsum([0, *sizes])

    def batches(self, start: int, stop: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow.parquet import ParquetFile

        ends = self._ends
        groups = np.flatnonzero((ends[1:] > start) & (ends[:-1] < stop)).tolist()
        opened = ParquetFile(
            _where(self._path),
            metadata=self._metadata,
            pre_buffer=False,
            buffer_size=_PAGE_BUFFER,
        )
        with opened as file:
            batches = file.iter_batches(BLOCK_ROWS, groups, list(names), use_threads=False)
            skipped = start - int(ends[groups[0]])
            yield from _trimmed(batches, skipped, stop - start)


class ArrowRows(BlockFile):
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


class CsvRows(ArrowRows):
    """CSV file, also a gzipped one; its Arrow file lives as long as this."""

    def __init__(self, path: Path, texts: Sequence[str] = ()) -> None:
        self._csv = path
        # A folder, not an open file, which Windows lets nobody open again. Windows also keeps a
        # file while it is mapped: then the folder stays.
        folder = mkdtemp(prefix="onnxplain")
        finalize(self, rmtree, folder, ignore_errors=True)
        converted = Path(folder) / "rows.arrow"
        convert_csv(path, converted, texts)
        super().__init__(converted)

    def with_texts(self, names: Sequence[str]) -> BlockFile:
        is_read = all(pa.types.is_string(self.schema.field(name).type) for name in names)
        return self if is_read else CsvRows(self._csv, names)


SEEKABLE: dict[bytes, type[ParquetRows] | type[ArrowRows]] = {
    b"PAR1": ParquetRows,
    b"ARRO": ArrowRows,
}
"""Readers of files that have no need to be converted, by the first bytes of a file."""


def form_of(path: TablePath) -> type[ParquetRows] | type[ArrowRows] | None:
    """Return the reader of a file; None for streams of Arrow, binary files, and CSV by ranges."""
    with _opened(path) as file:
        start = file.read(_SNIFFED_BYTES)
    if start[:4] in SEEKABLE:
        return SEEKABLE[start[:4]]
    if isinstance(path, FileInRanges):
        return None
    try:
        with open_text(path) as unpacked:
            start = unpacked.read(_SNIFFED_BYTES)
    except OSError:
        return None
    if start[:4] in SEEKABLE:  # packed
        return None
    return CsvRows if _CONTROL.isdisjoint(start) else None


def open_rows(path: TablePath) -> BlockFile:
    """Open a file of rows; INVALID_TABLE where it cannot be read."""
    form = form_of(path)
    if form is None:
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{path.name} is neither Parquet, nor an Arrow file, nor CSV",
            "table",
        )
    with readable(path):
        return form(path)


def _opened(path: TablePath) -> Any:
    return path.open() if isinstance(path, FileInRanges) else path.open("rb")


def open_bytes(path: TablePath) -> Any:
    """Open a file, unpacked where it is gzipped."""
    return path.open() if isinstance(path, FileInRanges) else open_content(path)


def _where(path: TablePath) -> Any:
    """Return what Arrow opens."""
    return pa.PythonFile(path.open(), "r") if isinstance(path, FileInRanges) else path


def _mapped(path: TablePath) -> Any:
    """Open a file whose batches can be read in any order."""
    return _where(path) if isinstance(path, FileInRanges) else pa.memory_map(str(path))


@contextmanager
def readable(path: TablePath) -> Iterator[None]:
    """Raise INVALID_TABLE for what Arrow raises."""
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
