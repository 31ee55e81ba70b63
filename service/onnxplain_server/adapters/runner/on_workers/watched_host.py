"""Host of a request that can be asked at any time whether the request goes on."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from onnxplain_server.core.interfaces import ComputationHost


class WatchedHost:
    """`ComputationHost` that passes all on, and remembers the progress. Thread-safe.

    Parameters
    ----------
    host : ComputationHost
    """

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._progress = (0.0, 0.0)

    def advance(self, done: float, planned: float) -> None:
        """Report progress; see `ComputationHost.advance`."""
        with self._lock:
            self._progress = done, planned
        self._host.advance(done, planned)

    def check(self) -> None:
        """Raise where the request is cancelled or past its deadline."""
        with self._lock:
            progress = self._progress
        self._host.advance(*progress)

    def single_flight(self, name: str) -> AbstractContextManager[bool]:
        """See `ComputationHost.single_flight`."""
        return self._host.single_flight(name)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `ComputationHost.cache_get`."""
        return self._host.cache_get(names)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """See `ComputationHost.cache_put`."""
        self._host.cache_put(entries)
