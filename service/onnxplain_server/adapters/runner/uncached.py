"""Surroundings without a cache, for numbers that hold for one computation only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from onnxplain_server.core.interfaces import Host


class UncachedHost:
    """A `Host` that passes on the progress, finds nothing, and keeps nothing."""

    def __init__(self, host: Host) -> None:
        self.advance = host.advance

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """See `Host.single_flight`; nobody would find what was computed, so nobody waits."""
        return nullcontext(True)

    def recall(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `Host.recall`."""
        return [None] * len(names)

    def remember(self, entries: Mapping[str, bytes]) -> None:
        """See `Host.remember`."""
