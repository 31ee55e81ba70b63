"""One computation where several replicas are asked the same at once."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto

from redis import Redis

from onnxplain_server.adapters.storage.redis_connection import (
    KEYS,
    RedisConnection,
    RedisUnavailableError,
)

LEASE_SECONDS = 10.0

_DONE = b"done"
# How long work is known to be done; longer than a waiter sleeps.
_DONE_MILLISECONDS = 1_000
_POLL_SECONDS = 0.1

# Only the holder may end a lease: it may have lost it to another since.
_END = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""


class _State(Enum):
    OURS = auto()
    TAKEN = auto()
    DONE = auto()
    UNKNOWN = auto()


class Leases:
    """Pieces of work on their way in any replica, by name.

    A lease only saves work: losing one, or Redis, leads to the same numbers
    being computed twice, never to none. One whose holder was killed or frozen
    ends by itself.

    Parameters
    ----------
    connection : RedisConnection
    seconds : float
        Until a lease ends that is not renewed.

    Attributes
    ----------
    coalesced_count : int
        Pieces of work that this process left to another, which did them.
    """

    def __init__(self, connection: RedisConnection, seconds: float = LEASE_SECONDS) -> None:
        self.coalesced_count = 0
        self._connection = connection
        self._seconds = seconds
        self._lock = threading.Lock()

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """See `Cache.single_flight`. Where Redis fails, nobody is waited for."""
        key, token = _key(name), secrets.token_hex(16)
        if not self._take(key, token, keep_waiting):
            yield False
            return
        outcome = b""
        stop = threading.Event()
        keeper = threading.Thread(
            target=self._renew, args=(key, token, stop), name="onnxplain-lease", daemon=True
        )
        keeper.start()
        try:
            yield True
            outcome = _DONE
        finally:
            stop.set()
            self._end(key, token, outcome)

    def _take(self, key: str, token: str, keep_waiting: Callable[[], bool]) -> bool:
        """Wait for the lease, and whether it is ours; not where that cannot be told."""
        state = self._try(key, token)
        while state is _State.TAKEN and keep_waiting():
            time.sleep(_POLL_SECONDS)
            state = self._try(key, token)
        if state is _State.DONE:
            with self._lock:
                self.coalesced_count += 1
        return state is _State.OURS

    def _try(self, key: str, token: str) -> _State:
        def command(redis: Redis) -> _State:
            if redis.set(key, token, nx=True, px=self._milliseconds):
                return _State.OURS
            return _State.DONE if redis.get(key) == _DONE else _State.TAKEN

        try:
            return self._connection.ask(command)
        except RedisUnavailableError:
            return _State.UNKNOWN

    def _renew(self, key: str, token: str, stop: threading.Event) -> None:
        """Prolong the lease until told to stop, or it is lost."""

        def command(redis: Redis) -> bool:
            ours = redis.get(key) == token.encode()
            # If it was lost just now, this prolongs another's lease, which harms nobody.
            return ours and bool(redis.pexpire(key, self._milliseconds))

        ours = True
        while ours and not stop.wait(self._seconds / 4):
            with suppress(RedisUnavailableError):
                ours = self._connection.ask(command)

    def _end(self, key: str, token: str, outcome: bytes) -> None:
        # Where scripts are refused, or Redis fails, the lease ends by its time.
        with suppress(RedisUnavailableError):
            self._connection.ask(
                lambda redis: redis.eval(_END, 1, key, token, outcome, _DONE_MILLISECONDS)
            )

    @property
    def _milliseconds(self) -> int:
        return round(1000 * self._seconds)


def _key(name: str) -> str:
    return f"{KEYS}lease:{hashlib.sha256(name.encode()).hexdigest()}"
