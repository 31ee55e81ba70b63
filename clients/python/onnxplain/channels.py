"""How channels to a server are set."""

from __future__ import annotations

MESSAGE_LIMIT = 64 * 2**20
"""Bytes: what the server takes and sends by default."""


def channel_options(message_limit: int) -> list[tuple[str, int]]:
    """Return grpc's options for a channel.

    Parameters
    ----------
    message_limit : int
        Bytes that a message may have, both ways.
    """
    return [
        ("grpc.max_send_message_length", message_limit),
        ("grpc.max_receive_message_length", message_limit),
        # Attempts are repeated within a second or two: a channel that met nobody must look again.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        # A peer that vanished without a word shows after a minute, and not only at the deadline.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]
