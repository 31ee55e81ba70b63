"""Seccomp filter: an allowlist of the system calls that computing needs.

All others fail with EPERM instead of a kill, so that libraries can fall back.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_NUMBERS: dict[str, tuple[int, int]] = {
    # name: (x86-64, arm64)
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "exit": (60, 93),
    "uname": (63, 160),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}
_NETWORK: dict[str, tuple[int, int]] = {
    # Connections, and the event loop over them.
    "socket": (41, 198),
    "connect": (42, 203),
    "shutdown": (48, 210),
    "bind": (49, 200),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "socketpair": (53, 199),
    "setsockopt": (54, 208),
    "getsockopt": (55, 209),
    "accept4": (288, 242),
    "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "readv": (19, 65),
    "writev": (20, 66),
    "dup": (32, 23),
    "prctl": (157, 167),
    "sched_setaffinity": (203, 122),
    # Locks of gRPC ask for these.
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    # Files that Landlock leaves: certificates, credentials, those of the resolver.
    "openat": (257, 56),
    "pread64": (17, 67),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "faccessat2": (439, 439),
    "readlinkat": (267, 78),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
}
"""Further calls of a process that has the network."""

_OLD = {"poll": 7, "select": 23}
"""On x86-64 only."""
_OLD_NETWORK = {
    "open": 2,
    "stat": 4,
    "lstat": 6,
    "accept": 43,
    "access": 21,
    "readlink": 89,
    "epoll_wait": 232,
}
_MAPPING = {"mmap": (9, 222), "mprotect": (10, 226)}
_CLONE = (56, 220)
_TGKILL = (234, 131)
"""Signals to the process itself only: abort() sends one."""
_CLONE3 = 435

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST, _THIRD = 0, 4, 16, 32  # offsets of the call's data and arguments
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_EXECUTABLE, _THREAD = 0x4, 0x00010000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def restrict(*, has_network: bool = False) -> bool:
    """Restrict this process to the listed calls, irrevocably; a fork of it could not signal itself.

    Parameters
    ----------
    has_network : bool
        Whether it connects to others.

    Returns
    -------
    bool
        False on machines other than x86-64 and arm64, or if the kernel refuses.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    code = b"".join(_program(*machine, has_network=has_network))
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _program(column: int, machine: int, *, has_network: bool) -> Iterator[bytes]:
    """Yield the instructions of the BPF filter."""
    refuse = _FAIL | errno.EPERM
    yield _instruction(_LOAD, _MACHINE)
    yield _instruction(_EQUAL, machine, 1, 0)
    yield _instruction(_RETURN, refuse)
    yield _instruction(_LOAD, _NUMBER)
    tables = (_NUMBERS, _NETWORK) if has_network else (_NUMBERS,)
    old = {**_OLD, **_OLD_NETWORK} if has_network else _OLD
    allowed = [numbers[column] for table in tables for numbers in table.values()]
    for number in (*allowed, *(old.values() if column == 0 else ())):
        yield from (_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW))
    # Libraries then fall back to clone, whose flags the filter can check.
    yield from (_instruction(_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _FAIL | errno.ENOSYS))
    yield from _if_bits(_CLONE[column], _FIRST, _THREAD, _ALLOW, refuse)
    for numbers in _MAPPING.values():
        yield from _if_bits(numbers[column], _THIRD, _EXECUTABLE, refuse, _ALLOW)
    yield from (_instruction(_EQUAL, _TGKILL[column], 0, 3), _instruction(_LOAD, _FIRST))
    yield from (_instruction(_EQUAL, os.getpid(), 0, 1), _instruction(_RETURN, _ALLOW))
    yield _instruction(_RETURN, refuse)


def _if_bits(number: int, argument: int, bits: int, then: int, otherwise: int) -> Iterator[bytes]:
    """Yield the instructions that decide on one call by bits of one argument."""
    yield _instruction(_EQUAL, number, 0, 4)
    yield _instruction(_LOAD, argument)
    yield _instruction(_ANY_BIT, bits, 0, 1)
    yield _instruction(_RETURN, then)
    yield _instruction(_RETURN, otherwise)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
