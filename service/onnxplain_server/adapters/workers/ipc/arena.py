"""Shared memory arena of a worker and its parent: carries requests and replies without a pipe."""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
from collections.abc import Iterable, Iterator

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_PART_BYTES = 2**20

_KEPT_BYTES = 2**20
"""Memory that a trimmed arena keeps, so that small messages find it in place."""

_TRIMMED_BYTES = 2**24
"""Memory that is returned at a time; other threads run between two of them."""


class Arena:
    """Shared buffer, reused by all messages; takes memory up to its fill level, until trimmed.

    Parameters
    ----------
    file : int
        Descriptor from `create`; stays open.
    byte_count : int
        Size given to `create`.

    Attributes
    ----------
    filled_bytes : int
        Highest fill level since the last `trim`.
    memory : mmap
        Its bytes, which the other side may change as long as it runs.
    """

    def __init__(self, file: int, byte_count: int) -> None:
        self.byte_count: int = byte_count
        self.filled_bytes = 0
        self.memory: mmap.mmap = mmap.mmap(file, byte_count)

    def put(self, *parts: bytes | bytearray) -> None:
        """Write the parts one after the other from the start; ValueError if they do not fit."""
        self.fill(slice_ for part in parts for slice_ in _slices(part))

    def fill(self, parts: Iterable[bytes | memoryview]) -> int:
        """Write parts as they come, as `put` does; return their size."""
        start = 0
        for part in parts:
            end = start + len(part)
            if end > self.byte_count:
                raise ValueError(f"{end:,} bytes do not fit into {self.byte_count:,}")
            self.memory[start:end] = part
            self.filled_bytes = max(self.filled_bytes, end)
            start = end
        return start

    def get(self, length: int, start: int = 0) -> bytes:
        """Copy a part out, so that later writes of the other side do not change it."""
        end = start + length
        if not 0 <= start <= end <= self.byte_count:
            raise ValueError(f"there are no {length:,} bytes from {start:,} in {self.byte_count:,}")
        self.filled_bytes = max(self.filled_bytes, end)
        return self.memory[start:end]

    def reader(self, length: int) -> ArenaReader:
        """Return a reader of the first bytes."""
        self.get(0, length)  # raises where they end after the memory
        return ArenaReader(self.memory, length)

    def parts(self, length: int) -> Iterator[bytes]:
        """Copy the first bytes out, in parts of 1 MiB; other threads run between two of them."""
        for start in range(0, length, _PART_BYTES):
            yield self.get(min(_PART_BYTES, length - start), start)

    def copy(self, length: int, start: int = 0) -> bytearray:
        """Copy a part out, as `get` does, while other threads run."""
        copied = bytearray(length)
        for at in range(0, length, _PART_BYTES):
            size = min(_PART_BYTES, length - at)
            copied[at : at + size] = self.get(size, start + at)
        return copied

    def trim(self) -> None:
        """Return the memory of large messages to the system, whichever side wrote them."""
        for start in range(_KEPT_BYTES, self.byte_count, _TRIMMED_BYTES):
            length = min(_TRIMMED_BYTES, self.byte_count - start)
            self.memory.madvise(mmap.MADV_REMOVE, start, length)
        self.filled_bytes = min(self.filled_bytes, _KEPT_BYTES)

    def close(self) -> None:
        """Unmap the memory."""
        self.memory.close()


class ArenaReader:
    """Reader of a body that is not copied as a whole; it exports nothing of the memory."""

    def __init__(self, memory: mmap.mmap, length: int) -> None:
        self._memory = memory
        self._at, self._end = 0, length

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, or all that are left."""
        start = self._at
        self._at = self._end if size < 0 else min(self._end, start + size)
        return self._memory[start : self._at]


def _slices(part: bytes | bytearray) -> Iterator[memoryview]:
    """Yield a part in slices: copying a large one would stop all other threads."""
    view = memoryview(part)
    for start in range(0, len(part), _PART_BYTES):
        yield view[start : start + _PART_BYTES]


def create(byte_count: int) -> int:
    """Create the memory: an anonymous file (memfd), sealed against changes of its size.

    Without the seals, a worker could shrink it, and the parent would get SIGBUS on reading.
    """
    file = os.memfd_create("onnxplain", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(file, byte_count)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
    except OSError:
        os.close(file)
        raise
    return file
