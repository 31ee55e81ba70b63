"""Operations: explanations that outlive a connection, their states, limits and refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs


class OperationState(Enum):
    """State of an operation: PENDING and RUNNING alternate until one of the others, which last."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Return whether the state lasts."""
        return self not in {OperationState.PENDING, OperationState.RUNNING}


@dataclass(frozen=True, slots=True)
class Operation:
    """Operation as its caller sees it. Times are seconds since the epoch.

    Attributes
    ----------
    id : str
        Unguessable.
    owner : str
        See `owner_key`.
    state : OperationState
    request_id : str
        Chosen by the caller; empty where it chose none.
    request_digest : str
        Of the request and its files; see `NewOperation.digest`.
    labels : mapping of str to str
    method_names : tuple of str
        Of the request; empty for an overview.
    create_time, start_time, end_time : float or None
        `start_time` is that of the latest attempt.
    expire_time : float
        When the operation is forgotten; that of an operation that has not ended is provisional.
    done, planned : float
        Progress in rows, as in the contract's Progress.
    attempt_count : int
        Attempts that count: all but those of servers that stopped, had no room, or found no quota.
    crash_count : int
        Times that the request ended its worker process.
    is_cancel_requested : bool
    error : bytes or None
        Serialised google.rpc.Status of a FAILED or CANCELLED operation.
    plan : bytes
        Serialised ExplanationPlan; empty where none is kept, and in lists.
    part_count : int
        Times that a part of the answer was kept.
    response_byte_count : int
    """

    id: str
    owner: str
    state: OperationState
    request_id: str
    request_digest: str
    labels: Mapping[str, str]
    method_names: tuple[str, ...]
    create_time: float
    expire_time: float
    start_time: float | None = None
    end_time: float | None = None
    done: float = 0.0
    planned: float = 0.0
    attempt_count: int = 0
    crash_count: int = 0
    is_cancel_requested: bool = False
    error: bytes | None = None
    plan: bytes = b""
    part_count: int = 0
    response_byte_count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class NewOperation:
    """Request to start an operation.

    Attributes
    ----------
    request : bytes
        Serialised ExplainRequest that names its files by id.
    blobs : Blobs
        These files, by id.
    caller_name, caller_address : str
        Sender, in whose name the request is computed.
    model_id, table_id, table_form : str
        Ids of the files and format of the table; empty without one.
    request_id, labels, method_names
        See `Operation`.
    """

    request: bytes
    blobs: Blobs = field(default_factory=dict)
    caller_name: str = ""
    caller_address: str = ""
    model_id: str = ""
    table_id: str = ""
    table_form: str = ""
    request_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    method_names: tuple[str, ...] = ()

    @property
    def byte_count(self) -> int:
        """Size of the request and its files."""
        return len(self.request) + sum(len(blob.content) for blob in self.blobs.values())

    def digest(self) -> str:
        """Return a hash of the request, which names its files by their hashes."""
        parts = (self.request, self.table_form.encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class OperationLimits:
    """Limits of an operation store.

    Attributes
    ----------
    byte_count : int
        Requests, files, plans, parts of answers and responses of all operations together.
    seconds : float
        How long an operation is kept after its end.
    kept_count : int
        Operations kept per caller.
    running_count : int
        Operations of one caller that run at the same time.
    lease_seconds : float
        Silence of a consumer after which others may claim its operations.
    """

    byte_count: int = 2**30
    seconds: float = 86_400.0
    kept_count: int = 1_000
    running_count: int = 1_000
    lease_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """Statistics of a store.

    Attributes
    ----------
    states : mapping of OperationState to int
        Kept operations by state.
    oldest_pending_seconds : float
        Age of the oldest PENDING operation; 0 without one.
    resumed_count : int
        Operations that a consumer took over from one that was gone.
    byte_count : int
        Requests, files, plans, parts of answers and responses.
    """

    states: Mapping[OperationState, int]
    oldest_pending_seconds: float = 0.0
    resumed_count: int = 0
    byte_count: int = 0


def owner_key(caller_name: str) -> str:
    """Return the key of a caller's operations, as uploads have it."""
    return hashlib.sha256(caller_name.encode()).hexdigest()


def check_same(operation: Operation, digest: str) -> Operation:
    """Return the operation, or raise REQUEST_ID_IN_USE if its request was another one."""
    if operation.request_digest == digest:
        return operation
    raise ExplainError(
        Reason.REQUEST_ID_IN_USE,
        "an operation with this request_id has another request; choose a new request_id, or "
        "delete that operation",
        "request_id",
    )


def too_many(kept_count: int) -> ExplainError:
    """Return the refusal of one more operation of a caller."""
    return ExplainError(
        Reason.QUOTA_EXCEEDED,
        f"the server keeps {kept_count:,} operations per caller; delete some, or wait until they "
        "expire",
    )


def no_room(byte_count: int, limit: int) -> ExplainError:
    """Return the refusal of bytes for which there is no room."""
    return ExplainError(
        Reason.QUOTA_EXCEEDED,
        f"the operation needs {byte_count:,} bytes, and operations have {limit:,} bytes together, "
        "of which too few are free; delete operations, or ask again later",
    )
