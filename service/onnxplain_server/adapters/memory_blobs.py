"""Uploaded files in memory: those that were not used for longest go first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import TTLCache

from onnxplain_server.run import Blob


class MemoryBlobs:
    """A `BlobStore` of this process, bounded in bytes; safe for threads.

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
        self._blobs: TTLCache[str, Blob] = TTLCache(
            byte_limit, seconds, timer=clock, getsizeof=lambda blob: len(blob.content)
        )
        self._lock = threading.Lock()

    def get(self, name: str) -> Blob | None:
        """See `BlobStore.get`."""
        with self._lock:
            return self._blobs.get(name)

    def put(self, name: str, blob: Blob) -> None:
        """See `BlobStore.put`."""
        with self._lock:
            # Takes away what is over its time too, which else would wait for the next use.
            self._blobs.expire()
            if len(blob.content) <= self.byte_limit:
                self._blobs[name] = blob
