"""Uploaded files in Redis, and those that were used lately in memory."""

from __future__ import annotations

from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.core.interfaces import Blob


class LayeredBlobs:
    """A `BlobStore` that works within this process where Redis does not.

    Parameters
    ----------
    front : MemoryBlobs
    back : RedisBlobs
    """

    def __init__(self, front: MemoryBlobs, back: RedisBlobs) -> None:
        self.byte_limit = front.byte_limit
        self._front = front
        self._back = back

    def get(self, name: str) -> Blob | None:
        """See `BlobStore.get`."""
        found = self._front.get(name)
        if found is None and (found := self._back.get(name)) is not None:
            self._front.put(name, found)
        return found

    def put(self, name: str, blob: Blob) -> None:
        """See `BlobStore.put`."""
        self._front.put(name, blob)
        self._back.put(name, blob)
