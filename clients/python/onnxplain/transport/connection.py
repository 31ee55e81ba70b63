"""Connection: endpoint, channel options, timeout, retries and security of every call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxplain.transport.retry import Attempts
from onnxplain.transport.security import Security
from onnxplain.transport.uploads import PART_BYTES

MESSAGE_LIMIT = 64 * 2**20
"""Bytes: the server's default limit of a message."""

RETRY_COUNT = 10
"""Retries, whose pauses take 6 to 13 s in all: long enough to restart the only server."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Settings of `connect`.

    Attributes
    ----------
    endpoint : str
        Named in errors.
    timeout : float or None
        Seconds for each call without a timeout of its own.
    message_limit : int
        Largest message in bytes, both ways.
    retry_count : int
        Retries of a call to a server that is unreachable or overloaded.
    security : Security
        Tokens and TLS.
    """

    endpoint: str
    timeout: float | None
    message_limit: int
    retry_count: int
    security: Security

    @property
    def part_bytes(self) -> int:
        """Bytes of a file per message; the rest of the message needs some too."""
        return min(PART_BYTES, self.message_limit // 2)

    def seconds(self, timeout: float | None) -> float | None:
        """Return the timeout of a call, or the default."""
        return self.timeout if timeout is None else timeout

    def attempts(self, timeout: float | None) -> Attempts:
        """Start the retry budget of a call."""
        return Attempts(self.retry_count, self.seconds(timeout))

    def call_options(self, seconds: float | None) -> dict[str, Any]:
        """Return timeout and metadata of an attempt; tokens may differ between attempts."""
        return {"timeout": seconds, "metadata": self.security.metadata()}

    def open(self, package: Any) -> Any:
        """Open a channel, by `grpc` or by `grpc.aio`."""
        options = self._channel_options()
        if self.security.credentials is None:
            return package.insecure_channel(self.endpoint, options)
        return package.secure_channel(self.endpoint, self.security.credentials, options)

    def _channel_options(self) -> list[tuple[str, int]]:
        return [
            ("grpc.max_send_message_length", self.message_limit),
            ("grpc.max_receive_message_length", self.message_limit),
            # Retries follow within a second or two: an unreachable channel must reconnect as fast.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1_000),
            # Keep-alive detects a vanished peer after a minute, not only at the deadline.
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
        ]
