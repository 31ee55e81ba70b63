"""Mismatch of TLS: tells a server that wants TLS, or has none, from one that does not answer."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit


def has_tls_mismatch(url: str, timeout: float) -> bool:
    """Decide whether the server at a redis:// address speaks TLS, or that at rediss:// does not.

    Nothing secret is sent: a handshake without a name, or PING.
    """
    parts = urlsplit(url)
    try:
        if parts.scheme not in {"redis", "rediss"} or parts.hostname is None:
            return False
        place = parts.hostname, parts.port or 6379
        with socket.create_connection(place, timeout) as connection:
            connection.settimeout(timeout)
            return _greets(connection) if parts.scheme == "rediss" else _speaks_tls(connection)
    except (OSError, ValueError):
        return False


def _speaks_tls(connection: socket.socket) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing is sent or believed after this handshake.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connection):
        return True


def _greets(connection: socket.socket) -> bool:
    """Decide whether it answers without TLS: "+PONG", or an error such as "-NOAUTH"."""
    connection.sendall(b"PING\r\n")
    return connection.recv(1) in {b"+", b"-"}
