"""Health of Redis: counts of failures by kind, and lines of the log that an operator can act on."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from onnxplain_server.adapters.storage.redis_failures import FailureKind, RedisFailure
from onnxplain_server.core.operation_store import RedisCounts

LOG = logging.getLogger(__name__)

_QUIET_SECONDS = 60.0
"""Pause between lines about failures of one kind."""


class RedisHealth:
    """Health as the commands of all connections of this process find it; safe for threads.

    Parameters
    ----------
    url : str
        Of Redis; its password is never shown.
    clock : callable () -> float
        Monotonic, in seconds.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = place_of(url)
        self._clock = clock
        self._lock = threading.Lock()
        self._is_up: bool | None = None
        self._failures: Counter[FailureKind] = Counter()
        self._quiet_until: dict[FailureKind, float] = {}

    def counts(self) -> RedisCounts:
        """Return the statistics."""
        with self._lock:
            failures = {kind.value.name: self._failures[kind] for kind in FailureKind}
            return RedisCounts(self._is_up, failures)

    def succeed(self) -> None:
        """Count a command that was answered."""
        self._is_up = True

    def fail(self, failure: RedisFailure, count: int = 1, *, is_left_out: bool = False) -> None:
        """Count a failure, and log it: where Redis `is_left_out` from now on, or once a minute."""
        kind = failure.kind
        with self._lock:
            self._is_up = kind.value.is_up
            self._failures[kind] += count
            now = self._clock()
            if not is_left_out and now < self._quiet_until.get(kind, now):
                return
            self._quiet_until[kind] = now + _QUIET_SECONDS
        level = logging.WARNING if kind.value.is_temporary else logging.ERROR
        what = "Redis is left out until it answers" if is_left_out else "Redis fails"
        LOG.log(level, "%s, %s: %s", what, self.place, failure.text)


def place_of(url: str) -> str:
    """Return host, port, user and database of an address, or its socket, without the password."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        where = unquote(parts.path)
    else:
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        where = f"{parts.scheme}://{host}:{parts.port or 6379}/{parts.path.strip('/') or 0}"
    return f"{where} as user {unquote(parts.username or 'default')}"
