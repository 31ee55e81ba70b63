"""HTTP server that answers as its faults tell it to, and counts requests and bytes."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tools.stores.faults import NO_FAULT, Exchange, Fault, Faults, Traffic

_PIECE = 1 << 18
_SLOW_PIECE = 1 << 10


@dataclass(frozen=True)
class Request:
    """Request as it came, with its whole body; `path` has the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """Answer to a request: `read(n)` gives up to n bytes of the body, which has `byte_count`.

    `close` is called when the answer was sent, or cannot be.
    """

    status: int
    headers: Mapping[str, str]
    byte_count: int
    read: Callable[[int], bytes]
    close: Callable[[], None] = lambda: None


Answer = Callable[[Request], Response]


@dataclass
class FaultyServer:
    """Server that runs; `url` is its address."""

    url: str
    faults: Faults = field(default_factory=Faults)
    traffic: Traffic = field(default_factory=Traffic)


@contextmanager
def serve(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[FaultyServer]:
    """Serve on a free port of 127.0.0.1, over TLS where a context is given."""
    server = _Server(("127.0.0.1", 0), _Handler)
    scheme = "https" if context else "http"
    server.context, server.answer = context, answer
    server.state = FaultyServer(f"{scheme}://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.state
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # connections that are kept alive end with their client
    context: ssl.SSLContext | None
    answer: Answer
    state: FaultyServer

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stopping = threading.Event()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the connection's own thread; one that fails is a client that left."""
        if self.context:
            with suppress(OSError), self.context.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)
            return
        super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that clients close."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_: Any) -> None:
        """Write no log."""

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._do
        raise AttributeError(name)

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, dict(self.headers.items()), body)
        fault = self.server.state.faults.take(self.command, self.path)
        if fault.before:
            fault.before()
        if fault.held_by:
            _wait(fault.held_by, self.server.stopping)
        if fault.status:
            response = _refuse(fault.status, fault.retry_after_seconds)
        else:
            response = self.server.answer(request)
        self._send(request, response, fault)

    def _send(self, request: Request, response: Response, fault: Fault) -> None:
        wanted = request.headers.get("Range", request.headers.get("range", ""))
        exchange = Exchange(request.method, request.path, wanted, response.status)
        self.server.state.traffic.add(exchange)
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        # Of HEAD, the size of the object, which is not sent.
        if "Content-Length" not in response.headers:
            self.send_header("Content-Length", str(response.byte_count))
        self.end_headers()
        try:
            for piece in _pieces(response, fault):
                # Before the client has it, and looks.
                exchange.byte_count += len(piece)
                self.wfile.write(piece)
        except OSError:
            self.close_connection = True
        finally:
            response.close()
        if exchange.byte_count < response.byte_count:
            self.close_connection = True


def _pieces(response: Response, fault: Fault) -> Iterator[bytes]:
    """Yield the body, as far and as slowly as the fault lets it."""
    left = response.byte_count
    if fault.cut_after is not None:
        left = min(left, fault.cut_after)
    size = _SLOW_PIECE if fault is not NO_FAULT and fault.pause_seconds else _PIECE
    while left > 0 and (piece := response.read(min(size, left))):
        left -= len(piece)
        yield piece
        time.sleep(fault.pause_seconds)


def _refuse(status: int, retry_after_seconds: int | None) -> Response:
    headers = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
    return of_bytes(HTTPStatus(status), headers, HTTPStatus(status).phrase.encode())


def of_bytes(status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """Return an answer whose body is known."""
    view = memoryview(body)
    position = 0

    def read(count: int) -> bytes:
        nonlocal position
        piece = view[position : position + count]
        position += len(piece)
        return bytes(piece)

    return Response(status, headers, len(body), read)


def _wait(event: threading.Event, stopping: threading.Event) -> None:
    while not (event.wait(0.05) or stopping.is_set()):
        pass
