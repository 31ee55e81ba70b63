"""Uploaded files in memory: those of who holds most go first."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from onnxplain_server.adapters.storage.eviction import owner_of, owner_to_evict
from onnxplain_server.core.interfaces import Blob


@dataclass(slots=True)
class _StoredFile:
    """A file, and when it was used: a number that rises."""

    blob: Blob
    used: int


class MemoryBlobs:
    """A `BlobStore` of this process, bounded in bytes; safe for threads.

    Where room is needed, whoever holds most loses what he did not use for longest.

    Parameters
    ----------
    byte_limit : int
        For all files together. 0 keeps nothing.
    seconds : float
        How long a file is kept.
    clock : callable () -> float
        Seconds; must never go back.
    """

    def __init__(
        self, byte_limit: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.byte_limit = byte_limit
        self._seconds = seconds
        self._clock = clock
        # By owner, those that were used first in front.
        self._files: dict[str, OrderedDict[str, _StoredFile]] = {}
        self._held: Counter[str] = Counter()
        # By name, those that end first in front.
        self._ends: OrderedDict[str, float] = OrderedDict()
        self._uses = itertools.count()
        self._lock = threading.Lock()

    def get(self, name: str) -> Blob | None:
        """See `BlobStore.get`."""
        with self._lock:
            if name not in self._ends or self._ends[name] <= self._clock():
                return None
            files = self._files[owner_of(name)]
            files.move_to_end(name)
            files[name].used = next(self._uses)
            return files[name].blob

    def put(self, name: str, blob: Blob) -> None:
        """See `BlobStore.put`."""
        size, owner = len(blob.content), owner_of(name)
        with self._lock:
            self._expire()
            if size > self.byte_limit:
                return
            if name in self._ends:
                self._remove(name)
            self._make_room(owner, size)
            self._files.setdefault(owner, OrderedDict())[name] = _StoredFile(blob, next(self._uses))
            self._held[owner] += size
            self._ends[name] = self._clock() + self._seconds

    def _expire(self) -> None:
        now = self._clock()
        while self._ends and next(iter(self._ends.values())) <= now:
            self._remove(next(iter(self._ends)))

    def _make_room(self, owner: str, size: int) -> None:
        while self._held.total() + size > self.byte_limit:
            held = self._held + Counter({owner: size})
            oldest = {other: next(iter(f.values())).used for other, f in self._files.items()}
            self._remove(next(iter(self._files[owner_to_evict(held, oldest, owner)])))

    def _remove(self, name: str) -> None:
        owner = owner_of(name)
        self._held[owner] -= len(self._files[owner].pop(name).blob.content)
        del self._ends[name]
        if not self._files[owner]:
            del self._files[owner], self._held[owner]
