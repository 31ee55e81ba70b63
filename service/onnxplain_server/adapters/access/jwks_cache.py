"""Keys of an OpenID provider, kept: it is asked seldom, by one at a time, and may be away."""

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

# How often tokens that name an unknown key, which anybody can make, may have the provider asked.
_SEARCH_SECONDS = 10.0

_WAIT_SECONDS = 5.0

# After this, a question counts as lost.
_LOST_SECONDS = 30.0


class JwksCache:
    """The last keys that the provider gave.

    Parameters
    ----------
    ask : callable () -> KeySet
        Asks the provider; raises ProviderError.
    waiting_count : int
        Requests that may wait for the provider at the same time; others are
        told to come again, so that some threads always stay free.
    clock : callable () -> float
        Seconds; must never go back.
    """

    def __init__(
        self,
        ask: Callable[[], KeySet],
        waiting_count: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._places = threading.BoundedSemaphore(waiting_count)
        self._lock = threading.Lock()
        self._known = KeySet({})
        self._flight: Future[None] | None = None
        self._begun = self._due = self._next_search = clock()
        self._failed = False

    def begin(self) -> None:
        """Ask in the background where the keys are old; nobody waits."""
        with self._lock:
            if self._clock() >= self._due:
                self._asked()

    def find(self, name: str | None, algorithm: str, *, wait: bool = True) -> jwt.PyJWK:
        """Return a key, if need be, and if there is time to wait, after asking the provider.

        Raises
        ------
        ExplainError
            UNAUTHENTICATED where there is none of this name; UNAVAILABLE where
            the provider does not say.
        """
        self.begin()
        if (key := self._known.find(name, algorithm)) is not None:
            return key
        if not wait:
            raise _unavailable()
        if (flight := self._search(name, algorithm)) is not None:
            self._wait(flight)
        # In any case: the answer may have come meanwhile.
        if (key := self._known.find(name, algorithm)) is not None:
            return key
        if self._failed or not self._known.keys:
            raise _unavailable()
        raise ExplainError(Reason.UNAUTHENTICATED, "the token's key is none of the issuer's")

    def _search(self, name: str | None, algorithm: str) -> Future[None] | None:
        """Join a question that is under way, or begin one; None where none is needed or allowed."""
        with self._lock:
            if self._known.find(name, algorithm) is not None:
                return None
            if self._flying():
                return self._flight
            if not self._known.keys or self._clock() < self._next_search:
                return None
            self._next_search = self._clock() + _SEARCH_SECONDS
            return self._asked()

    def _wait(self, flight: Future[None]) -> None:
        if not self._places.acquire(blocking=False):
            raise _unavailable()
        try:
            flight.result(_WAIT_SECONDS)
        except FutureTimeout:
            raise _unavailable() from None
        finally:
            self._places.release()

    def _flying(self) -> bool:
        flight = self._flight
        lost = self._clock() - self._begun >= _LOST_SECONDS
        return flight is not None and not flight.done() and not lost

    def _asked(self) -> Future[None] | None:
        """Begin a question, unless one is under way; to be called with the lock."""
        if not self._flying():
            self._flight = Future()
            self._begun = self._clock()
            threading.Thread(
                target=self._fetch, args=(self._flight,), name="onnxplain-keys", daemon=True
            ).start()
        return self._flight

    def _fetch(self, flight: Future[None]) -> None:
        try:
            self._keep(self._ask())
        except ProviderError as error:
            self._miss(str(error))
        except Exception as error:  # noqa: BLE001 - what a provider sends may break any parser
            self._miss(f"the provider's keys cannot be read: {type(error).__name__}")
        finally:
            flight.set_result(None)

    def _keep(self, keys: KeySet) -> None:
        with self._lock:
            if self._failed:
                LOG.info("the OpenID provider answers again")
            self._known, self._failed = keys, False
            self._due = self._clock() + _FRESH_SECONDS

    def _miss(self, fault: str) -> None:
        with self._lock:
            if not self._failed:
                LOG.warning("%s; the keys that it gave before stay in force", fault)
            self._failed = True
            self._due = self._clock() + _RETRY_SECONDS


def _unavailable() -> ExplainError:
    return ExplainError(
        Reason.UNAVAILABLE, "the issuer's keys cannot be had at the moment; ask again"
    )
