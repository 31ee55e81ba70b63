"""A small fast cache in front of a large shared one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.core.interfaces import CacheCounts


class LayeredCache:
    """A `Cache` that asks Redis only for what this process does not hold.

    Parameters
    ----------
    front : MemoryCache
    back : RedisCache
    """

    def __init__(self, front: MemoryCache, back: RedisCache) -> None:
        self._front = front
        self._back = back

    def get_many(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `Cache.get_many`."""
        found = dict(zip(names, self._front.get_many(names), strict=True))
        missing = [name for name, value in found.items() if value is None]
        if missing:
            fetched = zip(missing, self._back.get_many(missing), strict=True)
            more = {name: value for name, value in fetched if value is not None}
            self._front.put_many(more)
            found |= more
        return [found[name] for name in names]

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """See `Cache.put_many`."""
        self._front.put_many(entries)
        self._back.put_many(entries)

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """See `Cache.single_flight`: of this process, one asker at a time asks Redis."""
        with self._front.single_flight(name, keep_waiting) as first:
            if not first:
                yield False
                return
            with self._back.single_flight(name, keep_waiting) as first_of_all:
                yield first_of_all

    def counts(self) -> CacheCounts:
        """Return what happened so far: a number found in either is a hit, in neither a miss."""
        front, back = self._front.counts(), self._back.counts()
        return CacheCounts(
            front.hit_count + back.hit_count,
            back.miss_count,
            front.error_count + back.error_count,
            front.byte_count,
            front.coalesced_count + back.coalesced_count,
        )
