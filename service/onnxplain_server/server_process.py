"""Process of a server: its signals, its limits of open files and of idle memory, and its end."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from onnxplain_server.config.settings import Settings
from onnxplain_server.core.interfaces import Began
from onnxplain_server.core.systems.memory import return_large_blocks
from onnxplain_server.core.systems.sockets import allow_open_files

LOG = logging.getLogger(__name__)

_FILE_COUNT = 65_536


class RunningServer(Protocol):
    """Server that listens, and ends by a drain."""

    rest_port: int
    grpc_port: int
    metrics_port: int

    def drain(self, seconds: float) -> bool:
        """Drain gracefully; return whether all work has ended."""


def run(settings: Settings, make_server: Callable[[], RunningServer], began: Began) -> None:
    """Serve until SIGTERM or SIGINT, then drain; on the main thread. Errors as of `make_server`.

    `began` is told the ports of REST and gRPC once they listen; its errors end the server.
    """
    # The request log has every disconnect already.
    logging.getLogger("waitress").setLevel(logging.WARNING)
    wait_signal = prepare()
    server = make_server()
    gc.freeze()  # otherwise each full collection stops all requests for 100 ms
    LOG.info("metrics on %s:%d, REST on %s:%d, gRPC on %s:%d", *_addresses(settings, server))
    try:
        began(server.rest_port, server.grpc_port)
    except BaseException:
        server.drain(0)
        raise
    wait_signal()
    LOG.info("stopping; running work has %g s", settings.grace_seconds)
    start = time.monotonic()
    ended = server.drain(settings.grace_seconds)
    LOG.info("stopped after %.1f s", time.monotonic() - start)
    if not ended:
        _leave_behind()


def _leave_behind() -> None:
    """End at once: Python would wait for the threads of that work, possibly for ever."""
    LOG.warning("work that could not be stopped was left behind")
    logging.shutdown()
    os._exit(0)


def _addresses(settings: Settings, server: RunningServer) -> tuple[str | int, ...]:
    return (
        *(settings.host, server.metrics_port),
        *(settings.rest_host or settings.host, server.rest_port),
        *(settings.host, server.grpc_port),
    )


def prepare() -> Callable[[], None]:
    """Prepare this process to serve; return a function that waits for SIGTERM or SIGINT."""
    wait_signal = catch_signals()
    allow_open_files(_FILE_COUNT)  # many are idle connections
    return_large_blocks()
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
