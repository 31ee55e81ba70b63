"""Memory of the process and of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import os


def release_freed() -> None:
    """Return freed memory to the system, which the allocator would keep for later."""
    with contextlib.suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def machine_bytes() -> int:
    """Return the memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_COPIES = 6
"""Of a table in memory: columns as sent and in the model's type, cells, effects and their terms."""
_NUMBER = 8


def cells_bytes(cell_count: int) -> int:
    """Estimate the memory of a computation on a table of so many cells."""
    return _COPIES * _NUMBER * cell_count


def default_memory_bytes() -> int:
    """Return the memory for a table where none is named: half of the machine's."""
    return machine_bytes() // 2
