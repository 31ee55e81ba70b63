"""Two-level storage: this process's memory in front of Redis, which all replicas share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile

from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.core.interfaces import CacheCounts, GoOn, StoreCounts, Values
from onnxplain_server.core.request import RequestFile


class LayeredCache:
    """`Cache` that reads from Redis only the values that memory lacks.

    Parameters
    ----------
    front : MemoryCache
    back : RedisCache
    """

    def __init__(self, front: MemoryCache, back: RedisCache) -> None:
        self._front = front
        self._back = back

    def get_many(self, names: Sequence[str], go_on: GoOn = lambda _bytes: True) -> Values:
        """Return values from memory, the missing ones from Redis; see `Cache.get_many`."""
        values = dict(zip(names, self._front.get_many(names, go_on), strict=False))
        missing = [name for name, value in values.items() if value is None]
        if missing:
            size = sum(len(value or b"") for value in values.values())
            replies = self._back.get_many(missing, lambda fetched: go_on(size + fetched))
            found = dict(zip(missing, replies, strict=False))
            self._front.put_many({n: value for n, value in found.items() if value is not None})
            for name in missing:
                del values[name]  # it may not have been read
            values |= found
        return [values[name] for name in takewhile(values.__contains__, names)]

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Store values in both."""
        self._front.put_many(entries)
        self._back.put_many(entries)

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """Elect a leader in this process, who then competes for the lease in Redis."""
        with self._front.single_flight(name, keep_waiting) as is_leader:
            if not is_leader:
                yield False
                return
            with self._back.single_flight(name, keep_waiting) as has_lease:
                yield has_lease

    def counts(self) -> CacheCounts:
        """Return the counts so far: a value in either level is a hit, in neither a miss."""
        front, back = self._front.counts(), self._back.counts()
        return CacheCounts(
            front.hit_count + back.hit_count,
            back.miss_count,
            front.error_count + back.error_count,
            front.byte_count,
            front.coalesced_count + back.coalesced_count,
        )


class LayeredBlobs:
    """`BlobStore` that falls back to this process's memory while Redis fails.

    Parameters
    ----------
    front : MemoryBlobs
    back : RedisBlobs
    """

    def __init__(self, front: MemoryBlobs, back: RedisBlobs) -> None:
        self.byte_limit = front.byte_limit
        self._front = front
        self._back = back

    def get(self, name: str) -> RequestFile | None:
        """Return a file from memory, else from Redis; None where neither has it."""
        blob = self._front.get(name)
        if blob is None and (blob := self._back.get(name)) is not None:
            self._front.put(name, blob)
        return blob

    def put(self, name: str, blob: RequestFile) -> None:
        """Store a file in both."""
        self._front.put(name, blob)
        self._back.put(name, blob)

    def counts(self) -> StoreCounts:
        """Return the statistics of the memory."""
        return self._front.counts()
