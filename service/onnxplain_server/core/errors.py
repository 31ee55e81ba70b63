"""Errors of requests: one exception class, with a stable reason; status codes are elsewhere."""

from __future__ import annotations

from enum import Enum

_MESSAGE_BYTE_LIMIT = 1_200
"""With its details, such a message fits into the 8 KiB of metadata that gRPC clients accept."""

_FIELD_BYTE_LIMIT = 300


class Reason(Enum):
    """Reason why a request failed; stable, and part of the contract."""

    INVALID_REQUEST = "The request itself cannot be read, or a required part is missing."
    UNAUTHENTICATED = "The caller is not authenticated; send a valid token."
    BLOB_NOT_FOUND = "No uploaded file has this id, or it was evicted; upload it again."
    SOURCE_NOT_LISTED = "The operator of the server has not listed this address for reading."
    SOURCE_NOT_FOUND = "Nothing is at this address."
    SOURCE_FORBIDDEN = "The store refuses the server, or leads it elsewhere."
    SOURCE_CHANGED = "The file has changed while it was read, or is not the one that is pinned."
    SOURCE_UNAVAILABLE = "The store does not answer, or not completely; a later retry may succeed."
    REMOTE_MODEL_NOT_LISTED = "The operator of the server has not listed the model's address."
    REMOTE_MODEL_NOT_FOUND = "The server at this address has no such model, or not this version."
    REMOTE_MODEL_FORBIDDEN = "The server of the model refuses this one, or leads it elsewhere."
    REMOTE_MODEL_UNAVAILABLE = "The server of the model does not answer; a retry may succeed."
    REMOTE_MODEL_ANSWER = "The server of the model gives an answer that is no prediction."
    REMOTE_MODEL_CHANGED = "The model at the address was replaced during the computation."
    INVALID_MODEL = "The bytes are not a valid ONNX model."
    UNSUPPORTED_MODEL = "The model is ONNX, but of a kind that cannot be explained."
    EXTERNAL_DATA = "The model refers to files outside itself."
    MODEL_TOO_LARGE = "The model exceeds the limit of this server."
    MODEL_TOO_COMPLEX = "The model has more nodes, outputs or levels than this server takes."
    INCONSISTENT_MODEL = "The model gives different predictions for the same row."
    MARGIN_UNAVAILABLE = "The model has no additive score before its answer."
    INVALID_TABLE = "The table cannot be read."
    EMPTY_TABLE = "The table has too few rows."
    TABLE_TOO_LARGE = "The table exceeds the limit of this server."
    MISSING_COLUMN = "The table lacks a column that is needed."
    WRONG_TYPE = "A column has values of a type that the model does not take."
    INVALID_WEIGHTS = "Case weights are negative, not finite, or all zero."
    UNKNOWN_FEATURE = "The model has no feature of this name."
    INVALID_OPTION = "An option has an invalid value."
    NON_FINITE_PREDICTION = "The model, or an expression over its outputs, gives NaN or infinity."
    PREDICTION_FAILED = "The model cannot be evaluated on the rows."
    RESPONSE_TOO_LARGE = "The response would exceed the limit of this server."
    TOO_MANY_ROWS = "The request would have the model predict more rows than this server allows."
    OUT_OF_MEMORY = "The request needs more memory than this server allows for one request."
    LOADING_TOO_LONG = "Loading the model takes longer than this server allows."
    MODEL_QUARANTINED = "The model crashed the process that evaluates it, and is refused for now."
    WORKER_DIED = "The worker process ended during the computation; a retry may succeed."
    DEADLINE_EXCEEDED = "The deadline of the request has passed."
    CANCELLED = "The caller cancelled the request or disconnected."
    QUOTA_EXCEEDED = "The caller has used up what this server allows it, or keeps for operations."
    REQUEST_ID_IN_USE = "An operation with this request id has another request."
    OPERATION_NOT_FOUND = "The caller has no operation of this name, or it has expired."
    OPERATION_NOT_DONE = "The operation has no answer yet; wait for its end."
    OPERATIONS_DISABLED = "The server keeps no operations: it has no Redis."
    OVERLOADED = "The server is overloaded; a later retry may succeed."
    UNAVAILABLE = "The server is stopping, or cannot compute now."
    INTERNAL = "The server failed; its log has details under the request's id."


class ExplainError(Exception):
    """Failure of a request.

    Parameters
    ----------
    reason : Reason
        For programs.
    message : str
        For people: which input, which rule, what to do. May contain names that a client
        chose: unprintable characters are escaped here, and long messages are cut.
    field : str
        Path of the request's field, like "methods[0].interactions.features"; may be empty.
    retry_seconds : float or None
        When the same request may succeed, where that is known.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        field: str = "",
        *,
        retry_seconds: float | None = None,
    ) -> None:
        self.reason = reason
        self.retry_seconds = retry_seconds
        self.message = printable(message, _MESSAGE_BYTE_LIMIT)
        self.field = printable(field, _FIELD_BYTE_LIMIT)
        super().__init__(self.message)


def printable(text: str, byte_limit: int) -> str:
    """Escape control characters and line breaks, and cut to a number of bytes of UTF-8."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    if len(encoded := text.encode()) <= byte_limit:
        return text
    return encoded[: byte_limit - 3].decode(errors="ignore") + "…"
