"""Footers of Parquet files, and where the chunks of columns lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from onnxplain_server.adapters.sources.interfaces import FileReader, SourceFile
from onnxplain_server.adapters.sources.tables.failures import invalid, reading
from onnxplain_server.adapters.sources.tables.prefetch import Piece, joined
from onnxplain_server.adapters.sources.tables.ranged_file import RangedFile

_FIRST_READ = 64 << 10
"""Holds the footer of most files, with the 8 bytes that tell its length."""

_MAGIC = b"PAR1"

# Ranges are fetched before; Arrow's own buffering would read gaps between them.
_SCAN = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=False)


class ParquetFooter:
    """File whose footer is read.

    Attributes
    ----------
    fragment : ParquetFileFragment
        Reads what is held, or by itself.
    schema : Schema
    """

    def __init__(self, reader: FileReader, file: SourceFile) -> None:
        self.file = file
        with reading(file, "Parquet"):
            tail = _tail(reader, file)
            self.byte_count = len(tail[1])
            self._content = RangedFile(reader, file)
            self._content.hold([tail])
            form = ds.ParquetFileFormat(default_fragment_scan_options=_SCAN)
            self.fragment = form.make_fragment(pa.PythonFile(self._content, mode="r"))
            self.schema: pa.Schema = self.fragment.physical_schema
            self._metadata = self.fragment.metadata
        # A small file is whole already.
        self._is_whole = self.byte_count == file.byte_count
        self._kept = [tail] if self._is_whole else []
        self.hold([])
        self._leaves = self._find_leaves()

    def hold(self, pieces: Sequence[Piece]) -> None:
        """Let the fragment read these pieces of the file without another request."""
        self._content.hold([*self._kept, *pieces])

    def row_count(self, row_group: int) -> int:
        count: int = self._metadata.row_group(row_group).num_rows
        return count

    @property
    def total_row_count(self) -> int:
        """Rows of the file."""
        count: int = self._metadata.num_rows
        return count

    def ranges(self, row_group: int, names: Iterable[str]) -> list[tuple[int, int]]:
        """Return where the chunks of columns lie, as (start, length), unless they are there.

        Raises
        ------
        ExplainError
            INVALID_TABLE if that is not within the file.
        """
        group = self._metadata.row_group(row_group)
        chunks = (group.column(leaf) for name in names for leaf in self._leaves[name])
        found = joined(map(self._range, chunks))
        return [] if self._is_whole else found

    def _range(self, chunk: object) -> tuple[int, int]:
        start: int = chunk.data_page_offset  # type: ignore[attr-defined] # pyarrow has no types
        dictionary: int | None = chunk.dictionary_page_offset  # type: ignore[attr-defined]
        length: int = chunk.total_compressed_size  # type: ignore[attr-defined]
        if dictionary and dictionary < start:
            start = dictionary
        if start < 0 or length < 0 or start + length > self.file.byte_count:
            raise invalid(f"{self.file.uri} cannot be read as Parquet: a column is outside of it")
        return start, length

    def _find_leaves(self) -> Mapping[str, range]:
        """Return the chunks of each column: nested ones have several."""
        leaves: dict[str, range] = {}
        start = 0
        for field in self.schema:
            end = start + _leaf_count(field.type)
            leaves[field.name] = range(start, end)
            start = end
        if start != self._metadata.num_columns:
            raise invalid(f"{self.file.uri} cannot be read as Parquet: columns without chunks")
        return leaves


def _tail(reader: FileReader, file: SourceFile) -> Piece:
    """Read the footer, with its length and the magic bytes that follow it."""
    size = file.byte_count
    start = max(size - _FIRST_READ, 0)
    last = bytes(reader.read(file, [(start, size - start)])[0]) if size else b""
    if last[-4:] != _MAGIC or size < 12:
        raise invalid(f"{file.uri} is no Parquet file: it does not end with PAR1")
    length = int.from_bytes(last[-8:-4], "little") + 8
    if length > size:
        raise invalid(f"{file.uri} is no Parquet file: its footer is longer than the file")
    if length <= len(last):
        return start, last
    missing = reader.read(file, [(size - length, length - len(last))])[0]
    return size - length, bytes(missing) + last


def _leaf_count(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if not kind.num_fields:
        return 1
    return sum(_leaf_count(kind.field(i).type) for i in range(kind.num_fields))
