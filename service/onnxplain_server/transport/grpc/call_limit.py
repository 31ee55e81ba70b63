"""Limit of calls that hold a thread without a ticket of the scheduler, in all and by caller."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import ExplainError, Reason


class CallLimit:
    """Limit of calls at the same time; thread-safe.

    Parameters
    ----------
    count : int
        Calls of all callers.
    caller_count : int
        Calls of one.
    """

    def __init__(self, count: int, caller_count: int) -> None:
        self._count, self._caller_count = count, caller_count
        self._lock = threading.Lock()
        self._held = Counter[Hashable]()

    @contextmanager
    def held(self, caller_key: Hashable) -> Iterator[None]:
        """Count a call of a caller; OVERLOADED where there are too many."""
        with self._lock:
            is_full = self._held.total() >= self._count
            if is_full or self._held[caller_key] >= self._caller_count:
                message = "too many calls of this kind wait for their messages; ask again later"
                raise ExplainError(Reason.OVERLOADED, message)
            self._held[caller_key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[caller_key] -= 1
                if not self._held[caller_key]:
                    del self._held[caller_key]
