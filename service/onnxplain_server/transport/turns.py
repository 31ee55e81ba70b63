"""Who may compute: some at a time, some more waiting, nobody once the server stops."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from onnxplain_server.call import Call
from onnxplain_server.errors import ExplainError, Reason

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """How many requests hold a place, and how many of them run or wait for their turn."""

    place_count: int
    running_count: int
    waiting_count: int


class Turns:
    """Places for requests, and turns for those that hold one; first come, first served.

    A place is taken before a request's body is read, so that the number of
    places bounds the threads and the memory that requests can occupy.

    Parameters
    ----------
    running_count : int
        Computations at the same time; at least 1.
    waiting_count : int
        Requests that may wait for their turn besides; at least 0.
    """

    def __init__(self, running_count: int, waiting_count: int) -> None:
        self.place_count = running_count + waiting_count
        self._running_count = running_count
        self._taken = 0
        self._running: set[Call] = set()
        self._waiting: deque[Call] = deque()
        self._standing_aside: set[Call] = set()
        self._changed = threading.Condition()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping."""
        return self._closed

    def counts(self) -> TurnCounts:
        """Return what is so at this moment."""
        with self._changed:
            return TurnCounts(self._taken, len(self._running), len(self._waiting))

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place.

        Raises
        ------
        ExplainError
            UNAVAILABLE once closed; OVERLOADED where all places are taken.
        """
        with self._changed:
            self._refuse()
            self._taken += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                self._changed.notify_all()

    @contextmanager
    def turn(self, call: Call) -> Iterator[None]:
        """Wait for a turn and hold it; raises whatever ends the call while it waits."""
        with self._changed:
            self._waiting.append(call)
            self._take(call)
        call.stand_aside = partial(self._aside, call)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(call)
                self._changed.notify_all()

    def close(self) -> None:
        """Refuse new requests from now on."""
        with self._changed:
            self._closed = True

    def wait_empty(self, seconds: float) -> bool:
        """Wait until no place is taken; whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._taken == 0, seconds)

    def end_all(self) -> None:
        """Make every call end at its next step, telling its caller to ask another server."""
        with self._changed:
            for call in (*self._running, *self._waiting, *self._standing_aside):
                call.cancel(Reason.UNAVAILABLE, "the server stopped before the work was done")

    def _refuse(self) -> None:
        if self._closed:
            raise ExplainError(Reason.UNAVAILABLE, "the server is stopping; ask again")
        if self._taken >= self.place_count:
            raise ExplainError(
                Reason.OVERLOADED,
                f"the server takes {self.place_count} requests at a time; ask again later",
            )

    @contextmanager
    def _aside(self, call: Call) -> Iterator[None]:
        """Give the turn to others while a call waits for another; the next free one is its own."""
        with self._changed:
            self._running.remove(call)
            self._standing_aside.add(call)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._standing_aside.remove(call)
                self._waiting.appendleft(call)
                self._take(call)

    def _take(self, call: Call) -> None:
        """Wait until it is the turn of a call that was put among the waiting ones."""
        try:
            call.check("while waiting for a turn")
            while self._waiting[0] is not call or len(self._running) >= self._running_count:
                # Short, because nobody tells when a waiting caller leaves.
                self._changed.wait(_POLL_SECONDS)
                call.check("while waiting for a turn")
        finally:
            self._waiting.remove(call)
        self._running.add(call)
