"""Translation of gRPC errors to ExplainError, with reason and field from the status details."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from onnxplain.errors import ExplainError

_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}

_DETAILS_KEY = "grpc-status-details-bin"

_Detail = TypeVar("_Detail", bound=Message)


@contextmanager
def translate_errors(endpoint: str) -> Iterator[None]:
    """Turn every failure of a call into an ExplainError.

    Parameters
    ----------
    endpoint : str
        Address of the server; named in the message where it is unreachable.
    """
    try:
        yield
    except grpc.RpcError as error:
        raise _translate(error, endpoint) from error


def error_of(status: Any) -> ExplainError:
    """Return the error of a google.rpc.Status that is no answer of a call, but of an operation."""
    return _error(status, _CODES.get(status.code, "UNKNOWN"), status.message)


def _translate(error: Any, endpoint: str) -> ExplainError:
    status = _status(error)
    info = _detail(status, error_details_pb2.ErrorInfo())
    code = error.code().name
    message = status.message or error.details() or "the call ended without a message"
    if not info.reason and code == "UNAVAILABLE":
        message = f"no answer from {endpoint}: {message}; check that a server listens there"
    return _error(status, code, message)


def _error(status: Any, code: str, message: str) -> ExplainError:
    info = _detail(status, error_details_pb2.ErrorInfo())
    violations = _detail(status, error_details_pb2.BadRequest()).field_violations
    field = violations[0].field if violations else ""
    return ExplainError(info.reason or code, message, field, code, _retry_seconds(status))


def _retry_seconds(status: Any) -> float | None:
    retry = _detail(status, error_details_pb2.RetryInfo())
    return (
        retry.retry_delay.ToTimedelta().total_seconds() if retry.HasField("retry_delay") else None
    )


def _status(error: Any) -> Any:
    """Return the google.rpc.Status that came with the error; empty where none did."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            _parse(status, value)
    return status


def _parse(status: Any, value: bytes) -> None:
    try:
        status.ParseFromString(value)
    except DecodeError:
        # A proxy may mangle details; code and text remain.
        status.Clear()


def _detail(status: Any, detail: _Detail) -> _Detail:
    """Fill `detail` from the first status detail of its type; leave it empty if there is none."""
    for packed in status.details:
        if packed.Unpack(detail):
            break
    return detail
