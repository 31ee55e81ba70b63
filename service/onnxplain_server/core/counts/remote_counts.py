"""Counts of the calls of remote models, as metrics and the audit log tell them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Counts of calls of remote models.

    Attributes
    ----------
    call_count : int
        Calls that were sent, repeated ones and those for descriptions included.
    retry_count : int
        Repeated ones among them.
    row_count : int
        Rows that were asked for; those of repeated calls once.
    failure_count : int
        What the computation asked for and did not get, after all repetitions.
    """

    call_count: int = 0
    retry_count: int = 0
    row_count: int = 0
    failure_count: int = 0

    def __add__(self, other: CallCounts) -> CallCounts:
        """Add what other calls came to."""
        return CallCounts(
            self.call_count + other.call_count,
            self.retry_count + other.retry_count,
            self.row_count + other.row_count,
            self.failure_count + other.failure_count,
        )


NO_CALLS = CallCounts()


class CountKind(Enum):
    """Count of `CallCounts`; values are its attributes."""

    CALLS = "call_count"
    RETRIES = "retry_count"
    ROWS = "row_count"
    FAILURES = "failure_count"


@dataclass(frozen=True, slots=True)
class RemoteUse:
    """Use of remote models by a request.

    Attributes
    ----------
    prefix : str
        Listed prefix of the model; empty: none was asked.
    counts : CallCounts
    """

    prefix: str = ""
    counts: CallCounts = NO_CALLS


NO_USE = RemoteUse()
