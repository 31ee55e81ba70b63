"""A host without a cache, for numbers that hold for one computation only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from onnxplain_server.core.interfaces import ComputationHost


class UncachedHost:
    """A `ComputationHost` that passes on the progress, finds nothing, and keeps nothing."""

    def __init__(self, host: ComputationHost) -> None:
        self.advance = host.advance

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Enter at once: without a cache, waiting would save no work."""
        return nullcontext(True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `ComputationHost.cache_get`."""
        return [None] * len(names)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """See `ComputationHost.cache_put`."""
