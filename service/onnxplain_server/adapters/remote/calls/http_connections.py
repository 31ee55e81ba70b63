"""HTTP connections of calls: to checked addresses, ended by the watchdog, kept for later calls."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import time
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from onnxplain_server.adapters.remote.calls.call_watch import WatchedCall
from onnxplain_server.adapters.remote.calls.kept_connections import IDLE_SECONDS
from onnxplain_server.adapters.remote.policy import RemotePolicy

if TYPE_CHECKING:
    from urllib3._base_connection import BaseHTTPConnection

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HttpCall:
    """Call that a connection is used for."""

    policy: RemotePolicy
    watched: WatchedCall

    def connect(self, host: str, port: int) -> socket.socket:
        """Connect to the address that the policy gives, so that the checked one is used."""
        address = self.policy.resolve(host, port)
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.attach(connection)
            connection.settimeout(min(_CONNECT_SECONDS, self.policy.timeout_seconds))
            connection.connect((address, port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def attach(self, connection: socket.socket) -> None:
        """Let the watchdog end this connection."""
        self.watched.attach(partial(_shut_down, connection))


CALL: ContextVar[HttpCall] = ContextVar("remote_call")
"""Call of this thread."""


class _Connection(HTTPConnection):
    _last_used = 0.0

    def _new_conn(self) -> socket.socket:
        return CALL.get().connect(self.host, self.port or self.default_port)

    def release(self) -> None:
        """Leave the connection to the next call."""
        CALL.get().watched.detach()
        self._last_used = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Return whether it had no call for long."""
        return time.monotonic() - self._last_used > IDLE_SECONDS

    def putrequest(self, *arguments: object, **options: object) -> None:
        if self.sock is not None:
            CALL.get().attach(self.sock)
        super().putrequest(*arguments, **options)  # type: ignore[arg-type]


class _SecureConnection(HTTPSConnection, _Connection):
    """Of both, by TLS."""


class PlainPool(HTTPConnectionPool):
    """Pool that reconnects what was closed meanwhile, as urllib3 does, or idle for long."""

    ConnectionCls = _Connection

    def _get_conn(self, timeout: float | None = None) -> BaseHTTPConnection:
        connection = super()._get_conn(timeout)
        if isinstance(connection, _Connection) and connection.sock and connection.is_idle:
            connection.close()
        return connection

    def _put_conn(self, connection: BaseHTTPConnection | None) -> None:
        if isinstance(connection, _Connection):
            connection.release()
        super()._put_conn(connection)


class SecurePool(HTTPSConnectionPool, PlainPool):
    """Of both, by TLS."""

    ConnectionCls = _SecureConnection


def _shut_down(connection: socket.socket) -> None:
    # The method of the class: that of an SSLSocket drops its TLS state, which a reader still uses.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
