"""In-memory store of operations: those of one process, which end with it."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from onnxplain_server.adapters.storage.operations.memory_operation_records import (
    OperationRecord,
    OperationRecords,
)
from onnxplain_server.adapters.storage.operations.page_token import PageTokens
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.operation_store import AT_ONCE, Claim, Release, Renewal
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationCounts,
    OperationLimits,
    OperationState,
    check_same,
    too_many,
)

_RUNNING, _PENDING = OperationState.RUNNING, OperationState.PENDING


class MemoryOperations:
    """`OperationStore` of this process; safe for threads. See `OperationRecords.make_room`.

    Parameters
    ----------
    limits : OperationLimits
    clock : callable () -> float, of seconds since the epoch
    """

    def __init__(
        self, limits: OperationLimits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.limits = limits or OperationLimits()
        self._clock = clock
        self._records = OperationRecords(self.limits)
        self._tokens = itertools.count(1)
        self._changed = threading.Condition()
        self._page_tokens = PageTokens()

    def start(self, owner: str, new: NewOperation) -> Operation:
        """Store a new operation; see `OperationStore.start`."""
        with self._changed:
            self._purge()
            earlier = self._by_request_id(owner, new.request_id)
            if earlier is not None:
                return check_same(earlier.shown, new.digest())
            if len(self._records.owned(owner)) >= self.limits.kept_count:
                raise too_many(self.limits.kept_count)
            self._records.make_room(owner, new.byte_count)
            now = self._clock()
            operation = Operation(
                id=secrets.token_hex(16),
                owner=owner,
                state=_PENDING,
                request_id=new.request_id,
                request_digest=new.digest(),
                labels=dict(new.labels),
                method_names=new.method_names,
                create_time=now,
                expire_time=now + self.limits.seconds,
            )
            self._records.add(operation, new)
            return operation

    def get(self, owner: str, operation_id: str) -> Operation | None:
        """Return an operation."""
        with self._changed:
            record = self._find(owner, operation_id)
            return None if record is None else record.shown

    def list(
        self,
        owner: str,
        matches: Callable[[Operation], bool] = lambda _operation: True,
        page_size: int = 100,
        page_token: str = "",
        query: str = "",
    ) -> tuple[Sequence[Operation], str]:
        """Return a page of operations; see `OperationStore.list`."""
        before = self._page_tokens.read(owner, query, page_token)
        with self._changed:
            self._purge()
            newest_first = self._records.owned(owner)[::-1]
        page: list[OperationRecord] = []
        for record in newest_first:
            if (before is None or record.number < before) and matches(record.operation):
                if len(page) == page_size:
                    token = self._page_tokens.write(owner, query, page[-1].number)
                    return [each.operation for each in page], token
                page.append(record)
        return [each.operation for each in page], ""

    def wait(self, owner: str, operation_id: str, seconds: float) -> Operation | None:
        """Wait for the operation to end; see `OperationStore.wait`."""

        def has_ended() -> bool:
            record = self._find(owner, operation_id)
            return record is None or record.operation.state.is_terminal

        with self._changed:
            self._changed.wait_for(has_ended, max(0.0, seconds))
        return self.get(owner, operation_id)

    def cancel(self, owner: str, operation_id: str) -> Operation | None:
        """Cancel an operation; see `OperationStore.cancel`."""
        with self._changed:
            record = self._find(owner, operation_id)
            if record is None or record.operation.state.is_terminal:
                return None if record is None else record.operation
            record.operation = replace(record.operation, is_cancel_requested=True)
            if record.operation.state is _PENDING:
                self._end(record, OperationState.CANCELLED)
            return record.operation

    def delete(self, owner: str, operation_id: str) -> bool:
        """Forget an operation."""
        with self._changed:
            record = self._find(owner, operation_id)
            if record is not None:
                self._records.forget(record)
                self._changed.notify_all()
            return record is not None

    def read_response(self, owner: str, operation_id: str, offset: int, size: int) -> bytes | None:
        """Return part of the response."""
        with self._changed:
            record = self._find(owner, operation_id)
            if record is None or record.operation.state is not OperationState.SUCCEEDED:
                return None
            return record.response[offset : offset + size]

    def read_parts(self, owner: str, operation_id: str) -> Sequence[bytes] | None:
        """Return the kept parts of an answer."""
        with self._changed:
            record = self._find(owner, operation_id)
            return None if record is None else [part for _, part in sorted(record.parts.items())]

    def claim(self, consumer: str) -> Claim | None:  # noqa: ARG002 - this process is the consumer
        """Claim an operation; see `OperationStore.claim`."""
        with self._changed:
            self._purge()
            now = self._clock()
            record = self._records.abandoned(now) or self._records.take_next(now)
            if record is None:
                return None
            record.token = next(self._tokens)
            record.lease_end = now + self.limits.lease_seconds
            record.operation = replace(
                record.operation,
                state=_RUNNING,
                start_time=now,
                expire_time=now + self.limits.seconds,
                done=0.0,
                planned=0.0,
                attempt_count=record.operation.attempt_count + 1,
            )
            self._records.set_running(record)
            return Claim(record.shown, record.token, record.new)

    def renew(self, claim: Claim, done: float, planned: float) -> Renewal:
        """Report life and progress."""
        with self._changed:
            record = self._claimed(claim)
            if record is None:
                return Renewal.LOST
            now = self._clock()
            record.lease_end = now + self.limits.lease_seconds
            expire_time = now + self.limits.seconds
            record.operation = replace(
                record.operation, done=done, planned=planned, expire_time=expire_time
            )
            return Renewal.CANCEL if record.operation.is_cancel_requested else Renewal.OK

    def keep_plan(self, claim: Claim, plan: bytes) -> bool:
        """Keep a plan with the operation; see `OperationStore.keep_plan`."""
        with self._changed:
            record = self._with_room(claim, len(plan))
            if record is not None:
                record.plan = plan
            return record is not None

    def keep_part(self, claim: Claim, index: int, part: bytes) -> bool:
        """Keep part of the answer; see `OperationStore.keep_part`."""
        with self._changed:
            record = self._with_room(claim, len(part))
            if record is None:
                return False
            record.parts[index] = part
            record.operation = replace(record.operation, part_count=record.operation.part_count + 1)
            self._records.mark_evictable(record)
            return True

    def finish(
        self, claim: Claim, state: OperationState, *, response: bytes = b"", error: bytes = b""
    ) -> bool:
        """End the operation; see `OperationStore.finish`."""
        with self._changed:
            record = self._claimed(claim)
            if record is None:
                return False
            if state is OperationState.SUCCEEDED:
                record.parts.clear()
                self._records.mark_evictable(record)
            freed_count = record.new.byte_count if record.new else 0
            self._records.make_room(record.operation.owner, len(response), freed_count)
            record.response = response
            self._end(record, state, error)
            return True

    def release(self, claim: Claim, how: Release = AT_ONCE) -> bool:
        """Put the operation back; see `OperationStore.release`."""
        with self._changed:
            record = self._claimed(claim)
            if record is None:
                return False
            operation = record.operation
            record.token = 0
            record.operation = replace(
                operation,
                state=_PENDING,
                attempt_count=operation.attempt_count - (not (how.is_counted or how.is_crash)),
                crash_count=operation.crash_count + how.is_crash,
            )
            return_time = self._clock() + how.seconds if how.seconds > 0 else None
            self._records.put_back(record, return_time)
            return True

    def counts(self) -> OperationCounts:
        """Return the statistics."""
        with self._changed:
            self._purge()
            operations = [record.operation for record in self._records]
            states = Counter(operation.state for operation in operations)
            pending = (each.create_time for each in operations if each.state is _PENDING)
            now = self._clock()
            return OperationCounts(
                {state: states[state] for state in OperationState},
                now - min(pending, default=now),
                self._records.resumed_count,
                self._records.byte_count,
            )

    def _find(self, owner: str, operation_id: str) -> OperationRecord | None:
        record = self._records.get(operation_id)
        if record is None or record.operation.owner != owner:
            return None
        return record if record.operation.expire_time > self._clock() else None

    def _by_request_id(self, owner: str, request_id: str) -> OperationRecord | None:
        owned = self._records.owned(owner)
        same = (record for record in owned if record.operation.request_id == request_id)
        return next(same, None) if request_id else None

    def _claimed(self, claim: Claim) -> OperationRecord | None:
        """Return the record of a claim that holds."""
        record = self._find(claim.operation.owner, claim.operation.id)
        if record is None or record.operation.state is not _RUNNING:
            return None
        return record if record.token == claim.token else None

    def _with_room(self, claim: Claim, size: int) -> OperationRecord | None:
        """Return the record of a claim that holds, if so many bytes more fit."""
        record = self._claimed(claim)
        if record is not None:
            try:
                self._records.make_room(record.operation.owner, size)
            except ExplainError:
                return None
        return record

    def _end(self, record: OperationRecord, state: OperationState, error: bytes = b"") -> None:
        now = self._clock()
        record.operation = replace(
            record.operation,
            state=state,
            end_time=now,
            expire_time=now + self.limits.seconds,
            error=error or None,
            response_byte_count=len(record.response),
        )
        record.new = None
        self._records.set_ended(record)
        self._changed.notify_all()

    def _purge(self) -> None:
        now = self._clock()
        for record in [each for each in self._records if each.operation.expire_time <= now]:
            self._records.forget(record)
