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


def default_memory_bytes() -> int:
    """Return the memory for a table where none is named: half of the machine's."""
    return machine_bytes() // 2
