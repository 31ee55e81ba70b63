"""Reverse proxy before a store: its faults, and the requests and bytes that pass."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tools.stores.faulty_server import FaultyServer, Request, Response, of_bytes, serve

_HOP = {"connection", "transfer-encoding", "keep-alive"}


@contextmanager
def proxy(url: str) -> Iterator[FaultyServer]:
    """Serve what another server serves over HTTP; `Host` is kept, as signatures include it."""
    upstream = urlsplit(url).netloc
    with serve(lambda request: _forward(upstream, request)) as server:
        yield server


def _forward(upstream: str, request: Request) -> Response:
    connection = http.client.HTTPConnection(upstream)
    connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.items():
        if name.lower() not in _HOP:
            connection.putheader(name, value)
    connection.endheaders(request.body or None)
    response = connection.getresponse()
    headers = {n: v for n, v in response.getheaders() if n.lower() not in _HOP}

    def close() -> None:
        response.close()
        connection.close()

    if request.method != "HEAD" and "Content-Length" in headers:
        byte_count = int(headers["Content-Length"])
        return Response(response.status, headers, byte_count, response.read, close)
    body = response.read()
    close()
    return of_bytes(response.status, headers, body)
