"""Executor of operations: claims them from a store and computes them in slots of the scheduler.

An operation takes the same way as a request of its caller: same limits of size and rows, same
cache, same queue. It ends once, by whichever replica still holds its claim.
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.operation_store import (
    AT_ONCE,
    Claim,
    OperationStore,
    OperationStoreError,
    Release,
    Renewal,
)
from onnxplain_server.core.operations import NewOperation, Operation, OperationState
from onnxplain_server.core.request import RequestIds, ServiceMethod
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc_errors import error_status
from onnxplain_server.transport.operations.heartbeat import Heartbeat
from onnxplain_server.transport.operations.keeper import Keeper
from onnxplain_server.transport.service import Service

LOG = logging.getLogger(__name__)

ATTEMPT_LIMIT = 5
"""Attempts after which an operation fails: each ended with its server or worker, or with
UNAVAILABLE."""

CRASH_LIMIT = 2
"""Ends of worker processes after which an operation fails, as a model is then refused."""

_POLL_SECONDS = 0.25
_RETRY_SECONDS = 1.0
_RETRY_LEASES = 4


@dataclass(frozen=True, slots=True)
class _Outcome:
    """End of an attempt: a state with its bytes; None puts the operation back."""

    state: OperationState | None
    response: bytes = b""
    error: bytes = b""
    release: Release = AT_ONCE


class OperationExecutor:
    """Threads that compute operations, each one at a time.

    Parameters
    ----------
    store : OperationStore
    service : Service
        Computes.
    scheduler : Scheduler
        The service's.
    thread_count : int
        Operations at the same time.
    seconds : float
        Longest time for an attempt, waiting for a slot included.
    outage_seconds : float
        Pause after the first attempt that ended with UNAVAILABLE; it doubles with each.
    """

    def __init__(
        self,
        store: OperationStore,
        service: Service,
        scheduler: Scheduler,
        *,
        thread_count: int,
        seconds: float = math.inf,
        outage_seconds: float = 5.0,
    ) -> None:
        self._store = store
        self._service = service
        self._scheduler = scheduler
        self._seconds = seconds
        self._outage_seconds = outage_seconds
        self._consumer = secrets.token_hex(8)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._run, args=(number == 0,), name="onnxplain-operation", daemon=True
            )
            for number in range(thread_count)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 0.0) -> None:
        """Claim no more operations; wait for the threads, which end with their operations."""
        self._stop.set()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, is_first: bool) -> None:
        """Claim and compute until stopped; only the first thread does while requests wait."""
        while not self._stop.is_set() and not self._scheduler.closed:
            is_busy = self._scheduler.counts().waiting_count > 0
            claim = None if is_busy and not is_first else self._claim()
            if claim is None:
                self._stop.wait(_POLL_SECONDS)
                continue
            try:
                self._serve(claim)
            except Exception:
                # Its lease ends, and the next attempt is counted.
                LOG.exception("operation %s failed unexpectedly", claim.operation.id)

    def _claim(self) -> Claim | None:
        try:
            return self._store.claim(self._consumer)
        except OperationStoreError as error:
            LOG.debug("no operation can be claimed: %s", error)
            self._stop.wait(_RETRY_SECONDS)
            return None

    def _serve(self, claim: Claim) -> None:
        """Compute an operation, unless it must not be attempted, and end it."""
        refusal = _refusal(claim)
        if claim.request is None or refusal is not None:
            self._end(claim, _ended(refusal or _lost()))
            return
        try:
            with self._scheduler.admit(_caller(claim.request, self._seconds)) as ticket:
                # Inside: a server that stops waits for tickets.
                self._attempt(claim, claim.request, ticket)
        except ExplainError as error:  # no ticket
            LOG.debug("operation %s waits: %s", claim.operation.id, error.message)
            self._end(claim, _Outcome(None))
            self._stop.wait(_RETRY_SECONDS)

    def _attempt(self, claim: Claim, request: NewOperation, ticket: Ticket) -> None:
        operation, start = claim.operation, time.monotonic()
        heartbeat = Heartbeat(self._store, claim, ticket.control)
        keeper = Keeper(self._store, claim)
        with heartbeat.beating(), keeper.keeping():
            follower = Follower(heartbeat.advance, keeper.take)
            outcome = self._compute(claim, request, ticket, follower, keeper.keep_plan)
        if heartbeat.answer is Renewal.LOST:
            LOG.info("operation %s was deleted or taken over", operation.id)
            return
        if heartbeat.answer is Renewal.CANCEL:
            # Also where the computation was over before it was told.
            outcome = _ended(_cancelled())
        self._end(claim, outcome)
        LOG.info(
            "operation %s, attempt %d: %s after %.1f s",
            operation.id,
            operation.attempt_count,
            "put back" if outcome.state is None else outcome.state.value,
            time.monotonic() - start,
        )

    def _compute(
        self,
        claim: Claim,
        request: NewOperation,
        ticket: Ticket,
        follower: Follower,
        keep_plan: Callable[[bytes], None],
    ) -> _Outcome:
        operation = claim.operation
        is_planned = operation.attempt_count > 1 or bool(operation.plan)
        ids = RequestIds(request.model_id, request.table_id, request.table_form)
        call = Call(ServiceMethod.EXPLAIN, request.request, request.blobs, ids=ids)
        try:
            reply = self._service.compute(
                *(call, ticket, follower, operation.id),
                plan=operation.plan,
                keep_plan=None if is_planned else keep_plan,
            )
        except ExplainError as error:
            return self._after(error, operation)
        except Exception:
            LOG.exception("operation %s failed unexpectedly", operation.id)
            message = "the server failed; its log has details under the operation's id"
            return _ended(ExplainError(Reason.INTERNAL, message))
        return _Outcome(OperationState.SUCCEEDED, response=reply.content)

    def _after(self, error: ExplainError, operation: Operation) -> _Outcome:
        """Return what follows from the failure of an attempt."""
        # An operation that waits must not expire meanwhile.
        longest = self._store.limits.seconds / 2
        is_outage = error.reason is Reason.UNAVAILABLE
        if error.reason is Reason.OVERLOADED or (is_outage and self._scheduler.closed):
            return _Outcome(None)
        if is_outage and operation.attempt_count < ATTEMPT_LIMIT:
            pause = self._outage_seconds * 2 ** (operation.attempt_count - 1)
            return _Outcome(None, release=Release(is_counted=True, seconds=min(pause, longest)))
        if error.reason is Reason.QUOTA_EXCEEDED and error.retry_seconds is not None:
            return _Outcome(None, release=Release(seconds=min(error.retry_seconds, longest)))
        if error.reason is Reason.WORKER_DIED and operation.crash_count + 1 < CRASH_LIMIT:
            return _Outcome(None, release=Release(is_crash=True))
        return _ended(error)

    def _end(self, claim: Claim, outcome: _Outcome) -> None:
        """Store the end of an attempt; retry while the store does not answer, for some leases."""
        end = time.monotonic() + _RETRY_LEASES * self._store.limits.lease_seconds
        while True:
            try:
                self._store_outcome(claim, outcome)
            except OperationStoreError as error:
                if time.monotonic() > end or self._scheduler.closed:
                    LOG.warning("operation %s is left behind: %s", claim.operation.id, error)
                    return
            else:
                return
            time.sleep(_RETRY_SECONDS)

    def _store_outcome(self, claim: Claim, outcome: _Outcome) -> None:
        if outcome.state is None:
            self._store.release(claim, outcome.release)
            return
        try:
            self._store.finish(claim, outcome.state, response=outcome.response, error=outcome.error)
        except ExplainError as error:  # no room for the response
            self._store.finish(claim, OperationState.FAILED, error=_status(error))


def _refusal(claim: Claim) -> ExplainError | None:
    """Return the error of an operation that must not be attempted."""
    operation = claim.operation
    if operation.is_cancel_requested:
        return _cancelled()
    if operation.attempt_count > ATTEMPT_LIMIT:
        return ExplainError(
            Reason.WORKER_DIED,
            f"{ATTEMPT_LIMIT} attempts at the operation came to no end; it is not attempted again",
        )
    return None


def _cancelled() -> ExplainError:
    return ExplainError(Reason.CANCELLED, "the caller cancelled the operation")


def _lost() -> ExplainError:
    message = "the stored request was lost or damaged; start the operation again"
    return ExplainError(Reason.INTERNAL, message)


def _ended(error: ExplainError) -> _Outcome:
    is_cancelled = error.reason is Reason.CANCELLED
    state = OperationState.CANCELLED if is_cancelled else OperationState.FAILED
    return _Outcome(state, error=_status(error))


def _status(error: ExplainError) -> bytes:
    return bytes(error_status(error).SerializeToString())


def _caller(request: NewOperation, seconds: float) -> Caller:
    return Caller(request.caller_name, seconds, lambda: False, request.caller_address)
