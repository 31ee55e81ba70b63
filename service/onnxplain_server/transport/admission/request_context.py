"""Request context: what a runner sees of one request, its control, progress and cached numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from onnxplain_server.core.counts.remote_counts import RemoteUse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Cache
from onnxplain_server.telemetry.spans import span
from onnxplain_server.transport.admission.follower import NOBODY, Follower
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.audit.usage import Usage

# The deadline is checked in between: with Redis, each batch takes one command of at most 0.25 s.
_ENTRIES_PER_BATCH = 256
_BYTES_PER_BATCH = 2**19


class RequestContext:
    """The `RequestHost` of one request.

    Parameters
    ----------
    control : RequestControl
    cache : Cache
        Shared by all requests.
    prefix : str
        Put in front of every cache key, so that a computation can neither read nor
        overwrite the numbers of another caller, model or table.
    follower : Follower
    model_key : str
        See `RequestHost.model_key`.
    caller_key : hashable
        See `RequestHost.caller_key`.
    row_limit : float
        Maximum number of planned rows.
    usage : Usage or None
        Told of progress and processor time.
    reserve_rows : callable (row count) -> None
        See `Ticket`.
    planned_seconds : float
        See `RunnerHost.planned_seconds`.
    """

    def __init__(
        self,
        control: RequestControl,
        cache: Cache,
        prefix: str,
        follower: Follower = NOBODY,
        *,
        model_key: str = "",
        caller_key: Hashable = "",
        row_limit: float = math.inf,
        usage: Usage | None = None,
        reserve_rows: Callable[[float], None] = lambda _row_count: None,
        planned_seconds: float = 0.0,
    ) -> None:
        self.model_key = model_key
        self.planned_seconds = planned_seconds
        self.caller_key = caller_key
        self._row_limit = row_limit
        self._usage = usage or Usage()
        self._reserve_rows = reserve_rows
        self._cache = cache
        self._prefix = prefix
        self.control = control
        self._progress, self.publish, self.write_table = follower

    @property
    def deadline(self) -> float:
        """Monotonic time at which the request ends; may be infinite."""
        return self.control.deadline

    def advance(self, done: float, planned: float) -> None:
        """Report progress, and check the deadline, the row limit and the quota."""
        self._usage.done_row_count = max(self._usage.done_row_count, done)
        self.control.check(f"after {done:,.0f} of {planned:,.0f} planned rows")
        if planned > self._row_limit:
            raise ExplainError(
                Reason.TOO_MANY_ROWS,
                f"the request would have the model predict up to {planned:,.0f} rows; this server "
                f"allows {self._row_limit:,.0f}. Ask for fewer rows (row_count), features or grid "
                "points",
            )
        self._reserve_rows(planned)
        self._progress(done, planned)

    def count_processor(self, seconds: float) -> None:
        """Count processor time of a process that worked for the request."""
        self._usage.processor_seconds += seconds

    def count_remote(self, use: RemoteUse) -> None:
        """Count calls of a remote model."""
        self._usage.remote = RemoteUse(use.prefix, self._usage.remote.counts + use.counts)

    @contextmanager
    def single_flight(self, name: str) -> Iterator[bool]:
        """Let one of several equal computations run; release the slot while waiting for another.

        Waits for at most half of the remaining time: the other half is for doing
        the work here if the other request does not finish it.
        """
        now = time.monotonic()
        patience = now + (self.control.deadline - now) / 2
        is_waiting = False
        with ExitStack() as released, ExitStack() as wait_span:

            def keep_waiting() -> bool:
                nonlocal is_waiting
                if not is_waiting:
                    is_waiting = True
                    wait_span.enter_context(span("wait"))
                    released.enter_context(self.control.release_slot())
                self.control.check("while another request computed the same")
                return time.monotonic() < patience

            with self._cache.single_flight(self._prefix + name, keep_waiting) as is_first:
                released.close()
                wait_span.close()
                yield is_first

    def cache_get(
        self, names: Sequence[str], byte_limit: float = math.inf
    ) -> Sequence[bytes | None]:
        """Get cached numbers of this caller, model and table; see `RequestHost.cache_get`."""

        def go_on(byte_count: int) -> bool:
            self.control.check("while the cache was read")
            return byte_count < byte_limit

        with span("cache get"):
            self.control.check("while the cache was read")
            return self._cache.get_many([self._prefix + name for name in names], go_on)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Put numbers into the cache under this caller, model and table."""
        with span("cache set"):
            for batch in _batches(entries):
                self.control.check("while the cache was written")
                self._cache.put_many({self._prefix + name: batch[name] for name in batch})


def _batches(entries: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield entries in batches of a size that takes little time."""
    batch: dict[str, bytes] = {}
    size = 0
    for name, value in entries.items():
        if batch and (size + len(value) > _BYTES_PER_BATCH or len(batch) == _ENTRIES_PER_BATCH):
            yield batch
            batch, size = {}, 0
        batch[name] = value
        size += len(value)
    if batch:
        yield batch
