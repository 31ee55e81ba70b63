"""Null host: no cache, no progress, so that only the computation is timed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext


class NullHost:
    """Implements `ComputationHost`."""

    def advance(self, done: float, planned: float) -> None: ...

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        return [None] * len(names)

    def cache_put(self, entries: object) -> None: ...

    def publish(self, part: bytes) -> None: ...

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(True)
