"""File that is read by ranges of bytes, which another process may read for this one."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_RANGE = 1 << 20
"""Bytes that are asked for at once."""


@dataclass(frozen=True, slots=True)
class FileInRanges:
    """A file that is read by ranges.

    Attributes
    ----------
    name : str
        For messages.
    byte_count : int
    read_range : callable (start, length) -> bytes
    """

    name: str
    byte_count: int
    read_range: Callable[[int, int], bytes]

    def open(self) -> RangeReader:
        """Open it for reading."""
        return RangeReader(self)


class RangeReader(io.RawIOBase):
    """Reader of a file by ranges."""

    def __init__(self, file: FileInRanges) -> None:
        super().__init__()
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position; see `io.IOBase.seek`."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.byte_count}
        self._position = base[whence] + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; all that follow where it is negative."""
        left = max(0, self._file.byte_count - self._position)
        end = self._position + (left if size < 0 else min(size, left))
        parts = []
        while self._position < end:
            part = self._file.read_range(self._position, min(MAX_RANGE, end - self._position))
            if not part:
                raise OSError(f"{self._file.name} ends before byte {end:,}")
            parts.append(part)
            self._position += len(part)
        return b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return the bytes read."""
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)
