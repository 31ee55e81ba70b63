"""Connections to stores, kept between requests."""

from __future__ import annotations

import contextlib
import http.client
import threading

from onnxplain_server.adapters.sources.connections.upstream import (
    Request,
    Upstream,
    begin_answer,
    open_connection,
)

_IDLE_LIMIT = 16


class StoreConnections:
    """Idle connections by server. Thread-safe."""

    def __init__(self) -> None:
        self._idle: dict[Upstream, list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def exchange(
        self, upstream: Upstream, request: Request
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request, on a kept connection where there is one; return the begun answer."""
        kept = self._take(upstream)
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
        with self._lock:
            idle = self._idle.setdefault(upstream, [])
            if len(idle) < _IDLE_LIMIT:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close those that are idle."""
        with self._lock:
            for idle in self._idle.values():
                for connection in idle:
                    connection.close()
            self._idle.clear()

    def _take(self, upstream: Upstream) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle.get(upstream)
            return idle.pop() if idle else None
