"""Quotas in Redis, shared by all servers; each server alone counts on where Redis fails."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from redis import Redis

from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.adapters.storage.redis_connection import (
    KEYS,
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.redis_replies import DamagedReplyError
from onnxplain_server.core.quotas import (
    BUCKET_COUNT,
    BUCKET_SECONDS,
    Reservation,
    Shortage,
    shortage,
)

LOG = logging.getLogger(__name__)

_Reply = TypeVar("_Reply")

_LIFE_SECONDS = (BUCKET_COUNT + 2) * BUCKET_SECONDS

# Not the library `limits`: its moving window stores an entry for each unit, here for each row, and
# none of its windows takes back what was reserved.
#
# The time is that of Redis, so servers need no common clock. Amounts are below 2^53.
_WINDOW = f"""
local now = redis.call('TIME')
local bucket = math.floor(tonumber(now[1]) / {BUCKET_SECONDS})
local fields = redis.call('HGETALL', KEYS[1])
local used = 0
for i = 1, #fields, 2 do
  if tonumber(fields[i]) < bucket - {BUCKET_COUNT} then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    used = used + tonumber(fields[i + 1])
  end
end
local function add(field, amount)
  redis.call('HINCRBY', KEYS[1], field, string.format('%.0f', amount))
  redis.call('EXPIRE', KEYS[1], {_LIFE_SECONDS})
end
"""

_RESERVE = (
    _WINDOW
    + """
if used + tonumber(ARGV[1]) > tonumber(ARGV[2]) then
  return {0, now[1], redis.call('HGETALL', KEYS[1])}
end
add(bucket, tonumber(ARGV[1]))
return {1, tostring(bucket), {}}
"""
)

_SETTLE = (
    _WINDOW
    + """
if ARGV[2] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  add(ARGV[2], 0 - tonumber(ARGV[3])) -- -0 is no integer to Redis
end
add(bucket, tonumber(ARGV[1]))
return 1
"""
)

_USED = _WINDOW + "return string.format('%.0f', used)"


class RedisQuotas:
    """`QuotaStore` in Redis, with that of this process behind it.

    While Redis does not answer, each server enforces the limit on what it has seen itself, so
    callers may use up to as many times the quota as there are servers.

    Parameters
    ----------
    connection : RedisConnection
    own : MemoryQuotas
        Counts everything that this server does.

    """

    def __init__(self, connection: RedisConnection, own: MemoryQuotas) -> None:
        self._error_count = 0
        self._connection = connection
        self._own = own
        self._is_alone = False
        self._lock = threading.Lock()

    @property
    def error_count(self) -> int:
        """Number of commands that failed."""
        return self._error_count

    def reserve(self, key: str, amount: int, limit: int) -> Reservation | Shortage:
        """See `QuotaStore.reserve`."""
        reply = self._ask(lambda redis: _reserve(redis, key, amount, limit))
        if reply is None:
            return self._own.reserve(key, amount, limit)
        if isinstance(reply, Reservation):
            self._own.force(key, amount)
        return reply

    def settle(self, key: str, reservation: Reservation | None, used: int) -> None:
        """See `QuotaStore.settle`."""
        self._own.settle(key, reservation, used)
        shared = reservation if reservation is not None and reservation.is_shared else None
        bucket, amount = ("", 0) if shared is None else (str(shared.bucket), shared.amount)
        self._ask(lambda redis: redis.eval(_SETTLE, 1, _key(key), used, bucket, amount))

    def used(self, key: str) -> int:
        """See `QuotaStore.used`."""
        reply = self._ask(lambda redis: _count(redis.eval(_USED, 1, _key(key))))
        return self._own.used(key) if reply is None else reply

    def _ask(self, command: Callable[[Redis], _Reply]) -> _Reply | None:
        """Run a command; None where Redis fails."""
        try:
            reply = self._connection.ask(command)
        except RedisUnavailableError as error:
            self._fail(error)
            return None
        with self._lock:
            self._is_alone = False
        return reply

    def _fail(self, error: RedisUnavailableError) -> None:
        with self._lock:
            self._error_count += 1
            is_first, self._is_alone = not self._is_alone, True
        if is_first:
            LOG.warning("quotas count what this server does alone, until Redis answers: %s", error)


def _reserve(redis: Redis, key: str, amount: int, limit: int) -> Reservation | Shortage:
    match redis.eval(_RESERVE, 1, _key(key), amount, limit):
        case [1, bytes() as bucket, _]:
            return Reservation(amount, _count(bucket), is_shared=True)
        case [0, bytes() as seconds, list() as fields]:
            # At the start of this second; the rest of it makes the wait a little longer.
            now = float(_count(seconds))
            return shortage(_buckets(fields), amount, limit, now) or Shortage(limit, 1.0)
        case _:
            raise DamagedReplyError("no answer of the script")


def _buckets(fields: Sequence[object]) -> dict[int, int]:
    if len(fields) % 2:
        raise DamagedReplyError("a field without a value")
    counts = [_count(field) for field in fields]
    return dict(zip(counts[::2], counts[1::2], strict=True))


def _count(reply: object) -> int:
    try:
        return int(reply) if isinstance(reply, bytes) else int(f"no {type(reply).__name__}")
    except ValueError:
        raise DamagedReplyError("no number") from None


def _key(name: str) -> str:
    return f"{KEYS}quota:{hashlib.sha256(name.encode()).hexdigest()}"
