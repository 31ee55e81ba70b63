"""HTTP server for REST and for the metrics page: waitress, its loop on a thread of its own."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from wsgiref.types import WSGIApplication

import waitress
from waitress import wasyncore
from waitress.task import ThreadedTaskDispatcher

from onnxplain_server.transport.admission.size_limits import BodyLimits
from onnxplain_server.transport.audit.ended_explanation import ExplanationSink
from onnxplain_server.transport.rest.connections.connection_limit import (
    ACCEPT_LIMIT,
    CONNECTION_LIMIT,
    ConnectionLimit,
)
from onnxplain_server.transport.rest.connections.request_parser import HeaderCheck
from onnxplain_server.transport.rest.connections.waitress_channel import RestChannel
from onnxplain_server.transport.rest.origin_policy import OriginPolicy

_SPARE_THREADS = 4
_PAGE_BYTES = 2**24
"""More than any page of the server itself has."""

_BUFFER_BYTES = 2**17
"""Of a body, and of replies, that a connection keeps in memory; the rest is on disk."""

_STEP_SECONDS = 0.02
_THREADS_SECONDS = 0.5
# Interval for deadlines and for closing idle connections; any event wakes the loop at once.
_POLL_SECONDS = 0.25


class GrowingThreadPool(ThreadedTaskDispatcher):  # type: ignore[misc] # waitress ships no types
    """Dispatcher of waitress that starts a thread only for a task that finds none idle.

    Parameters
    ----------
    thread_limit : int
        Most threads; further tasks wait for one.
    """

    def __init__(self, thread_limit: int) -> None:
        super().__init__()
        self._thread_limit = thread_limit

    def add_task(self, task: Any) -> None:
        """Queue a channel whose request shall be served, unless it is held back."""
        if task.hold():
            return
        with self.lock:
            self.queue.append(task)
            self.queue_cv.notify()
            count = len(self.threads) - self.stop_count
            is_needed = len(self.queue) > count - self.active_count
        if is_needed and count < self._thread_limit:
            self.set_thread_count(count + 1)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """End the threads, and start no more."""
        self._thread_limit = 0
        return bool(super().shutdown(cancel_pending, timeout))


class RestServer:
    """A running HTTP server.

    Parameters
    ----------
    app : WSGIApplication
        Serves the requests.
    purpose : str
        For messages, like "REST".
    host : str
        Host name or address to listen on.
    port : int
        0 chooses a free port.
    thread_count : int
        Requests that the application serves at the same time; a few more threads
        serve probes and refusals without delay.
    body_limits : BodyLimits
        Size limits of a request's body.
    count_refused : callable (reason) -> None
        Called for each request that never reaches `app`.
    explanation_ended : callable (EndedExplanation) -> None
        Called for those of them that ask for an explanation.
    check_headers : HeaderCheck
        Called before a body is read.
    origin_policy : OriginPolicy
        Hosts and origins that are accepted.
    longest_seconds : float
        Time limit of a request, from its first byte.
    response_bytes : int
        Size limit of a response.
    connection_limit : ConnectionLimit, optional
        Closes connections.

    Raises
    ------
    OSError
        If the address cannot be bound.
    """

    def __init__(
        self,
        app: WSGIApplication,
        purpose: str,
        host: str,
        port: int,
        *,
        thread_count: int,
        body_limits: BodyLimits,
        count_refused: Callable[[str], None] = lambda _reason: None,
        explanation_ended: ExplanationSink = lambda _explanation: None,
        check_headers: HeaderCheck = lambda _path, _authorization: None,
        origin_policy: OriginPolicy,
        longest_seconds: float = math.inf,
        response_bytes: int = _PAGE_BYTES,
        connection_limit: ConnectionLimit | None = None,
    ) -> None:
        listener = _listen(host, port, purpose)
        address, self.port = listener.getsockname()[:2]
        self._sockets: dict[int, Any] = {}
        adjustments = _adjustments(body_limits.byte_count, response_bytes, thread_count)
        self._server = _create_server(app, listener, self._sockets, adjustments)
        self._draining = threading.Event()
        self._server.channel_class = partial(
            RestChannel,
            count_refused=count_refused,
            explanation_ended=explanation_ended,
            check_headers=check_headers,
            origin_policy=origin_policy.bound_to(address),
            body_limits=body_limits,
            is_closing=self._draining.is_set,
            longest_seconds=longest_seconds,
        )
        self._connection_limit = connection_limit or ConnectionLimit(_PAGE_BYTES)
        self._stopping = threading.Event()
        self._closing = threading.Lock()
        name = f"onnxplain-{purpose.lower()}"
        self._loop = threading.Thread(target=self._run, name=name, daemon=True)
        self._loop.start()

    def announce_stop(self) -> None:
        """Drain: close each connection after its next reply; requests are still served."""
        self._draining.set()

    def stop(self, seconds: float) -> None:
        """Close after waiting this long for unsent replies; closing twice does nothing."""
        if self._stopping.is_set():
            return
        end = time.monotonic() + seconds
        while self._replying() and time.monotonic() < end:
            time.sleep(_STEP_SECONDS)
        # Worker threads wake the loop through a pipe, so they stop before it is closed.
        self._server.task_dispatcher.shutdown(timeout=_THREADS_SECONDS)
        with self._closing:
            self._stopping.set()
            self._server.pull_trigger()
        self._loop.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            # poll(), because select() is limited to 1024 files.
            wasyncore.loop(_POLL_SECONDS, use_poll=True, map=self._sockets, count=1)
            self._connection_limit.enforce(self._server.active_channels.values())
        with self._closing:
            for channel in list(self._server.active_channels.values()):
                channel.discard()
            wasyncore.close_all(self._sockets, ignore_all=True)

    def _replying(self) -> bool:
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


def _create_server(
    app: WSGIApplication,
    listener: socket.socket,
    sockets: dict[int, Any],
    adjustments: dict[str, Any],
) -> Any:
    threads = GrowingThreadPool(adjustments["threads"])
    server = waitress.create_server(
        app, map=sockets, _dispatcher=threads, sockets=[listener], **adjustments
    )
    # waitress' own timeouts use the wall clock, which jumps.
    server.maintenance = lambda _now: None
    server.handle_accept = partial(_accept_some, server)
    return server


def _accept_some(server: Any) -> None:
    """Accept several connections per step, where waitress accepts one.

    The others wait until these have been read from.
    """
    limit = min(len(server.active_channels) + ACCEPT_LIMIT, 2 * CONNECTION_LIMIT)
    before = -1
    while before < len(server.active_channels) < limit:
        before = len(server.active_channels)
        type(server).handle_accept(server)


def _listen(host: str, port: int, purpose: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, dualstack_ipv6=is_dual)
    except OSError as error:
        message = f"cannot listen on {host}:{port} for {purpose}: {error.strerror}"
        raise OSError(message) from error


def _adjustments(body_bytes: int, response_bytes: int, thread_count: int) -> dict[str, Any]:
    return {
        # A slow reader keeps no thread: what does not fit into memory waits on disk.
        "outbuf_high_watermark": response_bytes + _PAGE_BYTES,
        "inbuf_overflow": _BUFFER_BYTES,
        "outbuf_overflow": _BUFFER_BYTES,
        "threads": thread_count + _SPARE_THREADS,
        # waitress refuses a body of exactly its limit.
        "max_request_body_size": body_bytes + 1,
        "max_request_header_size": 16 * 1024,
        # Reading ahead while a request is computed is how a disconnect is noticed.
        "channel_request_lookahead": 1,
        # Above our own limit: new connections are accepted before others are closed for them.
        "connection_limit": 2 * CONNECTION_LIMIT,
        "log_socket_errors": False,
        "ident": None,
    }
