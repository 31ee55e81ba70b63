"""Cache of numbers in Redis, shared by all replicas: signed values in bounded commands."""

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
from onnxplain_server.adapters.storage.signing import SIGNATURE_BYTES, Signer
from onnxplain_server.core.interfaces import CacheCounts, GoOn, Values

VALUE_BYTES = 2**20
"""Larger values are not stored: Redis serves one command at a time."""

# Bounds of one command, which must end within the timeout of 0.25 s on a busy machine too:
# fetching 8 MiB takes about 40 ms on an idle one. How large values are shows at the first ones, as
# those of a request are of few lengths: later commands have twice the names where they are small.
_FIRST_NAMES, _MOST_NAMES = 8, 16
_FETCHED_BYTES = _FIRST_NAMES * VALUE_BYTES
_BYTES_PER_COMMAND = VALUE_BYTES


class RedisCache:
    """`Cache` in Redis; any failure of it only means that numbers are computed again.

    Parameters
    ----------
    connection : RedisConnection
    signer : Signer
        Values with an invalid signature are deleted, counted as errors, and absent.
    seconds : float
        Time to live of a value.
    """

    def __init__(self, connection: RedisConnection, signer: Signer, seconds: float) -> None:
        self._connection = connection
        self._leases = Leases(connection)
        self._signer = signer
        self._milliseconds = round(1000 * seconds)
        self._lock = threading.Lock()
        self._hit_count = self._miss_count = self._error_count = 0

    def get_many(self, names: Sequence[str], go_on: GoOn = lambda _bytes: True) -> Values:
        """Return verified values, in commands of bounded size; see `Cache.get_many`."""
        signed: list[bytes | None] = []
        size, largest, count = 0, 1, _FIRST_NAMES
        while len(signed) < len(names) and (not signed or go_on(size)):
            fetched = self._fetch(names[len(signed) : len(signed) + count])
            lengths = [len(value or b"") for value in fetched]
            size, largest = size + sum(lengths), max(largest, *lengths)
            count = min(_MOST_NAMES, _FETCHED_BYTES // largest)
            signed += fetched
        payloads, invalid = self._signer.verify_many(names[: len(signed)], signed)
        if invalid:
            self._delete(invalid)
        hit_count = sum(payload is not None for payload in payloads)
        self._count(hit_count, len(payloads) - hit_count - len(invalid), len(invalid))
        return payloads

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Sign and store values, in batches; those above `VALUE_BYTES` are dropped."""
        for batch in _batches(self._signer, entries):
            self._store(batch)

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """Compete for the lease of a name; see `Leases`."""
        return self._leases.single_flight(name, keep_waiting)

    def counts(self) -> CacheCounts:
        """Return the counts of this process so far; the bytes are in Redis, not here."""
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
        def command(redis: Redis) -> list[Exception]:
            pipeline = redis.pipeline(transaction=False)
            for name, signed in batch.items():
                pipeline.set(_key(name), signed, px=self._milliseconds)
            replies = pipeline.execute(raise_on_error=False)
            # A full Redis refuses each value by itself.
            return [reply for reply in replies if isinstance(reply, Exception)]

        try:
            refusals = self._connection.ask(command)
            self._connection.count_refusals(*refusals)
            self._count(errors=len(refusals))
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
    """Sign the values small enough to be stored, in batches of bounded size."""
    batch: dict[str, bytes] = {}
    size = 0
    for name, value in entries.items():
        if len(value) + SIGNATURE_BYTES > VALUE_BYTES:
            continue
        signed = signer.sign(name, value)
        if batch and size + len(signed) > _BYTES_PER_COMMAND:
            yield batch
            batch, size = {}, 0
        batch[name] = signed
        size += len(signed)
    if batch:
        yield batch


def _key(name: str) -> str:
    return f"{KEYS}cache:{hashlib.sha256(name.encode()).hexdigest()}"
