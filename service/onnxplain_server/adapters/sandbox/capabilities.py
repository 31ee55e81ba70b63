"""Capabilities: a confined process has none, and can get none, also as root."""

from __future__ import annotations

import ctypes
import struct
import sys

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 23, 24, 28, 47
_AMBIENT_IS_SET, _AMBIENT_CLEAR_ALL = 1, 4
_LOCKED_BITS = 0b11101111
"""Root, and a change to it, give no capabilities; none becomes ambient; all that for good."""
_NEW_USERS = 0x10000000  # CLONE_NEWUSER
_SETPCAP = 1 << 8
_VERSION_3 = 0x20080522
_COUNT = 64
"""Sets of capabilities have that many bits."""


def drop() -> bool:
    """Give up all capabilities, irrevocably.

    A user other than root may not shrink the bounding set, which limits what programs get that
    are started later. It may in a name space of users of its own, which is made where the system
    allows it; elsewhere the set remains, for a process that can start no program.

    Returns
    -------
    bool
        Whether none is left: effective, permitted, inheritable or ambient.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if _bounding(libc) and not _held(libc)[0] & _SETPCAP:
        libc.unshare(_NEW_USERS)
    libc.prctl(_PR_SET_SECUREBITS, _LOCKED_BITS, 0, 0, 0)
    for number in range(_COUNT):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    libc.capset(_header(), bytes(24))
    return not any(_held(libc)) and not _has_ambient(libc)


def _header() -> bytes:
    """Name the version, and this thread."""
    return struct.pack("=Ii", _VERSION_3, 0)


def _held(libc: ctypes.CDLL) -> tuple[int, int, int]:
    """Return effective, permitted and inheritable capabilities; all bits if they are not told."""
    sets = ctypes.create_string_buffer(24)
    if libc.capget(_header(), sets) != 0:
        return (-1, -1, -1)
    low = struct.unpack("=6I", sets.raw)
    return (low[0] | low[3] << 32, low[1] | low[4] << 32, low[2] | low[5] << 32)


def _bounding(libc: ctypes.CDLL) -> bool:
    return any(libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1 for number in range(_COUNT))


def _has_ambient(libc: ctypes.CDLL) -> bool:
    asked = (_PR_CAP_AMBIENT, _AMBIENT_IS_SET)
    return any(libc.prctl(*asked, number, 0, 0) == 1 for number in range(_COUNT))
