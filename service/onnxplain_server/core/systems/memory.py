"""Memory of the machine, and what the allocator keeps of freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from pathlib import Path

_M_MMAP_THRESHOLD = -3
"""Of glibc. By default this grows with what is freed, and then memory stays in the heap."""

_MAPPED_BYTES = 2**17


def machine_bytes() -> int:
    """Return the memory of the machine."""
    if sys.platform == "win32":
        return _windows_bytes()
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def resident_bytes() -> int:
    """Return the memory that this process has of the machine's; 0 where it is not told."""
    if sys.platform != "linux":
        return 0
    _, resident, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def release_freed() -> None:
    """Return freed memory to the system, which the allocator would keep for later."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)


def return_large_blocks() -> None:
    """Have the allocator return large blocks as soon as they are freed, where it can be told."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # only glibc has it
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of Windows."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load_percent", ctypes.c_uint32),
        *((f"byte_count_{number}", ctypes.c_uint64) for number in range(7)),
    )


def _windows_bytes() -> int:
    """Ask Windows for the memory of the machine: the first of the byte counts."""
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if sys.platform == "win32" and not ctypes.windll.kernel32.GlobalMemoryStatusEx(
        ctypes.byref(status)
    ):
        raise ctypes.WinError()
    return int(status.byte_count_0)
