"""Redis connection: a timeout for each command as a whole, and a circuit breaker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.telemetry.spans import span

LOG = logging.getLogger(__name__)

KEYS = "onnxplain:"
"""Prefix of every key, so that Redis ACLs can be limited to it."""

TIMEOUT_SECONDS = 0.25

_THREAD_COUNT = 8

_Result = TypeVar("_Result")


class RedisUnavailableError(Exception):
    """Command refused, timed out, or skipped because the circuit breaker is open."""


class RedisConnection:
    """Connection that runs commands on a thread pool of its own, so that no caller blocks on it.

    A socket timeout alone does not suffice: it excludes the DNS look-up, and
    starts anew with every chunk of a slow reply.

    Parameters
    ----------
    url : str
        In a scheme of redis-py: redis://, rediss:// or unix://.
    breaker : CircuitBreaker
    timeout : float
        Seconds for each command.

    Raises
    ------
    ValueError
        For an invalid URL. Connects at the first command only.
    """

    def __init__(
        self, url: str, breaker: CircuitBreaker | None = None, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._redis = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # Explicit, because defaults differ between constructors of the client: one of
            # them retries four times, and sleeps in between.
            retry=Retry(NoBackoff(), 0),
            # The simplest handshake, which the narrowest ACLs allow.
            protocol=2,
            driver_info=None,
            maint_notifications_config=MaintNotificationsConfig(enabled=False),
        )
        self._breaker = breaker or CircuitBreaker()
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(_THREAD_COUNT, "onnxplain-redis")

    def ask(self, command: Callable[[redis.Redis], _Result]) -> _Result:
        """Run a command, and return its result.

        Raises
        ------
        RedisUnavailableError
            Within the timeout, whatever happens. Redis may still have executed a
            command that timed out.
        """
        if not self._breaker.allows():
            raise RedisUnavailableError("Redis did not answer lately")
        with span("redis"):
            return self._ask(command)

    def _ask(self, command: Callable[[redis.Redis], _Result]) -> _Result:
        future = self._threads.submit(command, self._redis)
        try:
            result = future.result(self._timeout)
        except redis.ResponseError as error:
            self._record_success()
            raise RedisUnavailableError(f"Redis refused: {error}") from error
        except Exception as error:
            # The client's parser raises exceptions of any type for a damaged reply.
            future.cancel()
            self._record_failure(error)
            raise RedisUnavailableError("Redis did not answer") from error
        self._record_success()
        return result

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown()
        self._redis.close()

    def _record_success(self) -> None:
        if self._breaker.succeed():
            LOG.info("Redis answers again")

    def _record_failure(self, error: Exception) -> None:
        if self._breaker.fail():
            LOG.warning("Redis is left out until it answers: %s", type(error).__name__)
