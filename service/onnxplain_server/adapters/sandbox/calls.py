"""System calls that a confined process may make, some with certain arguments only."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_Numbers: TypeAlias = tuple[int, int]

_NUMBERS: dict[str, _Numbers] = {
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
    "recvfrom": (45, 207),
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
_NETWORK: dict[str, _Numbers] = {
    # Connections, and the event loop over them.
    "connect": (42, 203),
    "shutdown": (48, 210),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "getsockopt": (55, 209),
    "accept4": (288, 242),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "readv": (19, 65),
    "writev": (20, 66),
    "dup": (32, 23),
    # Locks of gRPC ask for these.
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    # Files that Landlock leaves: certificates, credentials, those of the resolver.
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
    "stat": 4,
    "lstat": 6,
    "accept": 43,
    "access": 21,
    "readlink": 89,
    "epoll_wait": 232,
}


@dataclass(frozen=True, slots=True)
class Check:
    """Values that an argument of a call may have.

    Attributes
    ----------
    argument : int
        Its place, from 0. The kernel reads the lower 32 bits of those that are checked.
    values : tuple of int
    mask : int
        Bits that are compared.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """Call that is allowed with certain arguments.

    Attributes
    ----------
    number : int
    alternatives : tuple of tuple of Check
        All checks of one of them hold.
    """

    number: int
    alternatives: tuple[tuple[Check, ...], ...]


def _without(argument: int, bits: int) -> Check:
    return Check(argument, (0,), bits)


def _only_bits(argument: int, bits: int) -> Check:
    return Check(argument, (0,), ~bits & 0xFFFFFFFF)


_EXECUTABLE, _THREAD = 0x4, 0x00010000
_NAMESPACES = 0x7E020000  # CLONE_NEW*
_SENDING = socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT | socket.MSG_MORE
"""Flags of sending. MSG_FASTOPEN is not among them: it connects, and Landlock does not see it."""
_CREATION = ~(socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) & 0xFFFFFFFF
"""Bits of the type of a socket."""
_WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
_FCNTL = (0, 1, 2, 3, 4, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: not F_SETOWN, which signals."""
_IOCTL = (0x5401, 0x5411, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCOUTQ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PR_SET_NAME = 15

_OPTIONS: Mapping[int, tuple[str, ...]] = {
    socket.SOL_SOCKET: (
        *("SO_REUSEADDR", "SO_ERROR", "SO_SNDBUF", "SO_RCVBUF", "SO_KEEPALIVE"),
        *("SO_LINGER", "SO_RCVTIMEO", "SO_SNDTIMEO", "SO_RCVLOWAT"),
    ),
    socket.IPPROTO_TCP: (
        *("TCP_NODELAY", "TCP_CORK", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"),
        *("TCP_QUICKACK", "TCP_USER_TIMEOUT", "TCP_NOTSENT_LOWAT"),
    ),
    socket.IPPROTO_IPV6: ("IPV6_V6ONLY",),
}
"""Options of connections: none that connects (TCP_FASTOPEN_CONNECT) or changes the protocol."""


def common_rules(column: int) -> Iterable[CheckedCall]:
    """Return the rules of all confined processes; `column` is 0 for x86-64, 1 for arm64."""
    checked: dict[_Numbers, tuple[Check, ...]] = {
        (44, 206): (_only_bits(3, _SENDING),),  # sendto
        (46, 211): (_only_bits(2, _SENDING),),  # sendmsg
        (9, 222): (_without(2, _EXECUTABLE),),  # mmap
        (10, 226): (_without(2, _EXECUTABLE),),  # mprotect
        (56, 220): (Check(0, (_THREAD,), _THREAD | _NAMESPACES),),  # clone
        (234, 131): (Check(0, (os.getpid(),)),),  # tgkill; abort() signals the process itself
    }
    return [CheckedCall(numbers[column], (checks,)) for numbers, checks in checked.items()]


def network_rules(column: int) -> Iterable[CheckedCall]:
    """Return the further rules of processes that have the network: TCP alone, files to read."""
    stream = Check(1, (socket.SOCK_STREAM,), _CREATION)
    families = (socket.AF_INET, socket.AF_INET6)
    checked: dict[_Numbers, tuple[Check, ...]] = {
        (41, 198): (Check(0, families), stream, Check(2, (0, socket.IPPROTO_TCP))),  # socket
        # Event loops wake themselves by a pair.
        (53, 199): (Check(0, (socket.AF_UNIX,)), stream, Check(2, (0,))),  # socketpair
        (72, 25): (Check(1, _FCNTL),),  # fcntl
        (16, 29): (Check(1, _IOCTL),),  # ioctl
        (157, 167): (Check(0, (_PR_SET_NAME,)),),  # prctl
        (257, 56): (_without(2, _WRITING),),  # openat
    }
    rules = [CheckedCall(numbers[column], (checks,)) for numbers, checks in checked.items()]
    if column == 0:
        rules.append(CheckedCall(2, ((_without(1, _WRITING),),)))  # open
    options = tuple(
        (Check(1, (level,)), Check(2, tuple(getattr(socket, name) for name in names)))
        for level, names in _OPTIONS.items()
    )
    return [*rules, CheckedCall((54, 208)[column], options)]  # setsockopt


def numbers(column: int, *, has_network: bool) -> Iterable[int]:
    """Return the calls that are allowed with all arguments."""
    tables = (_NUMBERS, _NETWORK) if has_network else (_NUMBERS,)
    old = {**_OLD, **_OLD_NETWORK} if has_network else _OLD
    return [
        *(each[column] for table in tables for each in table.values()),
        *(old.values() if column == 0 else ()),
    ]
