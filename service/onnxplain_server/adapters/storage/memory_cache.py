"""Cached numbers in memory: the least recently used go first."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from cachetools import LRUCache

from onnxplain_server.adapters.runner.single_flight import SingleFlight
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import CacheCounts

# What Python and the cache hold for an entry besides its value, measured.
_ENTRY_BYTES = 400


class MemoryCache:
    """A `Cache` of this process, bounded in bytes; safe for threads.

    Parameters
    ----------
    byte_limit : int
        For values and what holding them takes. 0 keeps nothing.
    signer : Signer
        Values that it does not open are deleted, counted as errors, and absent.
    """

    def __init__(self, byte_limit: int, signer: Signer) -> None:
        self._values: LRUCache[bytes, bytes] = LRUCache(byte_limit, getsizeof=_size)
        self._works = SingleFlight()
        self._signer = signer
        self._lock = threading.Lock()
        self._hit_count = self._miss_count = self._error_count = 0

    def get_many(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `Cache.get_many`."""
        with self._lock:
            found = [self._values.get(_key(name)) for name in names]
        opened = [
            None if sealed is None else self._signer.verify(name, sealed)
            for name, sealed in zip(names, found, strict=True)
        ]
        broken = [
            name
            for name, sealed, payload in zip(names, found, opened, strict=True)
            if sealed is not None and payload is None
        ]
        self._count(opened, broken)
        return opened

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """See `Cache.put_many`."""
        sealed = {
            name: self._signer.sign(name, value)
            for name, value in entries.items()
            if _size(value) <= self._values.maxsize
        }
        with self._lock:
            for name, value in sealed.items():
                if _size(value) <= self._values.maxsize:
                    self._values[_key(name)] = value

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """See `Cache.single_flight`; a cache of size 0 has no result to share."""
        if not self._values.maxsize:
            return nullcontext(True)
        return self._works.single_flight(name, keep_waiting)

    def counts(self) -> CacheCounts:
        """Return what happened so far."""
        with self._lock:
            return CacheCounts(
                self._hit_count,
                self._miss_count,
                self._error_count,
                int(self._values.currsize),
                self._works.coalesced_count,
            )

    def _count(self, opened: Sequence[bytes | None], broken: Sequence[str]) -> None:
        with self._lock:
            for name in broken:
                self._values.pop(_key(name), None)
            hit_count = sum(payload is not None for payload in opened)
            self._hit_count += hit_count
            self._error_count += len(broken)
            self._miss_count += len(opened) - hit_count - len(broken)


def _size(value: bytes) -> int:
    return len(value) + _ENTRY_BYTES


def _key(name: str) -> bytes:
    """Shorten a name, so that long ones cost no more than others."""
    return hashlib.sha256(name.encode()).digest()
