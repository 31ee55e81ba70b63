"""Process of a server: its signals, and its limits of open files and of idle memory."""

from __future__ import annotations

import ctypes
import resource
import signal
import socket
from collections.abc import Callable
from types import FrameType

_FILE_COUNT = 65_536

_M_MMAP_THRESHOLD = -3
"""Of glibc. By default this grows with what is freed, and then memory stays in the heap."""

_MAPPED_BYTES = 2**17


def prepare() -> Callable[[], None]:
    """Prepare this process to serve; return a function that waits for SIGTERM or SIGINT."""
    wait_signal = catch_signals()
    allow_connections()
    return_memory()
    return wait_signal


def catch_signals() -> Callable[[], None]:
    """Handle SIGTERM and SIGINT; return a function that waits for the first of them."""
    woken, waker = socket.socketpair()
    waker.setblocking(False)

    def begin(number: int, _frame: FrameType | None) -> None:
        # A second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)

    def wait() -> None:
        with woken, waker:
            woken.recv(1)
            signal.set_wakeup_fd(-1)

    # Not a lock: a signal just before the wait, or to another thread, would not end it.
    signal.set_wakeup_fd(waker.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, begin)
    return wait


def allow_connections() -> None:
    """Raise the limit of open files for many idle connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _FILE_COUNT if hard == resource.RLIM_INFINITY else min(_FILE_COUNT, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def return_memory() -> None:
    """Have glibc return the memory of large requests and replies as soon as they are done."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
