"""Redis connection: a timeout for each command as a whole, and a circuit breaker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.adapters.storage.redis_failures import FailureKind, RedisFailure, classify
from onnxplain_server.adapters.storage.redis_health import RedisHealth
from onnxplain_server.adapters.storage.tls_mismatch import has_tls_mismatch
from onnxplain_server.telemetry.spans import span

LOG = logging.getLogger(__name__)

KEYS = "onnxplain:"
"""Prefix of every key, so that Redis ACLs can be limited to it."""

TIMEOUT_SECONDS = 0.25

_THREAD_COUNT = 8

_Result = TypeVar("_Result")


class RedisUnavailableError(Exception):
    """Command refused, timed out, or skipped because the circuit breaker is open.

    Parameters
    ----------
    message : str
    failure : RedisFailure
        Of this command, or of the last one before those that are skipped.
    """

    def __init__(self, message: str, failure: RedisFailure) -> None:
        super().__init__(message)
        self.failure = failure


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
    health : RedisHealth, optional
        Counts and logs failures, those of other connections as well.

    Raises
    ------
    ValueError
        For an invalid URL. Connects at the first command only.
    """

    def __init__(
        self,
        url: str,
        breaker: CircuitBreaker | None = None,
        timeout: float = TIMEOUT_SECONDS,
        health: RedisHealth | None = None,
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
        self._url = url
        self._breaker = breaker or CircuitBreaker()
        self._health = health or RedisHealth(url)
        self._failure = RedisFailure(FailureKind.UNREACHABLE, "no command was answered yet")
        self._has_tls_mismatch = False
        # A server that wants TLS closes connections without; one that has none waits for more.
        is_tls = url.startswith("rediss:")
        self._sign_of_tls_mismatch = FailureKind.TIMEOUT if is_tls else FailureKind.UNREACHABLE
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
            raise RedisUnavailableError("Redis did not answer lately", self._failure)
        with span("redis"):
            return self._ask(command)

    def count_refusals(self, *errors: Exception) -> None:
        """Count and log refusals that a command has caught itself."""
        if errors:
            self._health.fail(classify(errors[0]), len(errors))

    def _ask(self, command: Callable[[redis.Redis], _Result]) -> _Result:
        future = self._threads.submit(command, self._redis)
        try:
            result = future.result(self._timeout)
        except redis.ResponseError as error:
            failure = classify(error)
            self._record_answer()
            self._health.fail(failure)
            if failure.kind is FailureKind.READ_ONLY:
                # After a failover the address leads to the new primary, for new connections only.
                self._threads.submit(self._redis.connection_pool.disconnect)
            message = f"Redis refused: {failure.cause}"
            raise RedisUnavailableError(message, failure) from error
        except Exception as error:
            # The client's parser raises exceptions of any type for a damaged reply.
            future.cancel()
            failure = self._record_failure(error)
            raise RedisUnavailableError("Redis did not answer", failure) from error
        self._record_answer()
        self._health.succeed()
        return result

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown()
        self._redis.close()

    def _record_answer(self) -> None:
        self._has_tls_mismatch = False
        if self._breaker.succeed():
            LOG.info("Redis answers again")

    def _record_failure(self, error: Exception) -> RedisFailure:
        failure = classify(error)
        is_first = self._breaker.fail()
        if failure.kind is self._sign_of_tls_mismatch:
            if self._has_tls_mismatch:
                failure = RedisFailure(FailureKind.TLS, failure.cause)
            elif is_first:
                with suppress(RuntimeError):  # of a connection that is being closed
                    self._threads.submit(self._find_tls_mismatch)
        self._failure = failure
        self._health.fail(failure, is_left_out=is_first)
        return failure

    def _find_tls_mismatch(self) -> None:
        """Find out whether a server that gives no answer is one that speaks TLS, or does not."""
        self._has_tls_mismatch = has_tls_mismatch(self._url, self._timeout)
