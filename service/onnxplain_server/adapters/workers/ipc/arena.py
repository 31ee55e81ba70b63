"""Memory that a worker and its parent share, so that tables need no pipe."""

from __future__ import annotations

import fcntl
import mmap
import os

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Arena:
    """One buffer, reused by all messages; memory is taken as far as it was ever filled.

    Parameters
    ----------
    file : int
        Descriptor that `create` gave; stays open.
    byte_count : int
        Size that it was created with.

    Attributes
    ----------
    filled_bytes : int
        How far it was ever filled.
    """

    def __init__(self, file: int, byte_count: int) -> None:
        self.byte_count = byte_count
        self.filled_bytes = 0
        self._memory = mmap.mmap(file, byte_count)

    def put(self, *parts: bytes) -> None:
        """Write one after the other from the start, or raise ValueError where they do not fit."""
        length = sum(map(len, parts))
        if length > self.byte_count:
            raise ValueError(f"{length:,} bytes do not fit into {self.byte_count:,}")
        start = 0
        for part in parts:
            self._memory[start : start + len(part)] = part
            start += len(part)
        self.filled_bytes = max(self.filled_bytes, length)

    def get(self, length: int, start: int = 0) -> bytes:
        """Copy a part: what the other side writes later is not seen."""
        end = start + length
        if not 0 <= start <= end <= self.byte_count:
            raise ValueError(f"there are no {length:,} bytes from {start:,} in {self.byte_count:,}")
        self.filled_bytes = max(self.filled_bytes, end)
        return self._memory[start:end]

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


def create(byte_count: int) -> int:
    """Make the memory: a descriptor of no file, of a size that nobody can change.

    Otherwise a worker could shrink it, and the parent would die of reading it.
    """
    file = os.memfd_create("onnxplain", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, byte_count)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
    return file
