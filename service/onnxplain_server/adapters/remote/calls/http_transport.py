"""HTTP calls to the server of a remote model: kept connections, checked addresses, bounded answers.

urllib3 carries more rows per second than httpx, and as many as aiohttp, for whose event loop the
threads of a computation would have to wait: `bench/speed/remote.py` compares them.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, InvalidHeader, ReadTimeoutError
from urllib3.util.retry import Retry

from onnxplain_server.adapters.remote.calls.call_watch import WATCH, WatchedCall
from onnxplain_server.adapters.remote.calls.limiter import LIMITERS
from onnxplain_server.adapters.remote.calls.retries import PassingError, call_with_retries
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.sources import FetchControl

_CONNECT_SECONDS = 10.0
_PART_BYTES = 2**18
_PASSING = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer of a server with status 200.

    Attributes
    ----------
    headers : mapping of str to str
        Names in any case.
    body : bytes
    """

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _HttpCall:
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


_CALL: ContextVar[_HttpCall] = ContextVar("remote_call")


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _CALL.get().connect(self.host, self.port or self.default_port)

    def putrequest(self, *arguments: object, **options: object) -> None:
        if self.sock is not None:
            _CALL.get().attach(self.sock)
        super().putrequest(*arguments, **options)  # type: ignore[arg-type]


class _SecureConnection(HTTPSConnection, _Connection):
    """Of both, by TLS."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class HttpTransport:
    """Calls of one server, by HTTP or HTTPS.

    Parameters
    ----------
    uri : str
        Address, of which the path begins the path of each call.
    policy : RemotePolicy
    control : FetchControl
    failures : ModelFailures
    """

    def __init__(
        self, uri: str, policy: RemotePolicy, control: FetchControl, failures: ModelFailures
    ) -> None:
        parts = urlsplit(uri)
        host = parts.hostname or ""
        is_secure = parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
        self._base = parts.path.rstrip("/")
        self._policy = policy
        self._control = control
        self._failures = failures
        self._limiter = LIMITERS.of_server(host, port)
        self._has_answered = False
        self._pool: HTTPConnectionPool
        if is_secure:
            context = ssl.create_default_context(cafile=policy.ca_file or None)
            self._pool = _SecurePool(host, port, maxsize=policy.call_count, ssl_context=context)
        else:
            self._pool = _PlainPool(host, port, maxsize=policy.call_count)

    def call(
        self,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        row_count: int = 0,
    ) -> HttpAnswer:
        """POST a body with so many rows, or GET; repeat where that may help.

        Raises
        ------
        ExplainError
            As `RemotePredictions`.
        """
        send = partial(self._attempt, path, body, headers or {}, row_count)
        policy = self._policy
        return call_with_retries(
            *(send, self._control, policy.retry_seconds, self._failures), policy.count_retry
        )

    def _attempt(
        self, path: str, body: bytes | None, headers: Mapping[str, str], row_count: int
    ) -> HttpAnswer:
        with (
            self._limiter.slot(self._policy, self._control),
            WATCH.watch(self._control, self._policy.timeout_seconds) as watched,
        ):
            token = _CALL.set(_HttpCall(self._policy, watched))
            try:
                return self._exchange(path, body, headers, row_count)
            except (HTTPError, OSError) as error:
                if watched.error is not None:
                    raise watched.error from None
                raise self._fault(error, is_late=watched.is_late) from None
            finally:
                _CALL.reset(token)

    def _exchange(
        self, path: str, body: bytes | None, headers: Mapping[str, str], row_count: int
    ) -> HttpAnswer:
        response = self._pool.urlopen(
            "GET" if body is None else "POST",
            self._base + path,
            body=body,
            headers={"Accept-Encoding": "identity", **headers, **self._policy.headers},
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
            timeout=Timeout(read=self._policy.timeout_seconds),
        )
        try:
            content = self._content(response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        # After a restart, a server may answer before it has its models again.
        is_away = response.status == HTTPStatus.NOT_FOUND and self._has_answered
        if response.status in _PASSING or is_away:
            raise PassingError(f"answers {response.status}", _retry_after(response))
        if response.status != HTTPStatus.OK:
            raise self._failures.of_status(response.status, content, row_count)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise self._failures.answer("compresses its answer, though this was not accepted")
        self._has_answered = self._has_answered or row_count > 0
        return HttpAnswer(response.headers, content)

    def _content(self, response: BaseHTTPResponse) -> bytes:
        limit = self._policy.answer_byte_limit
        parts: list[bytes] = []
        size = 0
        while part := response.read(_PART_BYTES):
            parts.append(part)
            if (size := size + len(part)) > limit:
                raise self._failures.answer(f"answers more than {limit:,} bytes, the limit here")
        return b"".join(parts)

    def _fault(self, error: HTTPError | OSError, *, is_late: bool) -> Exception:
        cause = _certificate_error(error)
        if cause is not None:
            return self._failures.forbidden(
                f"has a certificate that is not trusted ({cause.verify_message}); see ca_file"
            )
        if is_late or isinstance(error, (TimeoutError, ReadTimeoutError)):
            return PassingError(f"gives no answer in {self._policy.timeout_seconds:g} s")
        return PassingError(f"breaks the connection, or takes none ({_innermost(error)})")


def _shut_down(connection: socket.socket) -> None:
    # The method of the class: that of an SSLSocket drops its TLS state, which a reader still uses.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _retry_after(response: BaseHTTPResponse) -> float | None:
    header = response.headers.get("Retry-After")
    if header is None:
        return None
    try:
        return max(0.0, Retry().parse_retry_after(header))
    except InvalidHeader:
        return None


def _certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    for cause in (error, *error.args):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause
    return None


def _innermost(error: BaseException) -> str:
    """Tell the first cause: urllib3 wraps it, with the host's address."""
    while error.args and isinstance(error.args[-1], BaseException):
        error = error.args[-1]
    text = error.strerror if isinstance(error, OSError) else str(error)
    return text or type(error).__name__
