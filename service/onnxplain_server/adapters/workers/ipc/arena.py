"""Shared memory arena of a worker and its parent: carries requests and replies without a pipe."""

from __future__ import annotations

import fcntl
import mmap
import os

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Arena:
    """Shared buffer, reused by all messages; takes memory up to its highest fill level.

    Parameters
    ----------
    file : int
        Descriptor from `create`; stays open.
    byte_count : int
        Size given to `create`.

    Attributes
    ----------
    filled_bytes : int
        Highest fill level so far.
    """

    def __init__(self, file: int, byte_count: int) -> None:
        self.byte_count = byte_count
        self.filled_bytes = 0
        self._memory = mmap.mmap(file, byte_count)

    def put(self, *parts: bytes) -> None:
        """Write the parts one after the other from the start; ValueError if they do not fit."""
        length = sum(map(len, parts))
        if length > self.byte_count:
            raise ValueError(f"{length:,} bytes do not fit into {self.byte_count:,}")
        start = 0
        for part in parts:
            self._memory[start : start + len(part)] = part
            start += len(part)
        self.filled_bytes = max(self.filled_bytes, length)

    def get(self, length: int, start: int = 0) -> bytes:
        """Copy a part out, so that later writes of the other side do not change it."""
        end = start + length
        if not 0 <= start <= end <= self.byte_count:
            raise ValueError(f"there are no {length:,} bytes from {start:,} in {self.byte_count:,}")
        self.filled_bytes = max(self.filled_bytes, end)
        return self._memory[start:end]

    def close(self) -> None:
        """Unmap the memory."""
        self._memory.close()


def create(byte_count: int) -> int:
    """Create the memory: an anonymous file (memfd), sealed against changes of its size.

    Without the seals, a worker could shrink it, and the parent would get SIGBUS on reading.
    """
    file = os.memfd_create("onnxplain", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, byte_count)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
    return file
