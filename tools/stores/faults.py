"""Faults of a server, each for some requests, and the record of what the server has sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What goes wrong with requests.

    Attributes
    ----------
    path : str
        Part of the path and query of the requests that it is for.
    method : str
        Method of them; empty for all.
    count : int
        Number of requests that it is for, the first ones.
    before : callable or None
        Called before the request is answered: to change an object, say.
    status : int or None
        Answered in place of the object.
    retry_after_seconds : int or None
        Header Retry-After of that status.
    cut_after : int or None
        Bytes of the body after which the connection is closed.
    held_by : Event or None
        The answer waits until it is set.
    pause_seconds : float
        Between pieces of 1 KiB of the body.
    """

    path: str = ""
    method: str = ""
    count: int = 1
    before: Callable[[], None] | None = None
    status: int | None = None
    retry_after_seconds: int | None = None
    cut_after: int | None = None
    held_by: threading.Event | None = None
    pause_seconds: float = 0.0


NO_FAULT = Fault()


@dataclass
class Faults:
    """Faults that are still to come; the first one that is for a request takes it."""

    _faults: list[Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str) -> Fault:
        """Return the fault of a request, and count it."""
        with self._lock:
            for fault in self._faults:
                if fault.count > 0 and fault.path in path and fault.method in {"", method}:
                    fault.count -= 1
                    return fault
        return NO_FAULT


@dataclass(slots=True)
class Exchange:
    """Request and its answer; `byte_count` is that of the body as far as it is being sent."""

    method: str
    path: str
    range: str
    status: int
    byte_count: int = 0


@dataclass
class Traffic:
    """Exchanges of a server, in the order of their answers."""

    _exchanges: list[Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, exchange: Exchange) -> None:
        with self._lock:
            self._exchanges.append(exchange)

    def clear(self) -> None:
        with self._lock:
            self._exchanges.clear()

    def of(self, path: str = "", method: str = "") -> list[Exchange]:
        """Return the exchanges whose path and query contain a text."""
        with self._lock:
            known = list(self._exchanges)
        return [e for e in known if path in e.path and method in {"", e.method}]

    def byte_count(self, path: str = "") -> int:
        """Return the bytes of bodies that were sent for paths that contain a text."""
        return sum(exchange.byte_count for exchange in self.of(path))
