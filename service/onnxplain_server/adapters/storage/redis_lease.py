"""Single-flight across replicas: a lease in Redis lets one of several equal requests compute."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto

from redis import Redis, ResponseError

from onnxplain_server.adapters.storage.redis_connection import (
    KEYS,
    RedisConnection,
    RedisUnavailableError,
)

LEASE_SECONDS = 10.0

_DONE = b"done"
# Time to live of the mark "done"; longer than the poll interval of waiters.
_DONE_MILLISECONDS = 1_000
_POLL_SECONDS = 0.1

# Compare-and-delete: the holder may have lost the lease to another replica since.
_RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""

# Every lease has a time to live, the same on all replicas: one without (-1), or with a longer one,
# was overwritten, and nobody renews or releases it. A script, so that one waiter takes it over.
_TAKE_OVER = """
local left = redis.call('PTTL', KEYS[1])
if left ~= -1 and left <= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""


class _State(Enum):
    """State of a lease, as one attempt to acquire it shows."""

    OURS = auto()
    TAKEN = auto()
    DONE = auto()
    UNKNOWN = auto()


class Leases:
    """Leases on computations, by name, among all replicas.

    A lease only saves work: after the loss of one, or of Redis, the same
    numbers are computed twice, but never missed. The lease of a holder that
    was killed or frozen expires; one that was overwritten without a time to
    live, or with a longer one than leases have, is taken over at once.

    Parameters
    ----------
    connection : RedisConnection
    seconds : float
        Time to live of a lease that is not renewed.

    Attributes
    ----------
    coalesced_count : int
        Computations skipped because another replica completed them meanwhile.
    """

    def __init__(self, connection: RedisConnection, seconds: float = LEASE_SECONDS) -> None:
        self.coalesced_count = 0
        self._connection = connection
        self._seconds = seconds
        self._lock = threading.Lock()

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """Hold the lease while computing, or wait for its holder; never wait where Redis fails."""
        key, token = _key(name), secrets.token_hex(16)
        if not self._acquire(key, token, keep_waiting):
            yield False
            return
        outcome = b""
        stop = threading.Event()
        renewer = threading.Thread(
            target=self._renew, args=(key, token, stop), name="onnxplain-lease", daemon=True
        )
        renewer.start()
        try:
            yield True
            outcome = _DONE
        finally:
            stop.set()
            self._release(key, token, outcome)

    def _acquire(self, key: str, token: str, keep_waiting: Callable[[], bool]) -> bool:
        """Wait for the lease; return whether to compute as its holder."""
        state = self._try_acquire(key, token)
        while state is _State.TAKEN and keep_waiting():
            time.sleep(_POLL_SECONDS)
            state = self._try_acquire(key, token)
        if state is _State.DONE:
            with self._lock:
                self.coalesced_count += 1
        return state is _State.OURS

    def _try_acquire(self, key: str, token: str) -> _State:
        def command(redis: Redis) -> _State:
            if redis.set(key, token, nx=True, px=self._milliseconds):
                return _State.OURS
            if self._take_over(redis, key, token):
                return _State.OURS
            return _State.DONE if redis.get(key) == _DONE else _State.TAKEN

        try:
            return self._connection.ask(command)
        except RedisUnavailableError:
            return _State.UNKNOWN

    def _take_over(self, redis: Redis, key: str, token: str) -> bool:
        # Where scripts are refused, the wait ends with the patience of the caller.
        try:
            return bool(redis.eval(_TAKE_OVER, 1, key, token, self._milliseconds))
        except ResponseError as error:
            self._connection.count_refusals(error)
            return False

    def _renew(self, key: str, token: str, stop: threading.Event) -> None:
        """Renew the lease until `stop` is set, or the lease is lost."""

        def command(redis: Redis) -> bool:
            ours = redis.get(key) == token.encode()
            # If the lease was lost in between, this extends another's, which does no harm.
            return ours and bool(redis.pexpire(key, self._milliseconds))

        ours = True
        while ours and not stop.wait(self._seconds / 4):
            with suppress(RedisUnavailableError):
                ours = self._connection.ask(command)

    def _release(self, key: str, token: str, outcome: bytes) -> None:
        # Where scripts are refused, or Redis fails, the lease expires.
        with suppress(RedisUnavailableError):
            self._connection.ask(
                lambda redis: redis.eval(_RELEASE, 1, key, token, outcome, _DONE_MILLISECONDS)
            )

    @property
    def _milliseconds(self) -> int:
        return round(1000 * self._seconds)


def _key(name: str) -> str:
    return f"{KEYS}lease:{hashlib.sha256(name.encode()).hexdigest()}"
