"""Messages as they arrive over gRPC, waited for with limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import grpc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.ticket import Ticket

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**20
"""Who sends less waits for a message longer than we do."""

_POLL_SECONDS = 0.05

_Message = TypeVar("_Message")


class MessageReceiver:
    """Reads messages on threads of its own: grpc's reading can be neither timed nor interrupted.

    Such a thread is free again as soon as its call has ended.

    Parameters
    ----------
    thread_count : int
        Calls that may be read at a time.
    """

    def __init__(self, thread_count: int) -> None:
        self._threads = ThreadPoolExecutor(thread_count, "onnxplain-grpc-read")

    def only(self, requests: Iterator[_Message], ticket: Ticket, most_bytes: int) -> _Message:
        """Return a call's only message, as `each` does; INVALID_REQUEST where there is none."""
        for message in self.each(requests, ticket, most_bytes):
            return message
        raise ExplainError(Reason.INVALID_REQUEST, "the call brought no message")

    def each(
        self, requests: Iterator[_Message], ticket: Ticket, most_bytes: int
    ) -> Iterator[_Message]:
        """Return messages of up to so many bytes.

        Raises
        ------
        ExplainError
            CANCELLED where the caller leaves on the way, DEADLINE_EXCEEDED where a
            message takes too long, and why the ticket was taken away.
        """
        seconds = _IDLE_SECONDS + most_bytes / _BYTES_PER_SECOND
        while (found := self._next(requests, ticket, seconds)) is not None:
            yield found

    def _next(
        self, requests: Iterator[_Message], ticket: Ticket, seconds: float
    ) -> _Message | None:
        arriving = self._threads.submit(next, requests, None)
        end = time.monotonic() + seconds
        while not _ended(arriving):
            ticket.check()
            if time.monotonic() > end:
                message = (
                    f"no whole message came for {seconds:.0f} s; send faster, or smaller parts"
                )
                raise ExplainError(Reason.DEADLINE_EXCEEDED, message)
        ticket.check()
        return _arrived(arriving)


def _ended(arriving: Future[_Message]) -> bool:
    """Wait a little; `concurrent.futures.wait` would take longer for a message that is there."""
    try:
        arriving.exception(_POLL_SECONDS)
    except TimeoutError:
        return False
    return True


def _arrived(arriving: Future[_Message]) -> _Message:
    try:
        return arriving.result()
    except grpc.RpcError:
        raise ExplainError(Reason.CANCELLED, "the caller has gone on the way") from None
