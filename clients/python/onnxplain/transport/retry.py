"""Retry with exponential backoff and jitter, within the timeout of a call."""

from __future__ import annotations

import random
import time

from onnxplain.errors import ExplainError

_FIRST_SECONDS = 0.1
# Longer pauses would keep callers waiting after a restart is over.
_MAX_SECONDS = 2.0


class Attempts:
    """Attempts at one call, and the pauses between them.

    Calls are retried where the server was unreachable or overloaded; that is safe, because they
    are idempotent. A refusal is final.

    Parameters
    ----------
    retry_count : int
        Retries after the first attempt.
    timeout : float or None
        Seconds for all attempts and pauses together.
    """

    def __init__(self, retry_count: int, timeout: float | None) -> None:
        self._left = retry_count
        self._backoff = _FIRST_SECONDS
        self._end = None if timeout is None else time.monotonic() + timeout

    def seconds(self) -> float | None:
        """Return the seconds left for the next attempt."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def pause(self, error: ExplainError) -> float:
        """Return the seconds to wait before the next attempt.

        Exponential backoff with jitter, which spreads the clients; never shorter than the
        RetryInfo of the server.

        Raises
        ------
        ExplainError
            The error itself, where there is no further attempt.
        """
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - spreads clients; no secret
        pause = (error.retry_seconds or 0.0) + jitter * self._backoff
        left = self.seconds()
        if not self._left or not _is_transient(error) or (left is not None and pause >= left):
            raise error
        self._left -= 1
        self._backoff = min(2 * self._backoff, _MAX_SECONDS)
        return pause


def _is_transient(error: ExplainError) -> bool:
    """Tell whether the same request may succeed later."""
    if error.code == "RESOURCE_EXHAUSTED":
        # Without RetryInfo this is a message over the limit, which no retry cures. A quota has
        # room after minutes: the caller decides whether to wait for them.
        return error.retry_seconds is not None and error.reason != "QUOTA_EXCEEDED"
    return error.code == "UNAVAILABLE" or _was_cut(error)


def _was_cut(error: ExplainError) -> bool:
    """Tell whether a closing server cut the call: CANCELLED without a message of its own.

    Calls cancelled by the client have another message.
    """
    return error.code == error.message == "CANCELLED"
