"""Errors over gRPC: a status code, a message, and google.rpc details, as in AIP-193."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.grpc_methods import STREAMS, service_of
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.request_log import NOBODY, OK, RequestRecord
from onnxplain_server.transport.status import STATUS, retry_seconds

DOMAIN = "onnxplain"
REQUEST_ID = "x-request-id"

_EXPLANATIONS = frozenset({"Explain", "ExplainStream"})


def name_caller(context: grpc.ServicerContext, name: str) -> None:
    """Store the caller's name on the call's context, which all its threads share."""
    context.onnxplain_caller = name


def caller_name(context: grpc.ServicerContext) -> str:
    """Return the caller's name; AttributeError if the call was not authenticated."""
    return str(context.onnxplain_caller)


def _logged_caller(context: grpc.ServicerContext) -> str:
    return str(getattr(context, "onnxplain_caller", NOBODY))


@contextmanager
def answering(
    context: grpc.ServicerContext, method: str, metrics: Metrics, tracer: Tracer
) -> Iterator[RequestRecord]:
    """Turn errors raised inside into a status; log, count and trace the request."""
    headers = {k: v for k, v in context.invocation_metadata() if isinstance(v, str)}
    service = service_of(method)
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
    trace = tracer.begin(f"{service}/{method}", headers, attributes)
    record, caller = RequestRecord(method, headers.get(REQUEST_ID), trace), _logged_caller(context)
    metrics.rpc_started(method)
    # Else with the answer: a proxy can replace a call without headers by another status, which
    # tells a client that its server has died, and to retry.
    is_stream = method in STREAMS
    if is_stream:
        _send_request_id(context, record)
    try:
        yield record
        if not is_stream:
            _send_request_id(context, record)
    except Exception as error:  # noqa: BLE001 - the border: `presentable` hides it
        presentable = record.presentable(error)
        _reject(record, metrics, method, presentable.reason, caller)
        if not is_stream:
            _send_request_id(context, record)
        status = status_of(presentable, record.request_id)
        forget_frames(error)
        context.abort_with_status(status)
    except GeneratorExit:
        _reject(record, metrics, method, Reason.CANCELLED, caller)
        raise
    else:
        _close(record, metrics, method, (OK, grpc.StatusCode.OK), caller)


def _send_request_id(context: grpc.ServicerContext, record: RequestRecord) -> None:
    try:
        context.send_initial_metadata(((REQUEST_ID, record.request_id),))
    except grpc.RpcError as error:  # the caller has left
        forget_frames(error)


def forget_frames(error: BaseException | None) -> None:
    """Drop the tracebacks of a handled error and of those before it.

    Their frames refer to the error and to the call. In such a cycle, the call would keep its
    stream allocated until the garbage collector runs, and C-core refuses all further calls of a
    connection with `grpc.max_concurrent_streams` allocated streams.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _reject(
    record: RequestRecord, metrics: Metrics, method: str, reason: Reason, caller: str
) -> None:
    _close(record, metrics, method, (reason.name, STATUS[reason].grpc), caller)
    metrics.rejected(reason.name)


def _close(
    record: RequestRecord,
    metrics: Metrics,
    method: str,
    outcome: tuple[str, grpc.StatusCode],
    caller: str,
) -> None:
    reason, code = outcome
    attributes = {"rpc.grpc.status_code": code.value[0]}
    seconds = record.close(reason, caller, attributes=attributes)
    metrics.rpc_ended(method, code.name, seconds)
    if method in _EXPLANATIONS:
        metrics.explanation_ended(record.explanation("grpc", reason, caller, seconds))


def status_of(error: ExplainError, request_id: str) -> Any:
    """Return the status with its details, as `ServicerContext.abort_with_status` takes it."""
    return rpc_status.to_status(error_status(error, request_id))


def error_status(error: ExplainError, request_id: str = "") -> Status:
    """Return the google.rpc.Status of an error; without a request's id, for an operation."""
    status = Status(code=STATUS[error.reason].grpc.value[0], message=error.message)
    for detail in _details(error, request_id):
        status.details.add().Pack(detail)
    return status


def _details(error: ExplainError, request_id: str) -> Iterator[Message]:
    yield ErrorInfo(reason=error.reason.name, domain=DOMAIN)
    if request_id:
        yield RequestInfo(request_id=request_id)
    if error.field:
        violation = BadRequest.FieldViolation(field=error.field, description=error.message)
        yield BadRequest(field_violations=[violation])
    if (seconds := retry_seconds(error)) is not None:
        yield RetryInfo(retry_delay={"seconds": seconds})
