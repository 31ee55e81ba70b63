"""Retries of calls that failed by what may pass, with backoff, jitter and the server's Retry-After.

tenacity has the loop alone: pauses that end with the request, and Retry-After, would be ours too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.core.sources import FetchControl

_FIRST_SECONDS = 0.1
_LARGEST_SECONDS = 8.0
_CHECK_SECONDS = 0.05
_WAITING = "while it waited to repeat a call of the remote model"

_Answer = TypeVar("_Answer")


class PassingError(Exception):
    """Failure of one call that a repetition may cure.

    Parameters
    ----------
    fault : str
        What happened, for the message: "answers 503".
    after_seconds : float or None
        When to repeat, as the server says.
    """

    def __init__(self, fault: str, after_seconds: float | None = None) -> None:
        super().__init__(fault)
        self.after_seconds = after_seconds


def call_with_retries(
    attempt: Callable[[], _Answer],
    control: FetchControl,
    seconds: float,
    failures: ModelFailures,
    count_retry: Callable[[], None] = lambda: None,
) -> _Answer:
    """Call until it succeeds, for so many seconds and within the request's deadline.

    Each repetition is told to `count_retry`.

    Raises
    ------
    ExplainError
        REMOTE_MODEL_UNAVAILABLE with the last fault; those of `attempt` and of
        `FetchControl.check`.
    """
    end = time.monotonic() + seconds
    last = min(end, control.deadline)
    backoff, count = _FIRST_SECONDS, 0
    while True:
        try:
            return attempt()
        except PassingError as fault:
            count += 1
            pause = fault.after_seconds
            if pause is None:
                pause = random.uniform(backoff / 2, backoff)  # noqa: S311 - no secret
            if time.monotonic() + pause > last:
                raise failures.unavailable(str(fault), count, fault.after_seconds) from None
        backoff = min(2 * backoff, _LARGEST_SECONDS)
        _sleep(pause, control)
        count_retry()


def _sleep(seconds: float, control: FetchControl) -> None:
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        control.check(_WAITING)
        time.sleep(min(rest, _CHECK_SECONDS))
    control.check(_WAITING)
