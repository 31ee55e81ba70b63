"""File of which some ranges are in memory, as pyarrow reads files of Python."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable

from onnxplain_server.adapters.sources.interfaces import FileReader, SourceFile
from onnxplain_server.adapters.sources.tables.prefetch import Piece


class RangedFile:
    """Readable file; what is not in memory is fetched when it is asked for."""

    closed = False
    mode = "rb"

    def __init__(self, reader: FileReader, file: SourceFile) -> None:
        self._reader, self._file = reader, file
        self._position = 0
        self.hold(())

    def hold(self, pieces: Iterable[Piece]) -> None:
        """Keep these pieces in memory, and no others."""
        self._pieces = sorted(pieces, key=lambda piece: piece[0])
        self._starts = [start for start, _ in self._pieces]

    def read(self, count: int = -1) -> bytes | memoryview:
        size = self._file.byte_count
        count = size - self._position if count < 0 else min(count, size - self._position)
        content = self._slice(self._position, count)
        self._position += count
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.byte_count}
        self._position = base[whence] + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Stay open: pyarrow closes the file after each part that it reads."""

    def _slice(self, start: int, count: int) -> bytes | memoryview:
        found: list[memoryview] = []
        end = start + count
        while start < end:
            index = bisect_right(self._starts, start) - 1
            piece_start, content = self._pieces[index] if index >= 0 else (0, b"")
            view = memoryview(content)[start - piece_start : end - piece_start]
            if not view:
                return self._reader.read(self._file, [(end - count, count)])[0]
            found.append(view)
            start += len(view)
        return found[0] if len(found) == 1 else b"".join(found)
