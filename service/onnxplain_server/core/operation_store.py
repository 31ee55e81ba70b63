"""Store of operations, as transports and executors see it.

A store hands each operation to one consumer at a time. A consumer holds it by a claim with a
fencing token and a lease; once another has claimed the operation, the first claim changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationCounts,
    OperationLimits,
    OperationState,
)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Right of one consumer to compute an operation.

    Attributes
    ----------
    operation : Operation
        As it was when claimed.
    token : int
        Fencing token: that of a later claim is greater.
    request : NewOperation or None
        None where the stored request is damaged or lost.
    """

    operation: Operation
    token: int
    request: NewOperation | None


class Renewal(Enum):
    """Answer to a heartbeat: go on; end, because the caller cancels; or end, the claim is LOST."""

    OK = "ok"
    CANCEL = "cancel"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class RedisCounts:
    """Statistics of the connections of this process.

    Attributes
    ----------
    is_up : bool or None
        Whether the last command was of use; None without Redis, and before the first command.
    failures : mapping of str to int
        Failed commands by kind, all kinds included.
    """

    is_up: bool | None = None
    failures: Mapping[str, int] = field(default_factory=dict)


class OperationStoreError(Exception):
    """Store that cannot be reached now, or refuses: nothing is known about the operation.

    Parameters
    ----------
    message : str
        For the log.
    is_temporary : bool
        Whether a later call may succeed though nobody changes a setting.
    """

    def __init__(self, message: str, *, is_temporary: bool = True) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class OperationStoreFullError(OperationStoreError):
    """Store without memory for what is to be written."""


@dataclass(frozen=True, slots=True)
class Release:
    """Way in which an operation is put back.

    Attributes
    ----------
    is_counted : bool
        Whether the attempt counts; one that crashed its worker does anyway.
    is_crash : bool
        Whether the request crashed its worker.
    seconds : float
        Time for which the operation stays out of the queue; then it takes its old place.
    """

    is_counted: bool = False
    is_crash: bool = False
    seconds: float = 0.0


AT_ONCE = Release()
"""To the head of the queue, and without a count."""


class OperationStore(Protocol):
    """Store of operations; safe for threads. Operations of other owners do not exist.

    Every method may raise OperationStoreError.
    """

    @property
    def limits(self) -> OperationLimits:
        """Limits of this store."""

    def start(self, owner: str, new: NewOperation) -> Operation:
        """Store a new operation; the earlier one for an equal request with the same request id.

        Raises
        ------
        ExplainError
            REQUEST_ID_IN_USE where the earlier request was another one; QUOTA_EXCEEDED.
        """

    def get(self, owner: str, operation_id: str) -> Operation | None:
        """Return an operation, with its plan."""

    def list(
        self,
        owner: str,
        matches: Callable[[Operation], bool] = lambda _operation: True,
        page_size: int = 100,
        page_token: str = "",
        query: str = "",
    ) -> tuple[Sequence[Operation], str]:
        """Return a page of matching operations, newest first, and the token of the next one.

        Their plans are left out. A token belongs to the owner and to the query, the text behind
        `matches`.

        Raises
        ------
        ExplainError
            INVALID_REQUEST for a token that no page of this list had.
        """

    def wait(self, owner: str, operation_id: str, seconds: float) -> Operation | None:
        """Wait for the operation to end; return it as it is then, or when the time has passed."""

    def cancel(self, owner: str, operation_id: str) -> Operation | None:
        """Cancel a PENDING operation at once, a RUNNING one at its next heartbeat."""

    def delete(self, owner: str, operation_id: str) -> bool:
        """Forget an operation with all its bytes, ending it; return whether it existed."""

    def read_response(self, owner: str, operation_id: str, offset: int, size: int) -> bytes | None:
        """Return part of the serialised ExplainResponse; None without a valid one."""

    def read_parts(self, owner: str, operation_id: str) -> Sequence[bytes] | None:
        """Return the kept parts of an answer by ascending index; None without the operation."""

    def claim(self, consumer: str) -> Claim | None:
        """Claim an operation whose consumer is gone; or the next PENDING one, in fair turns.

        It comes with its plan.

        The turn is that of the owner with the fewest running operations, and among these of
        the one served longest ago.
        """

    def renew(self, claim: Claim, done: float, planned: float) -> Renewal:
        """Report life and progress."""

    def keep_plan(self, claim: Claim, plan: bytes) -> bool:
        """Keep a plan with the operation; False if the claim is lost, or there is no room."""

    def keep_part(self, claim: Claim, index: int, part: bytes) -> bool:
        """Keep part of the answer in place of one with the same index; False as `keep_plan`.

        SUCCEEDED operations lose their parts. Others lose them where new bytes need the room.
        """

    def finish(
        self, claim: Claim, state: OperationState, *, response: bytes = b"", error: bytes = b""
    ) -> bool:
        """End the operation and store its bytes; False, and nothing stored, if the claim is lost.

        Raises
        ------
        ExplainError
            QUOTA_EXCEEDED if the response does not fit; the claim still holds.
        """

    def release(self, claim: Claim, how: Release = AT_ONCE) -> bool:
        """Put the operation back at the head of its owner's queue, or out of it for some time."""

    def counts(self) -> OperationCounts:
        """Return the statistics."""
