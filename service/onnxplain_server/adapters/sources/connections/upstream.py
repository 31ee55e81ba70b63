"""Servers that a fetch may connect to, and requests to them on checked connections."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxplain_server.adapters.sources.connections.addresses import Network, connect

_READ_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """Server that a fetch may connect to.

    Attributes
    ----------
    host : str
    port : int
    tls : SSLContext or None
        None: plain HTTP.
    networks : tuple of networks
        See `connect`.
    authorization : str
        Value of the header; empty: as the request has it.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    networks: tuple[Network, ...] = ()
    authorization: str = field(default="", repr=False)


@dataclass(slots=True, eq=False)
class GuardSession:
    """Session of one fetch: servers that it may connect to, and their last answer.

    Attributes
    ----------
    upstreams : mapping of "host:port", as URLs of plain HTTP name it, to Upstream
    tunnels : mapping of "host:port" to Upstream
        Servers of credentials that speak TLS.
    failure : str
        Last refusal by the guard, for the message; empty: none.
    status : int
        Last status of a store's answer; 0: none.
    proxy_url : str
    """

    upstreams: Mapping[str, Upstream]
    tunnels: Mapping[str, Upstream]
    failure: str = ""
    status: int = 0
    proxy_url: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Request to a store, as it is sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def open_connection(upstream: Upstream) -> http.client.HTTPConnection:
    """Connect to a checked address, by TLS with the name of the host where it speaks that."""
    host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
    connection = http.client.HTTPConnection(host, upstream.port, timeout=_READ_SECONDS)
    plain = connect(upstream.host, upstream.port, upstream.networks)
    plain.settimeout(_READ_SECONDS)
    if upstream.tls is None:
        connection.sock = plain
        return connection
    try:
        connection.sock = upstream.tls.wrap_socket(plain, server_hostname=upstream.host)
    except BaseException:
        plain.close()
        raise
    return connection


def begin_answer(
    connection: http.client.HTTPConnection, request: Request
) -> http.client.HTTPResponse:
    """Send a request; return the answer, of which the headers are read."""
    connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.items():
        connection.putheader(name, value)
    connection.endheaders(request.body or None)
    return connection.getresponse()


def told(error: Exception) -> str:
    """Tell a failure to connect in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); see ca_file"
    if isinstance(error, socket.gaierror):
        return "its name cannot be resolved"
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return str(error) or type(error).__name__
