"""Cached numbers in Redis, shared by all replicas."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from redis import Redis

from onnxplain_server.adapters.storage.redis_connection import (
    KEYS,
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.redis_lease import Leases
from onnxplain_server.adapters.storage.redis_replies import values
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import CacheCounts

VALUE_BYTES = 2**20
"""Larger values are not stored: Redis serves one command at a time."""

# In one command, which must be over in a quarter of a second on a busy machine too: 8 MiB to
# fetch, at most, take about 40 ms on an idle one.
_NAMES_AT_ONCE = 8
_BYTES_AT_ONCE = VALUE_BYTES


class RedisCache:
    """A `Cache` in Redis: whatever is wrong with it, a number is only recomputed.

    Parameters
    ----------
    connection : RedisConnection
    signer : Signer
        Values that it does not open are deleted, counted as errors, and absent.
    seconds : float
        How long a value is kept.
    """

    def __init__(self, connection: RedisConnection, signer: Signer, seconds: float) -> None:
        self._connection = connection
        self._leases = Leases(connection)
        self._signer = signer
        self._milliseconds = round(1000 * seconds)
        self._lock = threading.Lock()
        self._hit_count = self._miss_count = self._error_count = 0

    def get_many(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `Cache.get_many`."""
        opened: list[bytes | None] = []
        broken: list[str] = []
        for start in range(0, len(names), _NAMES_AT_ONCE):
            part = names[start : start + _NAMES_AT_ONCE]
            for name, sealed in zip(part, self._fetch(part), strict=True):
                payload = None if sealed is None else self._signer.verify(name, sealed)
                opened.append(payload)
                if sealed is not None and payload is None:
                    broken.append(name)
        if broken:
            self._delete(broken)
        hit_count = sum(payload is not None for payload in opened)
        self._count(hit_count, len(opened) - hit_count - len(broken), len(broken))
        return opened

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """See `Cache.put_many`."""
        for batch in _batches(self._signer, entries):
            self._store(batch)

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """See `Cache.single_flight`."""
        return self._leases.single_flight(name, keep_waiting)

    def counts(self) -> CacheCounts:
        """Return what happened so far in this process; bytes are Redis' own affair."""
        with self._lock:
            return CacheCounts(
                self._hit_count,
                self._miss_count,
                self._error_count,
                0,
                self._leases.coalesced_count,
            )

    def _fetch(self, names: Sequence[str]) -> Sequence[bytes | None]:
        keys = [_key(name) for name in names]
        try:
            return self._connection.ask(lambda redis: values(redis.mget(keys), len(keys)))
        except RedisUnavailableError:
            self._count(errors=1)
            return [None] * len(names)

    def _store(self, batch: Mapping[str, bytes]) -> None:
        def command(redis: Redis) -> int:
            pipeline = redis.pipeline(transaction=False)
            for name, sealed in batch.items():
                pipeline.set(_key(name), sealed, px=self._milliseconds)
            replies = pipeline.execute(raise_on_error=False)
            # Redis that is full refuses each value by itself.
            return sum(isinstance(reply, Exception) for reply in replies)

        try:
            self._count(errors=self._connection.ask(command))
        except RedisUnavailableError:
            self._count(errors=1)

    def _delete(self, names: Sequence[str]) -> None:
        keys = [_key(name) for name in names]
        try:
            self._connection.ask(lambda redis: redis.delete(*keys))
        except RedisUnavailableError:
            self._count(errors=1)

    def _count(self, hits: int = 0, misses: int = 0, errors: int = 0) -> None:
        with self._lock:
            self._hit_count += hits
            self._miss_count += misses
            self._error_count += errors


def _batches(signer: Signer, entries: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Seal what is small enough to be stored, and pack it into commands of bounded size."""
    batch: dict[str, bytes] = {}
    size = 0
    for name, value in entries.items():
        if len(sealed := signer.sign(name, value)) > VALUE_BYTES:
            continue
        if batch and size + len(sealed) > _BYTES_AT_ONCE:
            yield batch
            batch, size = {}, 0
        batch[name] = sealed
        size += len(sealed)
    if batch:
        yield batch


def _key(name: str) -> str:
    return f"{KEYS}cache:{hashlib.sha256(name.encode()).hexdigest()}"
