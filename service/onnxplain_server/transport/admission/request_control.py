"""Request control: the deadline, the cancellation and the slot of one request.

The clock starts with the request's first byte, and covers receiving, decoding, waiting, computing
and encoding. Deadlines are kept here, by a monotonic clock: each step calls `check`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason

_DISCONNECTED = (Reason.CANCELLED, "the caller has gone")


class RequestControl:
    """Deadline and cancellation of one request; thread-safe.

    Parameters
    ----------
    seconds : float
        Time until the deadline; may be infinite.
    is_disconnected : callable () -> bool
        Whether the caller has disconnected; polled at every step, for transports
        that do not report it.
    start : float or None
        Monotonic time of the request's first byte; by default, now.

    Attributes
    ----------
    deadline : float
        Monotonic time; may be infinite.
    release_slot : callable () -> ContextManager
        Entered while the computation waits for another one: the scheduler lets
        another request run meanwhile.
    """

    def __init__(
        self,
        seconds: float,
        is_disconnected: Callable[[], bool] = lambda: False,
        start: float | None = None,
    ) -> None:
        self.deadline = (time.monotonic() if start is None else start) + seconds
        self.release_slot: Callable[[], AbstractContextManager[None]] = nullcontext
        self._is_disconnected = is_disconnected
        self._cancellation: Callable[[], ExplainError] | None = None

    def cancel(
        self,
        reason: Reason = _DISCONNECTED[0],
        message: str = _DISCONNECTED[1],
        retry_seconds: float | None = None,
    ) -> None:
        """End the request at its next step."""
        self._cancellation = partial(ExplainError, reason, message, retry_seconds=retry_seconds)

    def check(self, when: str) -> None:
        """Raise if the request is cancelled or late; `when` ends the message."""
        if self._cancellation is not None:
            raise self._cancellation()
        if time.monotonic() > self.deadline:
            raise ExplainError(
                Reason.DEADLINE_EXCEEDED,
                f"the deadline passed {when}; "
                "allow more time, or ask for fewer rows (row_count) or features",
            )
        # Last, because callers disconnect at their deadline: then the deadline is the reason.
        if self._is_disconnected():
            raise ExplainError(*_DISCONNECTED)
