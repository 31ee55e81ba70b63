"""The way to Redis: each command in bounded time, and none while Redis is gone."""

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
"""In front of every key, so that Redis' access rules can be limited to them."""

TIMEOUT_SECONDS = 0.25

_THREADS = 8

_Answer = TypeVar("_Answer")


class RedisUnavailableError(Exception):
    """Redis refused, or did not answer in time, or was not even asked because it did not lately."""


class RedisConnection:
    """Runs commands on threads of its own, so that nothing can hold up who asks for them.

    A socket's timeout alone would not: it leaves out the look-up of the
    address, and starts anew with every piece of a slow reply.

    Parameters
    ----------
    url : str
        As redis-py takes it: redis://, rediss:// or unix://.
    breaker : CircuitBreaker
    timeout : float
        Seconds for each command.

    Raises
    ------
    ValueError
        Where the URL cannot be used. Nothing is connected to yet.
    """

    def __init__(
        self, url: str, breaker: CircuitBreaker | None = None, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._redis = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # Said here, because the default differs between the ways to make a client: one of
            # them tries four times, sleeping in between.
            retry=Retry(NoBackoff(), 0),
            # The plainest handshake, which the narrowest access rules let pass.
            protocol=2,
            driver_info=None,
            maint_notifications_config=MaintNotificationsConfig(enabled=False),
        )
        self._breaker = breaker or CircuitBreaker()
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(_THREADS, "onnxplain-redis")

    def ask(self, command: Callable[[redis.Redis], _Answer]) -> _Answer:
        """Return what a command answers.

        Raises
        ------
        LinkError
            Within the timeout, whatever happens. A command that came too late
            may still have been carried out.
        """
        if not self._breaker.allows():
            raise RedisUnavailableError("Redis did not answer lately")
        with span("redis"):
            return self._ask(command)

    def _ask(self, command: Callable[[redis.Redis], _Answer]) -> _Answer:
        answer = self._threads.submit(command, self._redis)
        try:
            found = answer.result(self._timeout)
        except redis.ResponseError as error:
            self._answered()
            raise RedisUnavailableError(f"Redis refused: {error}") from error
        except Exception as error:
            # Of a damaged reply, the client's parser raises whatever it stumbles over.
            answer.cancel()
            self._failed(error)
            raise RedisUnavailableError("Redis did not answer") from error
        self._answered()
        return found

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown()
        self._redis.close()

    def _answered(self) -> None:
        if self._breaker.succeed():
            LOG.info("Redis answers again")

    def _failed(self, error: Exception) -> None:
        if self._breaker.fail():
            LOG.warning("Redis is left out until it answers: %s", type(error).__name__)
