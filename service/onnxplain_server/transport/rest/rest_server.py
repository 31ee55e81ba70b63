"""The server of REST, and of the page of metrics: waitress, on a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from wsgiref.types import WSGIApplication

import waitress
from waitress import wasyncore

from onnxplain_server.transport.rest.connection_limit import (
    ARRIVAL_COUNT,
    CONNECTION_COUNT,
    ConnectionLimit,
)
from onnxplain_server.transport.rest.waitress_channel import HeaderCheck, RestChannel

_SPARE_THREADS = 4
_STEP_SECONDS = 0.02
_THREADS_SECONDS = 0.5
# How often idle connections are looked at; whatever happens wakes the loop at once.
_POLL_SECONDS = 1.0


class RestServer:
    """A running server of HTTP.

    Parameters
    ----------
    app : WSGIApplication
        Answers.
    purpose : str
        What it is for, like "REST".
    host : str
        Name or address to listen on.
    port : int
        0 takes a free one.
    thread_count : int
        Requests that the application holds at a time; some threads more than
        that are there for probes, and to refuse others at once.
    message_bytes : int
        Limit of a request's body.
    refused : callable (reason) -> None
        Told of each request that never reaches `app`.
    refusal : HeaderCheck
        Asked before a body is read.

    Raises
    ------
    OSError
        Where the address cannot be had.
    """

    def __init__(
        self,
        app: WSGIApplication,
        purpose: str,
        host: str,
        port: int,
        *,
        thread_count: int,
        message_bytes: int,
        refused: Callable[[str], None] = lambda _reason: None,
        refusal: HeaderCheck = lambda _path, _authorization: None,
    ) -> None:
        listener = _listen(host, port, purpose)
        self.port: int = listener.getsockname()[1]
        self._sockets: dict[int, Any] = {}
        self._server = waitress.create_server(
            app,
            map=self._sockets,
            sockets=[listener],
            threads=thread_count + _SPARE_THREADS,
            **_adjustments(message_bytes),
        )
        self._last = threading.Event()
        self._server.channel_class = partial(
            RestChannel, refused=refused, refusal=refusal, is_last=self._last.is_set
        )
        # waitress looks at the clock of the wall, which jumps.
        self._server.maintenance = lambda _now: None
        self._server.handle_accept = partial(_accept_some, self._server)
        self._crowd = ConnectionLimit()
        self._stopping = threading.Event()
        self._closing = threading.Lock()
        name = f"onnxplain-{purpose.lower()}"
        self._loop = threading.Thread(target=self._run, name=name, daemon=True)
        self._loop.start()

    def announce_stop(self) -> None:
        """Close each connection after its next reply from now on; all are still answered."""
        self._last.set()

    def stop(self, seconds: float) -> None:
        """Close, giving replies on their way this long; once closed, do nothing."""
        if self._stopping.is_set():
            return
        end = time.monotonic() + seconds
        while self._replying() and time.monotonic() < end:
            time.sleep(_STEP_SECONDS)
        # Its threads wake the loop through a pipe, which must not be closed under them.
        self._server.task_dispatcher.shutdown(timeout=_THREADS_SECONDS)
        with self._closing:
            self._stopping.set()
            self._server.pull_trigger()
        self._loop.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Not by select(), which cannot watch more than 1024 files.
            wasyncore.loop(_POLL_SECONDS, use_poll=True, map=self._sockets, count=1)
            self._crowd.attend(self._server.active_channels.values())
        with self._closing:
            wasyncore.close_all(self._sockets, ignore_all=True)

    def _replying(self) -> bool:
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


def _accept_some(server: Any) -> None:
    """Accept several connections; waitress accepts one, then looks at all.

    The rest wait until these have been read from.
    """
    most = min(len(server.active_channels) + ARRIVAL_COUNT, 2 * CONNECTION_COUNT)
    before = -1
    while before < len(server.active_channels) < most:
        before = len(server.active_channels)
        type(server).handle_accept(server)


def _listen(host: str, port: int, purpose: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, dualstack_ipv6=both)
    except OSError as error:
        message = f"cannot listen on {host}:{port} for {purpose}: {error.strerror}"
        raise OSError(message) from error


def _adjustments(message_bytes: int) -> dict[str, Any]:
    return {
        # waitress refuses a body of exactly its limit.
        "max_request_body_size": message_bytes + 1,
        "max_request_header_size": 16 * 1024,
        # Reading on while a request is worked on is how a disconnect is seen.
        "channel_request_lookahead": 1,
        # Some more than are kept: they are accepted, so that others can be closed for them.
        "connection_limit": 2 * CONNECTION_COUNT,
        "log_socket_errors": False,
        "ident": None,
    }
