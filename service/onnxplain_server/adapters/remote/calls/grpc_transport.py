"""gRPC calls to the server of a remote model: kept channel, checked address, bounded answers."""

from __future__ import annotations

import contextlib
import ipaddress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError, Message

from onnxplain_server.adapters.remote.calls.call_watch import WATCH
from onnxplain_server.adapters.remote.calls.kept_connections import KeptConnections
from onnxplain_server.adapters.remote.calls.limiter import LIMITERS
from onnxplain_server.adapters.remote.calls.retries import PassingError, call_with_retries
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.sources import FetchControl

_PUSHBACK = "grpc-retry-pushback-ms"
_TOO_LARGE = "CLIENT: Received message larger than max"
_UNTRUSTED = (
    "CERTIFICATE_VERIFY_FAILED",
    "certificate signature failure",
    "Hostname Verification Check failed",
)
_BROKEN_STREAM = "Stream removed"
_Code = grpc.StatusCode
_PASSING = {
    _Code.UNAVAILABLE: "breaks the connection, or takes none",
    _Code.RESOURCE_EXHAUSTED: "is overloaded",
    _Code.ABORTED: "aborts the call",
    _Code.CANCELLED: "cancels the call",
}

_Answer = TypeVar("_Answer", bound=Message)


def _close(channel: grpc.Channel) -> None:
    channel.close()


_SHARED: KeptConnections[grpc.Channel] = KeptConnections(_close)


class GrpcTransport:
    """Calls of one server by gRPC; "grpcs" is with TLS.

    Parameters
    ----------
    uri : str
    policy : RemotePolicy
    control : FetchControl
    failures : ModelFailures
    """

    def __init__(
        self, uri: str, policy: RemotePolicy, control: FetchControl, failures: ModelFailures
    ) -> None:
        parts = urlsplit(uri)
        self._is_secure = parts.scheme == "grpcs"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_secure else 80)
        self._policy = policy
        self._control = control
        self._failures = failures
        self._metadata = [(name.lower(), value) for name, value in policy.headers.items()]
        self._limiter = LIMITERS.of_server(self._host, self._port)
        self._has_answered = False
        self._trusted = Path(policy.ca_file).read_bytes() if policy.ca_file else None
        self._key = (policy.shared_by, parts.scheme, self._host, self._port, self._trusted)
        self._channels = _SHARED if policy.shared_by else KeptConnections(_close)

    def call(
        self, method: str, request: Message, answer: type[_Answer], row_count: int = 0
    ) -> _Answer:
        """Call a method with so many rows; repeat where that may help.

        Raises
        ------
        ExplainError
            As `RemotePredictions`.
        """
        body = request.SerializeToString()
        send = partial(self._attempt, method, body, row_count)
        seconds = self._policy.retry_seconds
        content = call_with_retries(
            send, self._control, seconds, self._failures, self._policy.count_retry
        )
        try:
            return answer.FromString(content)
        except DecodeError:
            raise self._failures.answer("answers with no message of its protocol") from None

    def _attempt(self, method: str, body: bytes, row_count: int) -> bytes:
        seconds = self._policy.timeout_seconds
        with (
            self._limiter.slot(self._policy, self._control),
            WATCH.watch(self._control, seconds) as watched,
            self._channels.use(self._key, self._open) as channel,
        ):
            # Bytes in, bytes out: gRPC hides an error of decoding.
            call = channel.unary_unary(method).future(
                body, timeout=seconds, metadata=self._metadata
            )
            watched.attach(call.cancel)
            try:
                content: bytes = call.result()
            except (grpc.RpcError, grpc.FutureCancelledError) as error:
                if watched.error is not None:
                    raise watched.error from None
                raise self._fault(error, row_count, channel, is_late=watched.is_late) from None
            self._has_answered = self._has_answered or row_count > 0
            return content

    def _open(self) -> grpc.Channel:
        """Make a channel to the address that the policy gives."""
        try:
            address = self._policy.resolve(self._host, self._port)
        except OSError as error:
            raise PassingError(f"cannot be found ({error})") from None
        return self._connect(address)

    def _connect(self, address: str) -> grpc.Channel:
        is_ipv6 = ipaddress.ip_address(address).version == 6
        target = f"ipv6:[{address}]:{self._port}" if is_ipv6 else f"ipv4:{address}:{self._port}"
        host = f"[{self._host}]" if ":" in self._host else self._host
        options: list[tuple[str, Any]] = [
            ("grpc.default_authority", f"{host}:{self._port}"),
            ("grpc.max_receive_message_length", self._policy.answer_byte_limit),
            ("grpc.max_send_message_length", -1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            # Connections of other prefixes, and their pauses, are their own.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if not self._is_secure:
            return grpc.insecure_channel(target, options)
        options.append(("grpc.ssl_target_name_override", self._host))
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(self._trusted), options)

    def _fault(
        self, error: Exception, row_count: int, channel: grpc.Channel, *, is_late: bool
    ) -> Exception:
        code = error.code() if isinstance(error, grpc.Call) else _Code.CANCELLED
        text = str(error.details() or "") if isinstance(error, grpc.Call) else ""
        if is_late or code is _Code.DEADLINE_EXCEEDED:
            return PassingError(f"gives no answer in {self._policy.timeout_seconds:g} s")
        if _TOO_LARGE in text:
            limit = self._policy.answer_byte_limit
            return self._failures.answer(f"answers more than {limit:,} bytes, the limit here")
        if code is _Code.UNAVAILABLE:
            # The next one resolves the name anew.
            self._channels.drop(self._key, channel)
            if any(sign in text for sign in _UNTRUSTED):
                return self._failures.forbidden(
                    "has a certificate that is not trusted; see ca_file"
                )
        # After a restart, a server may answer before it has its models again.
        is_away = code is _Code.NOT_FOUND and self._has_answered
        is_passing = is_away or (code in _PASSING and "larger than max" not in text)
        if is_passing or (code is _Code.UNKNOWN and _BROKEN_STREAM in text):
            return PassingError(
                f"{_PASSING.get(code, 'breaks the stream')} ({code.name})", _pushback(error)
            )
        return self._failures.of_code(code.name, text, row_count)


def _pushback(error: Exception) -> float | None:
    """Return after how many seconds a server wants to be called again."""
    if isinstance(error, grpc.Call):
        for name, value in error.trailing_metadata() or ():
            if name == _PUSHBACK:
                with contextlib.suppress(ValueError):
                    return max(0.0, int(value) / 1_000)
    return None
