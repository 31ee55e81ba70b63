"""What can go wrong, as reasons that callers can act upon; no transport in here."""

from __future__ import annotations

from enum import Enum

_MOST_BYTES = 1_200
"""Of a message: with its details it fits into the 8 KiB that gRPC's clients take of metadata."""

_MOST_BYTES_OF_FIELD = 300


class Reason(Enum):
    """Why a request was refused or ended; stable, and part of the contract."""

    INVALID_REQUEST = "The request itself cannot be read, or a required part is missing."
    UNAUTHENTICATED = "The server cannot tell who calls; send a token, or another one."
    BLOB_NOT_FOUND = "No uploaded file has this id, or none any longer; upload it again."
    INVALID_MODEL = "The bytes are no ONNX model, or it is broken."
    UNSUPPORTED_MODEL = "The model is ONNX, but of a kind that cannot be explained."
    EXTERNAL_DATA = "The model refers to files outside itself."
    MODEL_TOO_LARGE = "The model exceeds the limit of this server."
    MODEL_TOO_COMPLEX = "The model has more nodes, outputs or levels than this server takes."
    INCONSISTENT_MODEL = "The model answers the same row differently."
    MARGIN_UNAVAILABLE = "The model has no additive score before its answer."
    INVALID_TABLE = "The table cannot be read."
    EMPTY_TABLE = "The table has too few rows."
    TABLE_TOO_LARGE = "The table exceeds the limit of this server."
    MISSING_COLUMN = "The table lacks a column that is needed."
    WRONG_TYPE = "A column has values of a type that the model does not take."
    INVALID_WEIGHTS = "Case weights are negative, not finite, or all zero."
    UNKNOWN_FEATURE = "A named feature is none of the model's."
    INVALID_OPTION = "An option is outside what is allowed."
    NON_FINITE_PREDICTION = "The model predicts NaN or infinity."
    PREDICTION_FAILED = "The model cannot be evaluated on the rows."
    TOO_MANY_ROWS = "The request would have the model predict more rows than this server allows."
    OUT_OF_MEMORY = "The request needs more memory than this server gives to one."
    LOADING_TOO_LONG = "Loading the model takes longer than this server allows."
    MODEL_QUARANTINED = "The model crashed the process that evaluates it, and is refused for now."
    WORKER_DIED = "The process that computed the answer ended; asking again may succeed."
    DEADLINE_EXCEEDED = "The time for the request is over."
    CANCELLED = "The caller has gone."
    OVERLOADED = "The server has as many requests as it takes; later ones may succeed."
    UNAVAILABLE = "The server is stopping, or cannot compute for now."
    INTERNAL = "The server failed; its log tells more under the request's id."


class ExplainError(Exception):
    """A request that ends without an answer.

    Parameters
    ----------
    reason : Reason
        What callers can act upon.
    message : str
        For people: which input, which rule, what to do. Names that a client chose may
        stand in it as they are: what cannot be printed is escaped here, what is too long cut.
    field : str
        Path of the request's field, like "methods[0].interactions.features"; may be empty.
    """

    def __init__(self, reason: Reason, message: str, field: str = "") -> None:
        self.reason = reason
        self.message = printable(message, _MOST_BYTES)
        self.field = printable(field, _MOST_BYTES_OF_FIELD)
        super().__init__(self.message)


def printable(text: str, most: int) -> str:
    """Escape what steers terminals or breaks lines, and cut to so many bytes of UTF-8."""
    if not text.isprintable():
        # The escapes of Python, of only those letters that need it.
        text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    if len(encoded := text.encode()) <= most:
        return text
    return encoded[: most - 3].decode(errors="ignore") + "…"
