"""HTTP calls to the server of a remote model: kept connections, checked addresses, bounded answers.

urllib3 carries more rows per second than httpx, and as many as aiohttp, for whose event loop the
threads of a computation would have to wait: `bench/speed/remote_models/calls.py` compares them.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout
from urllib3.exceptions import HTTPError, InvalidHeader, ReadTimeoutError
from urllib3.util.retry import Retry

from onnxplain_server.adapters.remote.calls.call_watch import WATCH
from onnxplain_server.adapters.remote.calls.http_connections import (
    CALL,
    HttpCall,
    PlainPool,
    SecurePool,
)
from onnxplain_server.adapters.remote.calls.kept_connections import KeptConnections
from onnxplain_server.adapters.remote.calls.limiter import LIMITERS
from onnxplain_server.adapters.remote.calls.retries import PassingError, call_with_retries
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.sources import FetchControl

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


_SHARED: KeptConnections[HTTPConnectionPool] = KeptConnections(HTTPConnectionPool.close)


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
        self._host = parts.hostname or ""
        self._is_secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._base = parts.path.rstrip("/")
        self._policy = policy
        self._control = control
        self._failures = failures
        self._limiter = LIMITERS.of_server(self._host, self._port)
        self._has_answered = False
        trusted = Path(policy.ca_file).read_bytes() if policy.ca_file else b""
        self._key = (policy.shared_by, parts.scheme, self._host, self._port, trusted)
        self._pools = _SHARED if policy.shared_by else KeptConnections(HTTPConnectionPool.close)

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
            self._pools.use(self._key, self._pool) as pool,
        ):
            token = CALL.set(HttpCall(self._policy, watched))
            try:
                return self._exchange(pool, path, body, headers, row_count)
            except (HTTPError, OSError) as error:
                if watched.error is not None:
                    raise watched.error from None
                raise self._fault(error, is_late=watched.is_late) from None
            finally:
                CALL.reset(token)

    def _pool(self) -> HTTPConnectionPool:
        count = self._policy.call_count
        if not self._is_secure:
            return PlainPool(self._host, self._port, maxsize=count)
        context = ssl.create_default_context(cafile=self._policy.ca_file or None)
        return SecurePool(self._host, self._port, maxsize=count, ssl_context=context)

    def _exchange(
        self,
        pool: HTTPConnectionPool,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        row_count: int,
    ) -> HttpAnswer:
        response = pool.urlopen(
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
