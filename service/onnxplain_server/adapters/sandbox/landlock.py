"""Landlock sandbox: denies opening files, TCP, and signals to other processes; needs no root.

The package landlock knows files alone, in a version of 2025 that is still in development.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1

# Rights by the ABI version that introduced them; see landlock(7).
_FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_NETWORK = {4: 0b11}
_SCOPES = {6: 0b11}

_READ_FILE, _READ_FOLDER, _CONNECT = 1 << 2, 1 << 3, 1 << 1
_BELOW_PATH, _PORT = 1, 2
"""Kinds of rules."""


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Rights that a process keeps.

    Attributes
    ----------
    readable : tuple of Path
        Files, and folders with all below them, that it may read; those that exist.
    ports : tuple of int
        Ports that it may connect to by TCP.
    """

    readable: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()


NO_EXCEPTIONS = Exceptions()


def restrict(exceptions: Exceptions = NO_EXCEPTIONS) -> bool:
    """Deny this thread and its descendants every right that the kernel knows, but for exceptions.

    Returns
    -------
    bool
        Whether it then refuses to write a file and to connect by TCP: Landlock since Linux 6.7.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return False
    attributes = _attributes(version)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    for path in exceptions.readable:
        _allow_reading(libc, ruleset, path)
    if version >= min(_NETWORK):
        _allow_ports(libc, ruleset, exceptions.ports)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return _is_refused(_write) and _is_refused(_connect)


def _is_refused(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _write() -> None:
    os.close(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))


def _connect() -> None:
    """Connect to a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.connect(("127.0.0.1", 0))


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: Path) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # it is not there to be read
    rights = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
    libc.syscall(_ADD_RULE, ruleset, _BELOW_PATH, struct.pack("<Qi", rights, handle), 0)
    os.close(handle)


def _allow_ports(libc: ctypes.CDLL, ruleset: int, ports: Iterable[int]) -> None:
    for port in ports:
        libc.syscall(_ADD_RULE, ruleset, _PORT, struct.pack("<QQ", _CONNECT, port), 0)


def _attributes(version: int) -> bytes:
    """Pack every right of this ABI version; older kernels take a shorter structure."""
    rights = [_rights(kind, version) for kind in (_FILES, _NETWORK, _SCOPES)]
    length = 1 + (version >= min(_NETWORK)) + (version >= min(_SCOPES))
    return struct.pack(f"<{length}Q", *rights[:length])


def _rights(bits_by_version: dict[int, int], version: int) -> int:
    return sum(bits for since, bits in bits_by_version.items() if since <= version)
