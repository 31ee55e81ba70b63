"""Host of a computation on a remote model: caches numbers only while the model is the same."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from onnxplain_server.core.interfaces import ComputationHost

_SECONDS_BETWEEN_CHECKS = 10.0
_REQUEST_BYTES = 64 << 20
"""Of the numbers that a request remembers for itself where nothing may be cached."""


class GuardedHost:
    """`ComputationHost` of a remote model; also its `FetchControl`. Thread-safe.

    Numbers wait here until the model gave its probe rows the answers that it gave before: then all
    that lies between two equal answers goes into the cache. Without an identity, they stay here.

    Parameters
    ----------
    host : ComputationHost

    Attributes
    ----------
    deadline : float
        Monotonic time; infinite where the host does not tell it, but ends the request itself.
    """

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self._lock = threading.RLock()
        self._scope = ""
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0
        self._progress = (0.0, 0.0)
        self._check_model: Callable[[], None] | None = None
        self._next_check = math.inf
        # The host of a transport tells it; that of a worker is ended from outside.
        self.deadline: float = getattr(host, "deadline", math.inf)

    def guard(self, scope: str, check_model: Callable[[], None]) -> None:
        """Cache numbers from here on, under names of a scope.

        Parameters
        ----------
        scope : str
            All that they depend on beside caller and table; empty: nothing is cached.
        check_model : callable
            Raises REMOTE_MODEL_CHANGED.
        """
        self._scope = scope
        self._check_model = check_model
        self._next_check = time.monotonic() + _SECONDS_BETWEEN_CHECKS

    def abandon(self) -> None:
        """Cache nothing that was not cached: its numbers hold for one computation only."""
        with self._lock:
            self._scope, self._check_model = "", None
            self._waiting.clear()

    def advance(self, done: float, planned: float) -> None:
        """Report progress; see `ComputationHost.advance`."""
        self._progress = done, planned
        self._host.advance(done, planned)

    def check(self, _when: str) -> None:
        """Raise ExplainError if the request is cancelled or late; see `FetchControl.check`."""
        self._host.advance(*self._progress)

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        """Deduplicate work under the scope; who waited finds what was cached before the end."""
        if not self._scope:
            yield True
            return
        with self._host.single_flight(self._name(name)) as is_first:
            yield is_first
            self.settle()

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return numbers of this request, or else cached ones."""
        with self._lock:
            found = {name: self._waiting.get(name) for name in names}
        missing = [name for name, value in found.items() if value is None]
        if self._scope and missing:
            cached = self._host.cache_get([self._name(name) for name in missing])
            found.update(zip(missing, cached, strict=True))
        return [found[name] for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Keep numbers, which reach the cache with the next check of the model."""
        with self._lock:
            for name, value in entries.items():
                is_kept = self._scope or self._waiting_bytes + len(value) <= _REQUEST_BYTES
                if is_kept:
                    self._waiting_bytes += len(value) - len(self._waiting.get(name, b""))
                    self._waiting[name] = value
            is_due = time.monotonic() >= self._next_check or self._waiting_bytes > _REQUEST_BYTES
        if self._scope and is_due:
            self.settle()

    def settle(self) -> None:
        """Check the model, and cache what was computed before.

        Raises
        ------
        ExplainError
            REMOTE_MODEL_CHANGED; nothing of it is cached then.
        """
        with self._lock:
            waiting = dict(self._waiting)
        if self._check_model is not None:
            self._check_model()
        self._next_check = time.monotonic() + _SECONDS_BETWEEN_CHECKS
        if not self._scope or not waiting:
            return
        self._host.cache_put({self._name(name): value for name, value in waiting.items()})
        with self._lock:
            for name in waiting:
                self._waiting.pop(name, None)
            self._waiting_bytes = sum(map(len, self._waiting.values()))

    def probes_get(self, name: str) -> bytes | None:
        """Return what a request kept of its probe rows."""
        (kept,) = self._host.cache_get([_digest(f"probes\n{name}")])
        return kept

    def probes_put(self, name: str, value: bytes) -> None:
        """Keep the answers to probe rows for later requests."""
        self._host.cache_put({_digest(f"probes\n{name}"): value})

    def _name(self, name: str) -> str:
        return _digest(f"{self._scope}\n{name}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
