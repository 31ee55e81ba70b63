"""Host without a cache, for inconsistent models: their numbers hold for one computation only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from onnxplain_server.core.interfaces import ComputationHost


class UncachedHost:
    """`ComputationHost` that reports progress, and caches nothing."""

    def __init__(self, host: ComputationHost) -> None:
        self.advance = host.advance

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Never wait: without a cache, nobody finds the result of another."""
        return nullcontext(True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return None for each name."""
        return [None] * len(names)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Drop the entries."""
