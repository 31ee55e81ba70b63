"""What holds for every call to a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxplain.transport.retry import Attempts
from onnxplain.transport.security import Security
from onnxplain.transport.uploads import PART_BYTES

MESSAGE_LIMIT = 64 * 2**20
"""Bytes: what the server takes and sends by default."""

RETRY_COUNT = 4
"""Attempts after the first one: a second or two, in which a server can be replaced."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What `connect` was given.

    Attributes
    ----------
    endpoint : str
        Named in errors.
    timeout : float or None
        Seconds for each call that names no other.
    message_limit : int
        Bytes that a message may have, both ways.
    retry_count : int
        Attempts after a first one that met nobody, or a server with too much to do.
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
        """How many bytes of a file go into one message, which has some of its own."""
        return min(PART_BYTES, self.message_limit // 2)

    def seconds(self, timeout: float | None) -> float | None:
        """Return the time of a call that names this one, or none."""
        return self.timeout if timeout is None else timeout

    def attempts(self, timeout: float | None) -> Attempts:
        """Begin a call."""
        return Attempts(self.retry_count, self.seconds(timeout))

    def call_options(self, seconds: float | None) -> dict[str, Any]:
        """Return what goes with a call of so long; to be asked before each."""
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
            # Attempts follow within a second or two: a channel that met nobody must look again.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1_000),
            # A peer that vanished without a word shows after a minute, not only at the deadline.
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
        ]
