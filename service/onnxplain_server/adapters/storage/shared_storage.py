"""Shared storage of replicas in one Redis: cache, uploaded files, operations and quotas."""

from __future__ import annotations

from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.adapters.storage.layered_storage import LayeredBlobs, LayeredCache
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import TIMEOUT_SECONDS, RedisConnection
from onnxplain_server.adapters.storage.redis_health import RedisHealth
from onnxplain_server.adapters.storage.redis_quotas import RedisQuotas
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.operations import OperationLimits

# Nothing can stand in for an operation: it waits longer than for a cached number, and tries more
# often.
_OPERATION_TIMEOUT = 2.0
_OPERATION_PAUSE = 1.0


class SharedStorage:
    """Factory of storage in Redis; that of cache and uploads is its second level.

    Parameters
    ----------
    url : str
        Address of Redis.
    secret : bytes
        Signs values; the same for all replicas.

    Attributes
    ----------
    health : RedisHealth
        Of all its connections.

    Raises
    ------
    ValueError
        For an invalid URL.
    """

    def __init__(self, url: str, secret: bytes) -> None:
        self._url = url
        self._secret = secret
        self.health = RedisHealth(url)
        self._connection = RedisConnection(url, None, TIMEOUT_SECONDS, self.health)
        self._signer = Signer(secret)

    def cache(self, front: MemoryCache, seconds: float) -> LayeredCache:
        """Build a cache; `seconds` is the time to live in Redis."""
        return LayeredCache(front, RedisCache(self._connection, self._signer, seconds))

    def blobs(self, front: MemoryBlobs, seconds: float) -> LayeredBlobs:
        """Build a store of uploaded files, with the same byte limit in Redis as in memory."""
        back = RedisBlobs(self._connection, self._signer, front.byte_limit, seconds)
        return LayeredBlobs(front, back)

    def quotas(self) -> RedisQuotas:
        """Build a store of quotas, with one of this process behind it."""
        return RedisQuotas(self._connection, MemoryQuotas())

    def operations(self, limits: OperationLimits) -> RedisOperations:
        """Build a store of operations, on a connection of its own."""
        breaker = CircuitBreaker(_OPERATION_PAUSE)
        connection = RedisConnection(self._url, breaker, _OPERATION_TIMEOUT, self.health)
        return RedisOperations(connection, self._secret, limits)
