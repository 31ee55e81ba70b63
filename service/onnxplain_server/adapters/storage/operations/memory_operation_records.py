"""Records of operations in memory: queues in fair turns, and room; not safe for threads."""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
    no_room,
)


@dataclass(slots=True, eq=False)
class OperationRecord:
    """Operation with its bytes and its latest claim.

    Attributes
    ----------
    operation : Operation
    number : int
        Grows with every operation.
    new : NewOperation or None
        The request; None after the end.
    response : bytes
    plan : bytes
    parts : dict of int to bytes
        Of the answer, by index.
    age : int
        Grows with every record whose bytes may go: the smallest goes first.
    place : int
        In its owner's queue: the smallest is next.
    return_time : float
        Time before which nobody may claim it.
    token : int
        Of the latest claim.
    lease_end : float
        Time after which another may claim it.
    """

    operation: Operation
    number: int
    new: NewOperation | None
    response: bytes = b""
    plan: bytes = b""
    parts: dict[int, bytes] = field(default_factory=dict)
    age: int = 0
    place: int = 0
    return_time: float = 0.0
    token: int = 0
    lease_end: float = 0.0

    @property
    def byte_count(self) -> int:
        """Size of request, files, plan, parts and response."""
        later = len(self.plan) + sum(map(len, self.parts.values())) + len(self.response)
        return later + (self.new.byte_count if self.new else 0)

    @property
    def shown(self) -> Operation:
        """Operation with its plan."""
        return replace(self.operation, plan=self.plan)


class OperationRecords:
    """Operations by id, by owner and by state.

    Parameters
    ----------
    limits : OperationLimits

    Attributes
    ----------
    resumed_count : int
        Abandoned operations found.
    """

    def __init__(self, limits: OperationLimits) -> None:
        self.resumed_count = 0
        self._limits = limits
        self._records: dict[str, OperationRecord] = {}
        # By owner, oldest first.
        self._owned: dict[str, OrderedDict[str, OperationRecord]] = {}
        self._queues: dict[str, list[OperationRecord]] = {}
        self._running: dict[str, OperationRecord] = {}
        self._turns: dict[str, int] = {}
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[OperationRecord]:
        return iter(self._records.values())

    @property
    def byte_count(self) -> int:
        """Bytes of all operations."""
        return sum(record.byte_count for record in self)

    def get(self, operation_id: str) -> OperationRecord | None:
        """Return a record by id."""
        return self._records.get(operation_id)

    def owned(self, owner: str) -> list[OperationRecord]:
        """Return the records of an owner, oldest first."""
        return list(self._owned.get(owner, {}).values())

    def add(self, operation: Operation, new: NewOperation) -> None:
        """Add a PENDING operation at the end of its owner's queue."""
        number = next(self._numbers)
        record = OperationRecord(operation, number, new, place=number)
        self._records[operation.id] = record
        self._owned.setdefault(operation.owner, OrderedDict())[operation.id] = record
        self._queues.setdefault(operation.owner, []).append(record)

    def set_running(self, record: OperationRecord) -> None:
        """Record that a consumer has it; it is in no queue."""
        self._running[record.operation.id] = record

    def put_back(self, record: OperationRecord, return_time: float | None) -> None:
        """Put a running operation at the head of its owner's queue, or to its old place later."""
        del self._running[record.operation.id]
        record.return_time = return_time or 0.0
        record.place = -next(self._numbers) if return_time is None else record.number
        self._queues.setdefault(record.operation.owner, []).append(record)

    def set_ended(self, record: OperationRecord) -> None:
        """Record that nobody has to compute it."""
        self._running.pop(record.operation.id, None)
        queue = self._queues.get(record.operation.owner, ())
        if record in queue:
            self._queues[record.operation.owner].remove(record)

    def abandoned(self, now: float) -> OperationRecord | None:
        """Return a running operation whose lease has ended."""
        record = next((each for each in self._running.values() if each.lease_end <= now), None)
        self.resumed_count += record is not None
        return record

    def take_next(self, now: float) -> OperationRecord | None:
        """Take the next operation from the queue of the owner whose turn it is."""
        running = Counter(record.operation.owner for record in self._running.values())
        heads = [
            min(ready, key=lambda record: record.place)
            for owner, queue in self._queues.items()
            if running[owner] < self._limits.running_count
            and (ready := [record for record in queue if record.return_time <= now])
        ]
        if not heads:
            return None

        def turn(record: OperationRecord) -> tuple[int, int]:
            owner = record.operation.owner
            return running[owner], self._turns.get(owner, 0)

        head = min(heads, key=turn)
        self._turns[head.operation.owner] = next(self._numbers)
        self._queues[head.operation.owner].remove(head)
        return head

    def mark_evictable(self, record: OperationRecord) -> None:
        """Record that bytes came that may go where others need the room."""
        record.age = next(self._numbers)

    def forget(self, record: OperationRecord) -> None:
        """Remove all of an operation."""
        self.set_ended(record)
        owner = record.operation.owner
        del self._records[record.operation.id]
        del self._owned[owner][record.operation.id]
        if not self._owned[owner]:
            del self._owned[owner]
            self._queues.pop(owner, None)
            self._turns.pop(owner, None)

    def make_room(self, owner: str, size: int, freed_count: int = 0) -> None:
        """Drop what may go until new bytes fit, or raise QUOTA_EXCEEDED.

        The owner with most bytes loses succeeded operations, and parts of other answers,
        oldest first; the new bytes count as those of `owner`. `freed_count` bytes will be free
        afterwards.
        """
        limit = self._limits.byte_count + freed_count
        while self.byte_count + size > limit:
            victim = self._oldest_of_largest(owner, size) if size <= limit else None
            if victim is None:
                raise no_room(size, self._limits.byte_count)
            if victim.operation.state is OperationState.SUCCEEDED:
                self.forget(victim)
            else:
                victim.parts.clear()

    def _oldest_of_largest(self, owner: str, size: int) -> OperationRecord | None:
        byte_counts = Counter({owner: size})
        evictable = []
        for record in self:
            byte_counts[record.operation.owner] += record.byte_count
            if record.operation.state is OperationState.SUCCEEDED or record.parts:
                evictable.append(record)
        return max(
            evictable,
            key=lambda each: (byte_counts[each.operation.owner], -each.age),
            default=None,
        )
