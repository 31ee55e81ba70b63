"""One computation where several requests ask the same at once, and no cache has it yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from onnxplain_server.core.interfaces import ComputationHost


class SingleFlightHost:
    """A `ComputationHost` that asks for others at the same work as soon as a number is missing.

    What lies in the cache is had without asking. Safe for several threads.

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
    def work(self, name: Callable[[], str]) -> Iterator[None]:
        """Do a piece of work, one at a time; `name` gives it the name that equal work has."""
        with ExitStack() as stack:
            self._enter = lambda: stack.enter_context(self._host.single_flight(name()))
            try:
                yield
            finally:
                self._enter = None

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Get cached numbers; if some are missing, enter the single flight and look again."""
        found = self._host.cache_get(names)
        with self._lock:
            if None not in found or self._enter is None:
                return found
            enter, self._enter = self._enter, None
            enter()
        return self._host.cache_get(names)
