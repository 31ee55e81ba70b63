"""In-memory store of uploaded files, evicted from the owner with most bytes."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from onnxplain_server.adapters.storage.eviction import owner_of, owner_to_evict
from onnxplain_server.core.interfaces import StoreCounts
from onnxplain_server.core.request import RequestFile


@dataclass(slots=True)
class _StoredFile:
    """File with its last use: a counter that only grows."""

    blob: RequestFile
    last_use: int


class MemoryBlobs:
    """`BlobStore` of this process, bounded in bytes; safe for threads.

    Eviction takes the least recently used file of the owner with most bytes.

    Parameters
    ----------
    byte_limit : int
        For all files together. 0 keeps nothing.
    seconds : float
        Time to live of a file.
    clock : callable () -> float
        Monotonic, in seconds.
    """

    def __init__(
        self, byte_limit: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.byte_limit = byte_limit
        self._seconds = seconds
        self._clock = clock
        # By owner, in LRU order.
        self._files: dict[str, OrderedDict[str, _StoredFile]] = {}
        self._byte_counts: Counter[str] = Counter()
        # By name, in order of expiry.
        self._expiry: OrderedDict[str, float] = OrderedDict()
        self._uses = itertools.count()
        self._lock = threading.Lock()

    def get(self, name: str) -> RequestFile | None:
        """Return a file, and mark it as used; None where it expired or never was."""
        with self._lock:
            if name not in self._expiry or self._expiry[name] <= self._clock():
                return None
            files = self._files[owner_of(name)]
            files.move_to_end(name)
            files[name].last_use = next(self._uses)
            return files[name].blob

    def put(self, name: str, blob: RequestFile) -> None:
        """Store a file, and evict others to fit; a file above the limit is dropped."""
        size, owner = len(blob.content), owner_of(name)
        with self._lock:
            self._expire()
            if size > self.byte_limit:
                return
            if name in self._expiry:
                self._remove(name)
            self._make_room(owner, size)
            self._files.setdefault(owner, OrderedDict())[name] = _StoredFile(blob, next(self._uses))
            self._byte_counts[owner] += size
            self._expiry[name] = self._clock() + self._seconds

    def counts(self) -> StoreCounts:
        """Return the statistics, without files that have expired."""
        with self._lock:
            self._expire()
            return StoreCounts(len(self._expiry), self._byte_counts.total())

    def _expire(self) -> None:
        now = self._clock()
        while self._expiry and next(iter(self._expiry.values())) <= now:
            self._remove(next(iter(self._expiry)))

    def _make_room(self, owner: str, size: int) -> None:
        while self._byte_counts.total() + size > self.byte_limit:
            byte_counts = self._byte_counts + Counter({owner: size})
            oldest = {
                name: next(iter(files.values())).last_use for name, files in self._files.items()
            }
            self._remove(next(iter(self._files[owner_to_evict(byte_counts, oldest, owner)])))

    def _remove(self, name: str) -> None:
        owner = owner_of(name)
        self._byte_counts[owner] -= len(self._files[owner].pop(name).blob.content)
        del self._expiry[name]
        if not self._files[owner]:
            del self._files[owner], self._byte_counts[owner]
