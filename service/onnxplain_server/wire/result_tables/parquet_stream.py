"""Parquet files in parts, as they are written: a row group at a time is in memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa


def parquet_parts(
    schema: pa.Schema, groups: Iterable[pa.RecordBatch], repeating: Sequence[str]
) -> Iterator[bytes]:
    """Write a file; yield its bytes in parts.

    Parameters
    ----------
    schema : pyarrow.Schema
        Its metadata become key-value metadata of the file.
    groups : iterable of pyarrow.RecordBatch
        Row groups.
    repeating : sequence of str
        Columns whose values repeat, which get a dictionary.
    """
    from pyarrow.parquet import ParquetWriter

    sink = _TakenFile()
    # RawIOBase has the methods of BinaryIO that are used.
    target = cast("Any", sink)
    with ParquetWriter(target, schema, use_dictionary=list(repeating)) as writer:
        for group in groups:
            writer.write_batch(group, row_group_size=max(1, group.num_rows))
            yield sink.take()
    yield sink.take()


class _TakenFile(io.RawIOBase):
    """File to write, of which the content is taken on the way."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Append a buffer."""
        part = bytes(content)
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content
