"""In-memory cache of numbers with LRU eviction; values are signed even here."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from cachetools import LRUCache

from onnxplain_server.adapters.runner.single_flight import SingleFlight
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import CacheCounts, GoOn, Values

# Measured overhead of an entry besides its value.
_ENTRY_BYTES = 400

_NAMES_PER_BATCH, _BYTES_PER_BATCH = 64, 2**19


class MemoryCache:
    """`Cache` of this process, bounded in bytes; safe for threads.

    Parameters
    ----------
    byte_limit : int
        For values with their overhead. 0 disables the cache.
    signer : Signer
        Values with an invalid signature are deleted, counted as errors, and absent.
    """

    def __init__(self, byte_limit: int, signer: Signer) -> None:
        self._values: LRUCache[bytes, bytes] = LRUCache(byte_limit, getsizeof=_size)
        self._flights = SingleFlight()
        self._signer = signer
        self._lock = threading.Lock()
        self._hit_count = self._miss_count = self._error_count = 0

    def get_many(self, names: Sequence[str], go_on: GoOn = lambda _bytes: True) -> Values:
        """Return verified values, which are copies; see `Cache.get_many`."""
        values: list[bytes | None] = []
        size = 0
        while len(values) < len(names) and (not values or go_on(size)):
            signed = self._batch(names[len(values) : len(values) + _NAMES_PER_BATCH])
            batch = names[len(values) : len(values) + len(signed)]
            payloads, invalid = self._signer.verify_many(batch, signed)
            self._count(payloads, invalid)
            size += sum(len(payload or b"") for payload in payloads)
            values += payloads
        return values

    def _batch(self, names: Sequence[str]) -> list[bytes | None]:
        """Return signed values of the first names, until they are many bytes."""
        signed: list[bytes | None] = []
        size = 0
        with self._lock:
            for name in names:
                signed.append(self._values.get(_key(name)))
                size += len(signed[-1] or b"")
                if size >= _BYTES_PER_BATCH:
                    break
        return signed

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Sign and store values; those above the limit are dropped."""
        signed = {
            name: self._signer.sign(name, value)
            for name, value in entries.items()
            if _size(value) <= self._values.maxsize
        }
        with self._lock:
            for name, value in signed.items():
                if _size(value) <= self._values.maxsize:
                    self._values[_key(name)] = value

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """Elect one leader per name; without a cache, everybody computes."""
        if not self._values.maxsize:
            return nullcontext(True)
        return self._flights.single_flight(name, keep_waiting)

    def counts(self) -> CacheCounts:
        """Return the counts so far."""
        with self._lock:
            return CacheCounts(
                self._hit_count,
                self._miss_count,
                self._error_count,
                int(self._values.currsize),
                self._flights.coalesced_count,
            )

    def _count(self, payloads: Sequence[bytes | None], invalid: Sequence[str]) -> None:
        with self._lock:
            for name in invalid:
                self._values.pop(_key(name), None)
            hit_count = sum(payload is not None for payload in payloads)
            self._hit_count += hit_count
            self._error_count += len(invalid)
            self._miss_count += len(payloads) - hit_count - len(invalid)


def _size(value: bytes) -> int:
    return len(value) + _ENTRY_BYTES


def _key(name: str) -> bytes:
    """Hash a name to a fixed length."""
    return hashlib.sha256(name.encode()).digest()
