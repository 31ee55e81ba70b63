"""Status codes of both transports: one table from reason to gRPC code and HTTP status."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grpc import StatusCode

from onnxplain_server.core.errors import ExplainError, Reason


@dataclass(frozen=True, slots=True)
class Status:
    """Status codes of a reason; `retry_seconds` is set if a retry may succeed."""

    grpc: StatusCode
    http: int
    retry_seconds: int | None = None


_INVALID = Status(StatusCode.INVALID_ARGUMENT, 400)
_TOO_LARGE = Status(StatusCode.RESOURCE_EXHAUSTED, 413)
_PRECONDITION = Status(StatusCode.FAILED_PRECONDITION, 400)


def retry_seconds(error: ExplainError) -> int | None:
    """Return after how many seconds a retry may succeed; None where none may, or nobody knows."""
    if error.retry_seconds is not None:
        return math.ceil(error.retry_seconds)
    return STATUS[error.reason].retry_seconds


STATUS: Mapping[Reason, Status] = MappingProxyType(
    {
        Reason.INVALID_REQUEST: _INVALID,
        Reason.UNAUTHENTICATED: Status(StatusCode.UNAUTHENTICATED, 401),
        Reason.BLOB_NOT_FOUND: Status(StatusCode.NOT_FOUND, 404),
        Reason.SOURCE_NOT_LISTED: Status(StatusCode.PERMISSION_DENIED, 403),
        Reason.SOURCE_NOT_FOUND: Status(StatusCode.NOT_FOUND, 404),
        Reason.SOURCE_FORBIDDEN: Status(StatusCode.PERMISSION_DENIED, 403),
        Reason.SOURCE_CHANGED: Status(StatusCode.ABORTED, 409),
        Reason.SOURCE_UNAVAILABLE: Status(StatusCode.UNAVAILABLE, 503, retry_seconds=1),
        Reason.REMOTE_MODEL_NOT_LISTED: Status(StatusCode.PERMISSION_DENIED, 403),
        Reason.REMOTE_MODEL_NOT_FOUND: Status(StatusCode.NOT_FOUND, 404),
        Reason.REMOTE_MODEL_FORBIDDEN: Status(StatusCode.PERMISSION_DENIED, 403),
        Reason.REMOTE_MODEL_UNAVAILABLE: Status(StatusCode.UNAVAILABLE, 503, retry_seconds=1),
        Reason.REMOTE_MODEL_ANSWER: Status(StatusCode.FAILED_PRECONDITION, 422),
        Reason.REMOTE_MODEL_CHANGED: Status(StatusCode.ABORTED, 409),
        Reason.INVALID_MODEL: _INVALID,
        Reason.UNSUPPORTED_MODEL: _INVALID,
        Reason.EXTERNAL_DATA: _INVALID,
        Reason.MODEL_TOO_LARGE: _TOO_LARGE,
        Reason.MODEL_TOO_COMPLEX: _INVALID,
        Reason.INCONSISTENT_MODEL: _PRECONDITION,
        Reason.MARGIN_UNAVAILABLE: _INVALID,
        Reason.INVALID_TABLE: _INVALID,
        Reason.EMPTY_TABLE: _INVALID,
        Reason.TABLE_TOO_LARGE: _TOO_LARGE,
        Reason.MISSING_COLUMN: _INVALID,
        Reason.WRONG_TYPE: _INVALID,
        Reason.INVALID_WEIGHTS: _INVALID,
        Reason.UNKNOWN_FEATURE: _INVALID,
        Reason.INVALID_OPTION: _INVALID,
        Reason.NON_FINITE_PREDICTION: _PRECONDITION,
        Reason.PREDICTION_FAILED: _PRECONDITION,
        Reason.RESPONSE_TOO_LARGE: _TOO_LARGE,
        Reason.TOO_MANY_ROWS: _TOO_LARGE,
        Reason.OUT_OF_MEMORY: _TOO_LARGE,
        Reason.LOADING_TOO_LONG: Status(StatusCode.DEADLINE_EXCEEDED, 504),
        Reason.MODEL_QUARANTINED: _PRECONDITION,
        Reason.WORKER_DIED: Status(StatusCode.UNAVAILABLE, 503, retry_seconds=1),
        Reason.DEADLINE_EXCEEDED: Status(StatusCode.DEADLINE_EXCEEDED, 504),
        # 499 is nginx's code for a client that disconnected; RFC 9110 has none.
        Reason.CANCELLED: Status(StatusCode.CANCELLED, 499),
        Reason.QUOTA_EXCEEDED: Status(StatusCode.RESOURCE_EXHAUSTED, 429),
        Reason.REQUEST_ID_IN_USE: Status(StatusCode.ALREADY_EXISTS, 409),
        Reason.OPERATION_NOT_FOUND: Status(StatusCode.NOT_FOUND, 404),
        Reason.OPERATION_NOT_DONE: Status(StatusCode.FAILED_PRECONDITION, 409),
        Reason.OPERATIONS_DISABLED: Status(StatusCode.UNIMPLEMENTED, 501),
        Reason.OVERLOADED: Status(StatusCode.RESOURCE_EXHAUSTED, 429, retry_seconds=1),
        Reason.UNAVAILABLE: Status(StatusCode.UNAVAILABLE, 503, retry_seconds=1),
        Reason.INTERNAL: Status(StatusCode.INTERNAL, 500),
    }
)
