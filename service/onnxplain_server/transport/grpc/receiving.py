"""Receiving of gRPC messages with slow-client protection: a message that takes too long fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import grpc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc_errors import forget_frames

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**20
"""Slowest accepted rate of a message."""

_POLL_SECONDS = 0.05


class MessageReceiver:
    """Reads messages on its own thread pool: grpc's reads have no timeout and cannot be cancelled.

    A thread is free again when its call has ended.

    Parameters
    ----------
    thread_count : int
        Number of calls that can be read at the same time.
    """

    def __init__(self, thread_count: int) -> None:
        self._threads = ThreadPoolExecutor(thread_count, "onnxplain-grpc-read")

    def only(self, requests: Iterator[bytes], ticket: Ticket, byte_limit: int) -> bytes:
        """Return a call's only message, like `messages`; INVALID_REQUEST if there is none."""
        for message in self.messages(requests, ticket, byte_limit):
            return message
        raise ExplainError(Reason.INVALID_REQUEST, "the call has no message")

    def messages(
        self, requests: Iterator[bytes], ticket: Ticket, byte_limit: int
    ) -> Iterator[bytes]:
        """Yield messages, each of at most `byte_limit` bytes.

        Raises
        ------
        ExplainError
            CANCELLED if the caller disconnects, DEADLINE_EXCEEDED if a message takes
            too long, or the reason for which the ticket was ended.
        """
        seconds = _IDLE_SECONDS + byte_limit / _BYTES_PER_SECOND
        while (message := self._next(requests, ticket, seconds)) is not None:
            yield message

    def _next(self, requests: Iterator[bytes], ticket: Ticket, seconds: float) -> bytes | None:
        pending = self._threads.submit(_read, requests)
        end = time.monotonic() + seconds
        while not _is_done(pending):
            ticket.check()
            if time.monotonic() > end:
                message = (
                    f"no complete message within {seconds:.0f} s; send faster, or smaller parts"
                )
                raise ExplainError(Reason.DEADLINE_EXCEEDED, message)
        ticket.check()
        return pending.result()


def _is_done(pending: Future[bytes | None]) -> bool:
    """Wait a little; `concurrent.futures.wait` is slower for a message that is already there."""
    try:
        pending.exception(_POLL_SECONDS)
    except TimeoutError:
        return False
    return True


def _read(requests: Iterator[bytes]) -> bytes | None:
    try:
        return next(requests, None)
    except grpc.RpcError as error:
        forget_frames(error)  # grpc keeps it with the call
    raise ExplainError(Reason.CANCELLED, "the caller disconnected while sending")
