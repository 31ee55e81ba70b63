"""JWKS cache: keys of an OpenID provider, refreshed in the background by one thread at a time.

The cached keys stay valid while the provider does not answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

import jwt

from onnxplain_server.adapters.access.jwks_client import KeySet, ProviderError
from onnxplain_server.core.errors import ExplainError, Reason

LOG = logging.getLogger(__name__)

_FRESH_SECONDS = 300.0
_RETRY_SECONDS = 2.0

# Rate limit of refreshes for unknown key ids, because anybody can make tokens with one.
_UNKNOWN_KEY_SECONDS = 10.0

_WAIT_SECONDS = 5.0

# A refresh that takes longer counts as lost.
_LOST_SECONDS = 30.0


class JwksCache:
    """Cache of the last keys that the provider returned.

    Parameters
    ----------
    fetch : callable () -> KeySet
        Requests the keys; raises ProviderError.
    waiting_count : int
        Requests that may wait for a refresh at the same time; others get UNAVAILABLE,
        so that some threads always stay free.
    clock : callable () -> float
        Monotonic, in seconds.
    """

    def __init__(
        self,
        fetch: Callable[[], KeySet],
        waiting_count: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._waiters = threading.BoundedSemaphore(waiting_count)
        self._lock = threading.Lock()
        self._cached = KeySet({})
        self._refresh: Future[None] | None = None
        self._started_at = self._due = self._next_unknown = clock()
        self._failed = False

    def begin(self) -> None:
        """Start a refresh in the background if the keys are stale; nobody waits."""
        with self._lock:
            if self._clock() >= self._due:
                self._start_refresh()

    def find(self, key_id: str | None, algorithm: str, *, wait: bool = True) -> jwt.PyJWK:
        """Return a key; wait for a refresh where the key id is unknown and `wait` allows it.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED for an unknown key id; UNAVAILABLE while the provider
            does not answer.
        """
        self.begin()
        if (key := self._cached.find(key_id, algorithm)) is not None:
            return key
        if not wait:
            raise _unavailable()
        if (refresh := self._join_refresh(key_id, algorithm)) is not None:
            self._wait(refresh)
        # In any case: a refresh may have ended meanwhile.
        if (key := self._cached.find(key_id, algorithm)) is not None:
            return key
        if self._failed or not self._cached.keys:
            raise _unavailable()
        raise ExplainError(
            Reason.UNAUTHENTICATED, "the token is signed with a key that the issuer does not have"
        )

    def _join_refresh(self, key_id: str | None, algorithm: str) -> Future[None] | None:
        """Join the running refresh or start one; None where none is needed or allowed."""
        with self._lock:
            if self._cached.find(key_id, algorithm) is not None:
                return None
            if self._is_refreshing():
                return self._refresh
            if not self._cached.keys or self._clock() < self._next_unknown:
                return None
            self._next_unknown = self._clock() + _UNKNOWN_KEY_SECONDS
            return self._start_refresh()

    def _wait(self, refresh: Future[None]) -> None:
        if not self._waiters.acquire(blocking=False):
            raise _unavailable()
        try:
            refresh.result(_WAIT_SECONDS)
        except FutureTimeout:
            raise _unavailable() from None
        finally:
            self._waiters.release()

    def _is_refreshing(self) -> bool:
        is_lost = self._clock() - self._started_at >= _LOST_SECONDS
        return self._refresh is not None and not self._refresh.done() and not is_lost

    def _start_refresh(self) -> Future[None] | None:
        """Start a refresh unless one is running; the caller holds the lock."""
        if not self._is_refreshing():
            self._refresh = Future()
            self._started_at = self._clock()
            threading.Thread(
                target=self._run_refresh, args=(self._refresh,), name="onnxplain-keys", daemon=True
            ).start()
        return self._refresh

    def _run_refresh(self, refresh: Future[None]) -> None:
        try:
            self._store(self._fetch())
        except ProviderError as error:
            self._record_failure(str(error))
        except Exception as error:  # noqa: BLE001 - the provider's response may break any parser
            self._record_failure(f"the provider's keys cannot be read: {type(error).__name__}")
        finally:
            refresh.set_result(None)

    def _store(self, keys: KeySet) -> None:
        with self._lock:
            if self._failed:
                LOG.info("the OpenID provider answers again")
            self._cached, self._failed = keys, False
            self._due = self._clock() + _FRESH_SECONDS

    def _record_failure(self, fault: str) -> None:
        with self._lock:
            if not self._failed:
                LOG.warning("%s; the cached keys stay in force", fault)
            self._failed = True
            self._due = self._clock() + _RETRY_SECONDS


def _unavailable() -> ExplainError:
    return ExplainError(
        Reason.UNAVAILABLE, "the issuer's keys are not available at the moment; try again"
    )
