"""What replicas share: the cache and the uploaded files in one Redis."""

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
    """Puts Redis behind what this process holds.

    Parameters
    ----------
    url : str
        Of Redis.
    secret : bytes
        Known to all that share it.

    Raises
    ------
    ValueError
        Where the URL cannot be used.
    """

    def __init__(self, url: str, secret: bytes) -> None:
        self._connection = RedisConnection(url)
        self._signer = Signer(secret)

    def cache(self, front: MemoryCache, seconds: float) -> LayeredCache:
        """Make a cache whose values Redis keeps for so long."""
        return LayeredCache(front, RedisCache(self._connection, self._signer, seconds))

    def blobs(self, front: MemoryBlobs, seconds: float) -> LayeredBlobs:
        """Make a store of uploaded files, with as much room in Redis as in front of it."""
        back = RedisBlobs(self._connection, self._signer, front.byte_limit, seconds)
        return LayeredBlobs(front, back)
