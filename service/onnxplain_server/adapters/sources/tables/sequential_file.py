"""File that is read from its start to its end, as pyarrow reads streams of Python."""

from __future__ import annotations

from collections.abc import Iterator

from onnxplain_server.adapters.sources.interfaces import FileReader, SourceFile
from onnxplain_server.adapters.sources.tables.failures import size, too_large
from onnxplain_server.adapters.sources.tables.prefetch import (
    READ_BYTES,
    Piece,
    Prefetch,
    RangeGroup,
)

_HEAD_BYTES = 64 << 10


class SequentialFile:
    """Readable file of contents that follow one another.

    Parameters
    ----------
    byte_limit : int
        Of one read: what is held of the file at once.
    """

    closed = False
    mode = "rb"

    def __init__(
        self, file: SourceFile, contents: Iterator[bytes | memoryview], byte_limit: int
    ) -> None:
        self._file, self._contents, self._byte_limit = file, contents, byte_limit
        self._current = memoryview(b"")
        self._position = 0

    def read(self, count: int = -1) -> bytes | memoryview:
        """Read so many bytes, fewer at the end.

        Raises
        ------
        ExplainError
            TABLE_TOO_LARGE above the limit.
        """
        left = self._file.byte_count - self._position
        count = left if count < 0 else min(count, left)
        if count > self._byte_limit:
            raise too_large(f"{self._file.uri} has a part of {size(count)}", self._byte_limit)
        self._position += count
        found: list[memoryview] = []
        while count:
            if not self._current:
                self._current = memoryview(next(self._contents))
            found.append(self._current[:count])
            self._current = self._current[count:]
            count -= len(found[-1])
        return found[0] if len(found) == 1 else b"".join(found)

    def unread(self, content: bytes) -> None:
        """Put back what was read last."""
        self._current = memoryview(content + bytes(self._current))
        self._position -= len(content)

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Stay open: who opened it has nothing to close."""


def head_of(reader: FileReader, file: SourceFile, byte_limit: int) -> SequentialFile:
    """Open a file whose first part is read, little by little."""

    def contents() -> Iterator[bytes | memoryview]:
        start, length = 0, _HEAD_BYTES
        while start < file.byte_count:
            length = min(length, file.byte_count - start)
            yield reader.read(file, [(start, length)])[0]
            start += length
            length = min(2 * length, READ_BYTES)

    return SequentialFile(file, contents(), byte_limit)


def whole_of(fetch: Prefetch, file: SourceFile, byte_limit: int) -> SequentialFile:
    """Open a file that is read to its end, ahead of what is asked for."""

    def contents() -> Iterator[bytes | memoryview]:
        starts = range(0, file.byte_count, READ_BYTES)
        parts = (RangeGroup(file, [(i, min(READ_BYTES, file.byte_count - i))]) for i in starts)
        pieces: list[Piece]
        for pieces in fetch.ahead(parts, byte_limit):
            yield from (content for _, content in pieces)

    return SequentialFile(file, contents(), byte_limit)
