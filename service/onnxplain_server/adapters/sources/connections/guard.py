"""Guard: an HTTP proxy within the fetching process, through which all connections to stores go.

obstore follows redirects and resolves names itself, and has no switch for either (0.12). It
therefore speaks plain HTTP to this proxy, which knows the one host of each fetch, connects to
checked addresses, speaks TLS to them, passes no redirect on, and adds the operator's header.
Advocate, which guards addresses, wraps requests, and is archived.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from onnxplain_server.adapters.sources.connections.guard_handler import GuardHandler
from onnxplain_server.adapters.sources.connections.store_connections import StoreConnections
from onnxplain_server.adapters.sources.connections.upstream import GuardSession, Upstream


class Guard:
    """Proxy on a port of the loopback interface; sessions are told apart by secret names.

    Attributes
    ----------
    port : int
    connections : StoreConnections
    """

    def __init__(self) -> None:
        self._sessions: dict[str, GuardSession] = {}
        self.connections = StoreConnections()
        told = {"sessions": self._sessions, "connections": self.connections}
        self._server = _Server(("127.0.0.1", 0), type("Handler", (GuardHandler,), told))
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

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self.connections.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_args: object) -> None:
        """Log nothing: clients close connections as they please."""
