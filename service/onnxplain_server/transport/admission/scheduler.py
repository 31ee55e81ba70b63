"""Who may compute: some at a time, some more waiting, nobody once the server stops."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller, Party
from onnxplain_server.transport.admission.fair_queue import FairQueue
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.ticket import Stage, Ticket

_POLL_SECONDS = 0.25

_LEAVING_COUNT = 4
"""Requests that gave their place to others and have not left yet: they need a thread each."""


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """How many requests hold a place, how many of them run or wait, and for how many callers."""

    place_count: int
    running_count: int
    waiting_count: int
    caller_count: int


class Scheduler:
    """Places for requests, and turns for those that hold one, shared fairly between callers.

    A place is taken before a request's body is read, so that the number of
    places bounds the threads and the memory that requests can occupy. Where
    all are taken, a caller gets one all the same that holds at least two less
    than another one: the newest request of the one with most is refused in
    its stead, unless it is at work. So whoever fills the places, each of n
    callers can have its n-th part of them.

    A free turn goes to the caller that has least at work, and among these to
    the one that waits for longest; of a caller's own, first come, first served.

    Parameters
    ----------
    running_count : int
        Computations at the same time; at least 1.
    waiting_count : int
        Requests that may wait for their turn besides; at least 0.
    extra_count : int
        Computations beyond, each of a caller that has none at work: it need
        not wait for others that take long. As many places are kept for callers
        that hold none.

    Attributes
    ----------
    thread_count : int
        Threads that requests can occupy.
    """

    def __init__(self, running_count: int, waiting_count: int, extra_count: int = 0) -> None:
        self._common_count = running_count + waiting_count
        self._place_count = self._common_count + extra_count
        self.thread_count = self._place_count + _LEAVING_COUNT
        self._running_count = running_count
        self._most_running_count = running_count + extra_count
        self._places: list[Ticket] = []
        self._running: Counter[Party] = Counter()
        self._line = FairQueue()
        self._lock = threading.RLock()
        self._emptied = threading.Condition(self._lock)
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping."""
        return self._closed

    def counts(self) -> TurnCounts:
        """Return what is so at this moment."""
        with self._lock:
            stages = Counter(place.stage for place in self._places)
            return TurnCounts(
                len(self._places),
                stages[Stage.RUNNING],
                stages[Stage.WAITING],
                len({place.party for place in self._places}),
            )

    @contextmanager
    def place(self, caller: Caller) -> Iterator[Ticket]:
        """Hold a place.

        Raises
        ------
        ExplainError
            UNAVAILABLE once closed; OVERLOADED where all places are taken.
        """
        place = Ticket(caller, self._lock)
        with self._lock:
            self._admit(place)
            self._places.append(place)
        try:
            yield place
        finally:
            with self._lock:
                self._places.remove(place)
                if not self._places:
                    self._emptied.notify_all()
                self._wake()

    @contextmanager
    def turn(self, place: Ticket, call: RequestContext) -> Iterator[None]:
        """Wait for a turn and hold it; raises whatever ends the call while it waits."""
        with self._lock:
            place.check()
            place.call = call
            self._move(place, Stage.WAITING)
            self._line.add(place)
            self._take(place, call)
        call.stand_aside = partial(self._aside, place, call)
        try:
            yield
        finally:
            with self._lock:
                self._move(place, Stage.DONE)

    def close(self) -> None:
        """Refuse new requests from now on."""
        with self._lock:
            self._closed = True

    def wait_empty(self, seconds: float) -> bool:
        """Wait until no place is taken; whether that came true in time."""
        with self._lock:
            return self._emptied.wait_for(lambda: not self._places, seconds)

    def end_all(self) -> None:
        """Make every request end at its next step, telling its caller to ask another server."""
        with self._lock:
            for place in self._places:
                place.end(Reason.UNAVAILABLE, "the server stopped before the work was done")

    def _admit(self, place: Ticket) -> None:
        if self._closed:
            raise ExplainError(Reason.UNAVAILABLE, "the server is stopping; ask again")
        held = Counter(other.party for other in self._places if other.stage is not Stage.ENDED)
        room = self._common_count if held[place.party] else self._place_count
        if held.total() < room:
            return
        loser = self._loser(held, held[place.party] + 2)
        if loser is None:
            message = f"the server takes {room} requests at a time; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        message = "the place went to a caller with fewer requests; ask again later"
        loser.end(Reason.OVERLOADED, message)
        self._line.remove(loser)
        self._move(loser, Stage.ENDED)

    def _loser(self, held: Counter[Party], least: int) -> Ticket | None:
        """The newest request that can be ended, of the party that holds most, and at least this."""
        if len(self._places) >= self.thread_count:
            return None
        able = [place for place in self._places if place.yields and held[place.party] >= least]
        return max(reversed(able), key=lambda place: held[place.party], default=None)

    @contextmanager
    def _aside(self, place: Ticket, call: RequestContext) -> Iterator[None]:
        """Give the turn to others while a call waits for another; the next free one is its own."""
        with self._lock:
            self._move(place, Stage.ASIDE)
        try:
            yield
        finally:
            with self._lock:
                self._line.add_first(place)
                self._take(place, call)

    def _take(self, place: Ticket, call: RequestContext) -> None:
        """Wait until it is the turn of a place that was put among the waiting ones."""
        try:
            call.check("while waiting for a turn")
            while self._next() is not place:
                # Short, because nobody tells when a waiting caller leaves.
                place.woken.wait(_POLL_SECONDS)
                call.check("while waiting for a turn")
        finally:
            self._line.remove(place)
        self._move(place, Stage.RUNNING)

    def _next(self) -> Ticket | None:
        count = self._running.total()
        if count >= self._most_running_count:
            return None
        is_extra = count >= self._running_count
        return self._line.next(self._running.__getitem__, 0 if is_extra else math.inf)

    def _move(self, place: Ticket, stage: Stage) -> None:
        self._running[place.party] += (stage is Stage.RUNNING) - (place.stage is Stage.RUNNING)
        if not self._running[place.party]:
            del self._running[place.party]
        place.stage = stage
        self._wake()

    def _wake(self) -> None:
        """Wake whose turn it is, and nobody else: each that wakes costs the processor."""
        if (place := self._next()) is not None:
            place.woken.notify()
