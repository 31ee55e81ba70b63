"""A filter of system calls, as containers and old kernels have it: some fail, for good.

Run as `python call_filter.py CALLS PROGRAM ...`: names with commas between, and what then runs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

_NUMBERS = {
    # name: (x86-64, arm64)
    "memfd_create": (319, 279),
    "pidfd_open": (434, 434),
    "landlock": (444, 444),
    "seccomp": (157, 167),  # by prctl
}


def forbid(calls: Sequence[str]) -> None:
    """Let these calls fail in this process and those that it starts."""
    code = b"".join(struct.pack("<HBBI", *each) for each in _program(calls))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")


def _program(calls: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    yield _LOAD, 0, 0, _NUMBER
    for call in calls:
        number = _NUMBERS[call][platform.machine() == "aarch64"]
        if call == "seccomp":
            yield _EQUAL, 0, 4, number
            yield _LOAD, 0, 0, _FIRST_ARGUMENT
            yield _EQUAL, 0, 1, _PR_SET_SECCOMP
            yield _RETURN, 0, 0, _FAIL | errno.EINVAL
            yield _LOAD, 0, 0, _NUMBER
        else:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _FAIL | (errno.ENOSYS if call == "landlock" else errno.EPERM)
    yield _RETURN, 0, 0, _ALLOW


if __name__ == "__main__":
    forbid(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - a program of the test
