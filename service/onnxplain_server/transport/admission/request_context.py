"""The surroundings of one request: its deadline, its progress, its part of the cache."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Cache
from onnxplain_server.telemetry.spans import span

_GONE = (Reason.CANCELLED, "the caller has gone")


class RequestContext:
    """The `RequestHost` of one request.

    Parameters
    ----------
    cache : Cache
        Shared by all requests.
    prefix : str
        Put in front of every name, so that a computation can neither read nor
        overwrite the numbers of another caller, model or table.
    seconds : float
        Time until the deadline; may be infinite.
    progress : callable (done, planned) -> None
        Told of every step; must be quick and may be called from any thread.
    is_disconnected : callable () -> bool
        Whether the caller has left; asked at every step, for transports that
        do not tell by themselves.
    model_key : str
        See `RequestHost.model_key`.
    caller_key : hashable
        See `RequestHost.caller_key`.
    row_limit : float
        The most rows that may be planned.

    Attributes
    ----------
    release_slot : callable () -> ContextManager
        Entered while the computation waits for another one; whoever limits the
        number of computations may let another run meanwhile.
    """

    def __init__(
        self,
        cache: Cache,
        prefix: str,
        seconds: float,
        progress: Callable[[float, float], None] = lambda _done, _planned: None,
        is_disconnected: Callable[[], bool] = lambda: False,
        *,
        model_key: str = "",
        caller_key: Hashable = "",
        row_limit: float = math.inf,
    ) -> None:
        self.model_key = model_key
        self.caller_key = caller_key
        self._row_limit = row_limit
        self._cache = cache
        self._prefix = prefix
        self._deadline = time.monotonic() + seconds
        self._progress = progress
        self._is_disconnected = is_disconnected
        self.release_slot: Callable[[], AbstractContextManager[None]] = nullcontext
        self._end: tuple[Reason, str] | None = None

    def cancel(self, reason: Reason = _GONE[0], message: str = _GONE[1]) -> None:
        """Make the computation end at its next step; from any thread."""
        self._end = (reason, message)

    def check(self, how_far: str) -> None:
        """Raise where the answer is no longer wanted; `how_far` ends "time was over ..."."""
        if self._end is not None:
            raise ExplainError(*self._end)
        if time.monotonic() > self._deadline:
            raise ExplainError(
                Reason.DEADLINE_EXCEEDED,
                f"time was over {how_far}; "
                "allow more time, or ask for fewer rows (row_count) or features",
            )
        # Asked last, since callers leave at their deadline: then that is the reason.
        if self._is_disconnected():
            raise ExplainError(*_GONE)

    def advance(self, done: float, planned: float) -> None:
        """See `ComputationHost.advance`."""
        self.check(f"after {done:,.0f} of {planned:,.0f} planned rows")
        if planned > self._row_limit:
            raise ExplainError(
                Reason.TOO_MANY_ROWS,
                f"the request would have the model predict up to {planned:,.0f} rows; this server "
                f"allows {self._row_limit:,.0f}. Ask for fewer rows (row_count), features or grid "
                "points",
            )
        self._progress(done, planned)

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        """See `ComputationHost.single_flight`.

        Waits for half of the time that is left at most, so that the other
        half remains to do the work where its holder does not come to an end.
        """
        now = time.monotonic()
        patience = now + (self._deadline - now) / 2
        waits = False
        with ExitStack() as aside, ExitStack() as waiting:

            def keep_waiting() -> bool:
                nonlocal waits
                if not waits:
                    waits = True
                    waiting.enter_context(span("wait"))
                    aside.enter_context(self.release_slot())
                self.check("while another request computed the same")
                return time.monotonic() < patience

            with self._cache.single_flight(self._prefix + name, keep_waiting) as first:
                aside.close()
                waiting.close()
                yield first

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `ComputationHost.cache_get`."""
        with span("cache get"):
            return self._cache.get_many([self._prefix + name for name in names])

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """See `ComputationHost.cache_put`."""
        with span("cache set"):
            self._cache.put_many({self._prefix + name: value for name, value in entries.items()})
