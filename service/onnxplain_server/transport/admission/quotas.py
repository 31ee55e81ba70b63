"""Quotas of callers per hour: predicted rows are reserved by plan, processor time is post-paid.

A request is refused with the time when there is room. What it used counts, whatever ends it. The
library limits, of Flask-Limiter, counts costs that are known before, and gives none back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onnxplain.v1.plan_pb2 import RemainingQuota

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.quotas import QuotaStore, Reservation, Shortage
from onnxplain_server.transport.admission.admission import Caller, CallerKey

_MILLISECONDS = 1_000
_ROW_LIMIT = 2**53
"""Above it, counts in Redis would lose digits."""


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """Limits of one caller per hour; None for none.

    Attributes
    ----------
    row_count : float or None
        Predicted rows.
    processor_seconds : float or None
    """

    row_count: float | None = None
    processor_seconds: float | None = None

    def message(self) -> RemainingQuota | None:
        """Return them as the contract has what remains; None without limits."""
        if self.row_count is None and self.processor_seconds is None:
            return None
        rows = None if self.row_count is None else math.floor(self.row_count)
        return RemainingQuota(predicted_row_count=rows, processor_seconds=self.processor_seconds)


class Quotas:
    """Quotas of callers.

    Parameters
    ----------
    limits : QuotaLimits
        The same for each caller.
    store : QuotaStore or None
        Counts; only None without limits.
    """

    def __init__(self, limits: QuotaLimits, store: QuotaStore | None) -> None:
        self._limits = limits
        self._store = store

    @property
    def error_count(self) -> int:
        """Number of times that the store could not count among all servers."""
        return 0 if self._store is None else self._store.error_count

    @contextmanager
    def charged(self, caller: Caller) -> Iterator[Charge]:
        """Charge a caller for what its request uses in the context.

        Raises
        ------
        ExplainError
            QUOTA_EXCEEDED where the caller has no processor time left.
        """
        charge = Charge(self._limits, self._store, caller)
        try:
            charge.begin()
            yield charge
        finally:
            charge.settle()

    def remaining(self, caller: Caller) -> QuotaLimits:
        """Return what a caller may still use; None where there is no limit."""
        rows, seconds = self._limits.row_count, self._limits.processor_seconds
        if rows is not None:
            rows = max(0.0, rows - self._used(_rows_key(caller.key)))
        if seconds is not None:
            used = self._used(_seconds_key(caller.key)) / _MILLISECONDS
            seconds = max(0.0, seconds - used)
        return QuotaLimits(rows, seconds)

    def _used(self, key: str) -> int:
        return 0 if self._store is None else self._store.used(key)


class Charge:
    """Charge for one request.

    Parameters
    ----------
    limits : QuotaLimits
    store : QuotaStore or None
    caller : Caller
        Its `usage` tells what the request used.
    """

    def __init__(self, limits: QuotaLimits, store: QuotaStore | None, caller: Caller) -> None:
        self._store = store
        self._rows = limits.row_count if store is not None else None
        self._seconds = limits.processor_seconds if store is not None else None
        self._caller = caller
        self._start_seconds = caller.usage.processor_seconds
        self._time: Reservation | None = None
        self._planned: Reservation | None = None

    def begin(self) -> None:
        """Refuse a caller without processor time; how much the request takes is known later."""
        if self._store is None or self._seconds is None:
            return
        limit = math.floor(_MILLISECONDS * self._seconds)
        reply = self._store.reserve(_seconds_key(self._caller.key), 1, limit)
        if isinstance(reply, Shortage):
            raise _refusal(
                f"the caller has used {reply.used / _MILLISECONDS:,.1f} of "
                f"{self._seconds:,g} processor seconds per hour",
                reply.seconds,
            )
        self._time = reply

    def plan(self, row_count: float) -> None:
        """Reserve the rows of the first plan, which are the most that are predicted.

        Raises
        ------
        ExplainError
            QUOTA_EXCEEDED.
        """
        if self._store is None or self._rows is None or self._planned is not None or not row_count:
            return
        amount, limit = math.ceil(row_count), math.floor(self._rows)
        key = _rows_key(self._caller.key)
        reply = self._store.reserve(key, min(amount, _ROW_LIMIT), limit)
        if isinstance(reply, Shortage):
            raise _refusal(
                f"the request would have the model predict up to {amount:,} rows, and the caller "
                f"has used {reply.used:,} of {limit:,} rows per hour",
                reply.seconds,
            )
        self._planned = reply

    def settle(self) -> None:
        """Count what was used in place of what was reserved."""
        usage = self._caller.usage
        if self._store is None:
            return
        if self._time is not None:
            seconds = usage.processor_seconds - self._start_seconds
            key = _seconds_key(self._caller.key)
            self._store.settle(key, self._time, math.ceil(_MILLISECONDS * seconds))
        used = math.ceil(min(usage.predicted_row_count, _ROW_LIMIT))
        if self._rows is not None and (used or self._planned is not None):
            self._store.settle(_rows_key(self._caller.key), self._planned, used)


def _refusal(message: str, seconds: float) -> ExplainError:
    if seconds == math.inf:
        message += "; ask for fewer rows (row_count), features or grid points"
        return ExplainError(Reason.QUOTA_EXCEEDED, message)
    message += f"; there is room in {math.ceil(seconds / 60):,} min"
    return ExplainError(Reason.QUOTA_EXCEEDED, message, retry_seconds=seconds)


def _rows_key(caller: CallerKey) -> str:
    return "\n".join(("rows", *caller))


def _seconds_key(caller: CallerKey) -> str:
    return "\n".join(("seconds", *caller))


NO_QUOTAS = Quotas(QuotaLimits(), None)
"""No limits: nothing is counted."""
