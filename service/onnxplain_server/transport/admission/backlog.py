"""Backlog: the estimated work of waiting requests, and when a refused one should come back."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.admission.work_estimates import (
    SHORT_SECONDS,
    Estimate,
    WorkEstimates,
    WorkKey,
)

_PROMISE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits of what waits, besides the number of requests.

    Attributes
    ----------
    seconds : float
        Estimated time until what waits has begun.
    byte_count : float
        Memory of the messages of requests that wait.
    reading_count : float
        Requests that are received at the same time, besides those of callers that send nothing
        else: each may take the memory of the largest message.
    """

    seconds: float = math.inf
    byte_count: float = math.inf
    reading_count: float = math.inf


class Backlog:
    """Work that waits. Not thread-safe: the scheduler locks.

    Short work does not wait for long work, so it is only measured against short work.

    Parameters
    ----------
    slot_count : int
        Requests that are worked off at the same time.
    seconds_limit : float
        See `QueueLimits`.
    clock : callable () -> float
        Monotonic time.
    """

    def __init__(
        self, slot_count: int, seconds_limit: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slot_count = slot_count
        self._seconds_limit = seconds_limit
        self._clock = clock
        self._estimates = WorkEstimates()
        self._waiting: Counter[WorkKey] = Counter()
        self._running: dict[Ticket, float] = {}
        self._promise = -math.inf
        """Time until which places are taken by those that were told to come back."""

    def add(self, ticket: Ticket) -> None:
        """Count a request that begins to wait; operations wait elsewhere."""
        if ticket.work is not None:
            self._waiting[ticket.work] += 1

    def remove(self, ticket: Ticket) -> None:
        """Forget a request that waits no longer."""
        if ticket.work is not None:
            self._waiting[ticket.work] -= 1
            if not self._waiting[ticket.work]:
                del self._waiting[ticket.work]

    def begin(self, ticket: Ticket) -> None:
        """Note that a request runs."""
        self._running[ticket] = self._clock()

    def pause(self, ticket: Ticket) -> None:
        """Note that a request runs no longer, for now."""
        ticket.run_seconds += self._clock() - self._running.pop(ticket)

    def learn(self, ticket: Ticket) -> None:
        """Learn from the seconds that a request ran."""
        if ticket.work is not None:
            self._estimates.learn(ticket.work, ticket.run_seconds)

    def long_running_count(self) -> int:
        """Return how many requests have run for longer than short work takes."""
        begun = self._clock() - SHORT_SECONDS
        return sum(start < begun for start in self._running.values())

    def estimate(self, ticket: Ticket) -> Estimate:
        """Estimate the work of a request; operations are long, and none is counted."""
        if ticket.work is None:
            return Estimate(math.inf, is_measured=True)
        return self._estimate(ticket.work, self._elapsed())

    def seconds(self, *, of_short: bool = False) -> float:
        """Return the time until all work that waits has begun; or all short work."""
        return self._work(of_short=of_short) / self._slot_count

    def seconds_before(self, ticket: Ticket) -> float:
        """Return the time until a request would begin, behind what waits already."""
        return self.seconds(of_short=self.estimate(ticket).is_short)

    def has_room(self, ticket: Ticket) -> bool:
        """Return whether a request may wait for what waits already."""
        if self._waiting.total() < self._slot_count:
            return True
        return self.seconds_before(ticket) < self._seconds_limit

    def retry_seconds(self, ticket: Ticket) -> float:
        """Return after how many seconds a refused request should come back.

        One after the other, as slots become free: those that come back do not refuse each other.
        """
        now = self._clock()
        free = now + max(0.0, self.seconds_before(ticket) - self._seconds_limit)
        work = 0.0 if ticket.work is None else self.estimate(ticket).seconds / self._slot_count
        # Not all who were told to return will.
        self._promise = min(max(self._promise, free) + work, free + _PROMISE_SECONDS)
        return self._promise - now

    def refusal(self, ticket: Ticket, message: str) -> ExplainError:
        """Make the error of a refused request, which says when it should come back."""
        seconds = max(1, math.ceil(self.retry_seconds(ticket)))
        message = f"{message}; ask again in {seconds:,} s"
        return ExplainError(Reason.OVERLOADED, message, retry_seconds=seconds)

    def _work(self, *, of_short: bool) -> float:
        elapsed = self._elapsed()
        total = 0.0
        for key, count in self._waiting.items():
            estimate = self._estimate(key, elapsed)
            if estimate.is_short or not of_short:
                total += count * estimate.seconds
        return total

    def _estimate(self, key: WorkKey, elapsed: Mapping[WorkKey, float]) -> Estimate:
        estimate = self._estimates.expect(key)
        if key not in elapsed or elapsed[key] <= estimate.seconds:
            return estimate
        # One like it takes longer than expected, and so may this.
        is_known = estimate.is_measured or elapsed[key] > SHORT_SECONDS
        return Estimate(elapsed[key], is_known)

    def _elapsed(self) -> dict[WorkKey, float]:
        now, elapsed = self._clock(), dict[WorkKey, float]()
        for ticket, start in self._running.items():
            if ticket.work is not None:
                elapsed[ticket.work] = max(elapsed.get(ticket.work, 0.0), now - start)
        return elapsed
