"""Two-level store of uploaded files: memory in front of Redis."""

from __future__ import annotations

from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.core.interfaces import StoreCounts
from onnxplain_server.core.request import RequestFile


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
