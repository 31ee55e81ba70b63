"""Connections that calls share, also those of later requests, while they are in use.

A connection is shared by calls with the same key only: it was made to an address that the policy of
one prefix allows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

IDLE_SECONDS = 60.0
"""Most time without a call: what forwards connections may drop them later without a word."""

_Connections = TypeVar("_Connections")


@dataclass(slots=True)
class _Kept(Generic[_Connections]):
    connections: _Connections
    user_count: int = 0
    used: float = field(default_factory=time.monotonic)


class KeptConnections(Generic[_Connections]):
    """Connections by key; those without a call for a while are closed when others are used.

    Parameters
    ----------
    close : callable (connections) -> None
    """

    def __init__(self, close: Callable[[_Connections], object]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept[_Connections]] = {}

    @contextmanager
    def use(self, key: Hashable, make: Callable[[], _Connections]) -> Iterator[_Connections]:
        """Give the connections of a key, made where there are none, for one call."""
        kept = self._enter(key, None) or self._enter(key, make())
        assert kept is not None  # noqa: S101 - made
        try:
            yield kept.connections
        finally:
            with self._lock:
                kept.user_count -= 1
                kept.used = time.monotonic()

    def drop(self, key: Hashable, connections: _Connections) -> None:
        """Use these no more for further calls."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.connections is connections:
                del self._kept[key]

    def _enter(self, key: Hashable, made: _Connections | None) -> _Kept[_Connections] | None:
        """Return what is kept, or else what was made; None where there is neither."""
        with self._lock:
            idle = self._without_idle()
            kept = self._kept.get(key)
            if kept is None and made is not None:
                kept = self._kept[key] = _Kept(made)
            elif made is not None:
                idle.append(made)
            if kept is not None:
                kept.user_count += 1
        for connections in idle:
            self._close(connections)
        return kept

    def _without_idle(self) -> list[_Connections]:
        """Forget idle connections, and return them."""
        last = time.monotonic() - IDLE_SECONDS
        idle = {
            key: kept
            for key, kept in self._kept.items()
            if not kept.user_count and kept.used < last
        }
        for key in idle:
            del self._kept[key]
        return [kept.connections for kept in idle.values()]
