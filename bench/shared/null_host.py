"""Null host: no cache, no progress, no results but answers, so that only computation is timed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext


class NullHost:
    """Implements `AnswerHost`."""

    def advance(self, done: float, planned: float) -> None: ...

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        return [None] * len(names)

    def cache_put(self, entries: object) -> None: ...

    def publish(self, part: bytes) -> None: ...

    def write_table(self, _parts: Iterable[bytes]) -> None:
        """Refuse: nothing is written."""
        raise NotImplementedError

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(True)
