"""Guard: an HTTP proxy within the fetching process, through which all connections to stores go.

obstore follows redirects and resolves names itself, and has no switch for either (0.12). It
therefore speaks plain HTTP to this proxy, which knows the one host of each fetch, connects to
checked addresses, speaks TLS to them, passes no redirect on, and adds the operator's header.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from onnxplain_server.adapters.sources.connections.guard_handler import GuardHandler
from onnxplain_server.adapters.sources.connections.upstream import (
    GuardSession,
    Request,
    Upstream,
    begin_answer,
    open_connection,
)

_IDLE_LIMIT = 16


class Guard:
    """Proxy on a port of the loopback interface; sessions are told apart by secret names.

    Attributes
    ----------
    port : int
    """

    def __init__(self) -> None:
        self._sessions: dict[str, GuardSession] = {}
        self._pool = _Pool()
        self._server = _Server(("127.0.0.1", 0), type("Handler", (GuardHandler,), {"guard": self}))
        self.port = self._server.server_address[1]

    def start(self) -> None:
        """Serve, on a thread: started after the process is confined, since threads inherit that."""
        threading.Thread(target=self._server.serve_forever, name="guard", daemon=True).start()

    @contextmanager
    def session(
        self, upstreams: Mapping[str, Upstream], tunnels: Mapping[str, Upstream]
    ) -> Iterator[GuardSession]:
        """Open a session, whose `proxy_url` reaches these servers only, until the end."""
        name = secrets.token_hex(16)
        session = GuardSession(upstreams, tunnels)
        session.proxy_url = f"http://{name}:x@127.0.0.1:{self.port}"
        self._sessions[name] = session
        try:
            yield session
        finally:
            del self._sessions[name]

    def find(self, authorization: str) -> GuardSession | None:
        """Return the session of a header Proxy-Authorization."""
        kind, _, encoded = authorization.partition(" ")
        try:
            name = base64.b64decode(encoded).decode("ascii").partition(":")[0]
        except ValueError:
            return None
        return self._sessions.get(name) if kind.lower() == "basic" else None

    def exchange(
        self, upstream: Upstream, request: Request
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request, on a kept connection where there is one; return the begun answer."""
        kept = self._pool.take(upstream)
        if kept is not None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return kept, begin_answer(kept, request)
            kept.close()
        fresh = open_connection(upstream)
        try:
            return fresh, begin_answer(fresh, request)
        except BaseException:
            fresh.close()
            raise

    def keep(self, upstream: Upstream, connection: http.client.HTTPConnection) -> None:
        """Keep a connection, whose answer has been read, for the next request."""
        self._pool.put(upstream, connection)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._pool.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_args: object) -> None:
        """Log nothing: clients close connections as they please."""


class _Pool:
    """Idle connections by server."""

    def __init__(self) -> None:
        self._idle: dict[Upstream, list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def take(self, upstream: Upstream) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle.get(upstream)
            return idle.pop() if idle else None

    def put(self, upstream: Upstream, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(upstream, [])
            if len(idle) < _IDLE_LIMIT:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            for idle in self._idle.values():
                for connection in idle:
                    connection.close()
            self._idle.clear()
