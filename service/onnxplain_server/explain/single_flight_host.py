"""Single-flight on the first cache miss: equal work of several requests runs once.

Work whose numbers are all cached never waits for others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from onnxplain_server.core.interfaces import ComputationHost


class SingleFlightHost:
    """`ComputationHost` that enters the single flight only when a number is not cached.

    Safe for several threads.

    Parameters
    ----------
    host : ComputationHost
    """

    def __init__(self, host: ComputationHost) -> None:
        self.advance = host.advance
        self.single_flight = host.single_flight
        self.cache_put = host.cache_put
        self._host = host
        self._lock = threading.Lock()
        self._enter: Callable[[], object] | None = None

    @contextmanager
    def deduplicate(self, key: Callable[[], str]) -> Iterator[None]:
        """Run a piece of work, one at a time; `key` returns its single-flight key."""
        with ExitStack() as stack:
            self._enter = lambda: stack.enter_context(self._host.single_flight(key()))
            try:
                yield
            finally:
                self._enter = None

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Get cached numbers; if some are missing, enter the single flight and look again."""
        cached = self._host.cache_get(names)
        with self._lock:
            if None not in cached or self._enter is None:
                return cached
            enter, self._enter = self._enter, None
            enter()
        missing = [name for name, value in zip(names, cached, strict=True) if value is None]
        values = iter(self._host.cache_get(missing))
        return [next(values) if value is None else value for value in cached]
