"""Shared storage of replicas: cache and uploaded files in one Redis, behind each one's memory."""

from __future__ import annotations

from onnxplain_server.adapters.storage.layered_blobs import LayeredBlobs
from onnxplain_server.adapters.storage.layered_cache import LayeredCache
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.signing import Signer


class SharedStorage:
    """Factory of two-level storage with Redis as the second level.

    Parameters
    ----------
    url : str
        Address of Redis.
    secret : bytes
        Signs values; the same for all replicas.

    Raises
    ------
    ValueError
        For an invalid URL.
    """

    def __init__(self, url: str, secret: bytes) -> None:
        self._connection = RedisConnection(url)
        self._signer = Signer(secret)

    def cache(self, front: MemoryCache, seconds: float) -> LayeredCache:
        """Build a cache; `seconds` is the time to live in Redis."""
        return LayeredCache(front, RedisCache(self._connection, self._signer, seconds))

    def blobs(self, front: MemoryBlobs, seconds: float) -> LayeredBlobs:
        """Build a store of uploaded files, with the same byte limit in Redis as in memory."""
        back = RedisBlobs(self._connection, self._signer, front.byte_limit, seconds)
        return LayeredBlobs(front, back)
