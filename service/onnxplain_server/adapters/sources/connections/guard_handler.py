"""Handler of the guard: one connection of obstore, request by request."""

from __future__ import annotations

import base64
import http.client
import select
import socket
import ssl
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from onnxplain_server.adapters.sources.connections.addresses import ForbiddenAddressError, connect
from onnxplain_server.adapters.sources.connections.store_connections import StoreConnections
from onnxplain_server.adapters.sources.connections.upstream import (
    GuardSession,
    Request,
    Upstream,
    told,
)

_BUFFER_BYTES = 2**20
_READ_SECONDS = 30.0
_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    }
)


class GuardHandler(BaseHTTPRequestHandler):
    """Connection of a client: passes requests on to the servers of its session alone."""

    sessions: Mapping[str, GuardSession]
    connections: StoreConnections
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def do_CONNECT(self) -> None:
        session = self._session()
        if session is None:
            return
        upstream = session.tunnels.get(self.path)
        if upstream is None:
            self._refuse(session, f"a connection to {self.path} is not allowed")
            return
        try:
            remote = connect(upstream.host, upstream.port, upstream.networks)
        except (ForbiddenAddressError, OSError) as error:
            self._refuse(session, str(error), is_final=isinstance(error, ForbiddenAddressError))
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with remote:
            _splice(self.connection, remote)

    def _forward(self) -> None:
        session = self._session()
        if session is None:
            return
        target = urlsplit(self.path)
        upstream = session.upstreams.get(target.netloc)
        if target.scheme != "http" or upstream is None:
            self._refuse(session, f"a request to {target.netloc} is not allowed")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = target.path + (f"?{target.query}" if target.query else "")
        request = Request(self.command, path, self._headers(upstream), body)
        try:
            connection, response = self.connections.exchange(upstream, request)
        except (ForbiddenAddressError, ssl.SSLCertVerificationError) as error:
            self._refuse(session, told(error))
            return
        except (OSError, http.client.HTTPException) as error:
            self._refuse(session, told(error), is_final=False)
            return
        self._answer(session, upstream, connection, response)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815

    def _answer(
        self,
        session: GuardSession,
        upstream: Upstream,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
    ) -> None:
        """Pass an answer on, unless it is a redirect."""
        session.status = response.status
        if 300 <= response.status < 400 and response.status != http.HTTPStatus.NOT_MODIFIED:
            connection.close()
            self._refuse(
                session,
                f"{upstream.host} answers with a redirect ({response.status}), which is not "
                "followed",
            )
            return
        session.failure = ""
        if self._pass(response) and not response.will_close:
            self.connections.keep(upstream, connection)
        else:
            connection.close()

    def _pass(self, response: http.client.HTTPResponse) -> bool:
        """Pass headers and content on; return whether the whole content was passed."""
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        has_length = response.getheader("Content-Length") is not None
        is_chunked = not has_length and bool(response.chunked)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif not has_length:
            self.close_connection = True
        self.end_headers()
        try:
            self._pass_content(response, is_chunked=is_chunked)
        except (OSError, http.client.HTTPException):
            # The client sees a content that is too short, and asks again.
            self.close_connection = True
            return False
        return True

    def _pass_content(self, response: http.client.HTTPResponse, *, is_chunked: bool) -> None:
        buffer = memoryview(bytearray(_BUFFER_BYTES))
        expected, passed = response.length, 0
        while count := response.readinto(buffer):
            if is_chunked:
                self.wfile.write(b"%x\r\n" % count)
            self.wfile.write(buffer[:count])
            if is_chunked:
                self.wfile.write(b"\r\n")
            passed += count
        if expected is not None and passed < expected:
            raise http.client.IncompleteRead(b"", expected - passed)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _headers(self, upstream: Upstream) -> Mapping[str, str]:
        headers = {
            name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP
        }
        if upstream.authorization:
            headers["Authorization"] = upstream.authorization
        return headers

    def _session(self) -> GuardSession | None:
        name = _session_name(self.headers.get("Proxy-Authorization", ""))
        session = self.sessions.get(name)
        if session is None:
            self._send_empty(407)
        return session

    def _refuse(self, session: GuardSession, failure: str, *, is_final: bool = True) -> None:
        """Answer in the store's place; clients ask again after 502, and not after 403."""
        session.failure = failure
        session.status = 0
        self._send_empty(403 if is_final else 502)

    def _send_empty(self, status: int) -> None:
        self.close_connection = True
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Log nothing: errors reach the caller."""


def _session_name(authorization: str) -> str:
    """Read the name of a session from a header Proxy-Authorization; empty where it has none."""
    kind, _, encoded = authorization.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded).decode("ascii").partition(":")[0]
    except ValueError:
        return ""


def _splice(near: socket.socket, far: socket.socket) -> None:
    """Pass bytes in both directions until one side closes."""
    ends = {near: far, far: near}
    while True:
        readable, _, _ = select.select(list(ends), [], [], _READ_SECONDS)
        if not readable:
            return
        for end in readable:
            content = end.recv(_BUFFER_BYTES)
            if not content:
                return
            ends[end].sendall(content)
