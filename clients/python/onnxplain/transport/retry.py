"""When a call that failed is made again."""

from __future__ import annotations

import random
import time

from onnxplain.errors import ExplainError

_FIRST_SECONDS = 0.1
_MOST_SECONDS = 5.0


class Attempts:
    """The attempts at one call, and the pauses between them.

    What failed because nobody answered, or because the server had too much to do just then, is
    tried again: explaining changes nothing, so twice is as good as once. What the server refused
    stays refused.

    Parameters
    ----------
    retry_count : int
        Attempts after the first one.
    timeout : float or None
        Seconds for all attempts and pauses together.
    """

    def __init__(self, retry_count: int, timeout: float | None) -> None:
        self._left = retry_count
        self._longest = _FIRST_SECONDS
        self._end = None if timeout is None else time.monotonic() + timeout

    def seconds(self) -> float | None:
        """Return the time that is left for the next attempt."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def pause(self, error: ExplainError) -> float:
        """Return the seconds to wait before the next attempt.

        Each pause is about twice as long as the one before it, with chance in it, so that many
        clients do not return at the same moment; and no shorter than the server asked for.

        Raises
        ------
        ExplainError
            The error itself, where there is no other attempt.
        """
        asked = error.retry_seconds or 0.0
        chance = random.uniform(0.5, 1.0)  # noqa: S311 - spreads clients; no secret
        pause = asked + chance * self._longest
        left = self.seconds()
        if not self._left or not _may_pass(error) or (left is not None and pause >= left):
            raise error
        self._left -= 1
        self._longest = min(2 * self._longest, _MOST_SECONDS)
        return pause


def _may_pass(error: ExplainError) -> bool:
    """Tell whether the same request may succeed later."""
    if error.code == "RESOURCE_EXHAUSTED":
        # Without a time to come back this is a message over the limit, now and always.
        return error.retry_seconds is not None
    return error.code == "UNAVAILABLE" or _was_cut(error)


def _was_cut(error: ExplainError) -> bool:
    """Tell whether a server that closed has ended the call without a word of its own.

    Who cancels a call, or closes the client, is told so in other words.
    """
    return error.code == error.message == "CANCELLED"
