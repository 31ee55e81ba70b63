"""Landlock sandbox: denies opening files, TCP, and signals to other processes; needs no root."""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on every architecture
_VERSION_FLAG = 1

# Rights by the ABI version that introduced them; see landlock(7).
_FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_NETWORK = {4: 0b11}
_SCOPES = {6: 0b11}


def restrict() -> bool:
    """Deny this thread and its descendants every right that the kernel knows.

    Returns
    -------
    bool
        Whether the kernel has Landlock with TCP rules (Linux 6.7).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return False
    attributes = _attributes(version)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    error = libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return bool(error == 0 and version >= min(_NETWORK))


def _attributes(version: int) -> bytes:
    """Pack every right of this ABI version; older kernels take a shorter structure."""
    rights = [_rights(kind, version) for kind in (_FILES, _NETWORK, _SCOPES)]
    length = 1 + (version >= min(_NETWORK)) + (version >= min(_SCOPES))
    return struct.pack(f"<{length}Q", *rights[:length])


def _rights(bits_by_version: dict[int, int], version: int) -> int:
    return sum(bits for since, bits in bits_by_version.items() if since <= version)
