"""Errors as gRPC tells them: a code, a message, and google.rpc details."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.record import Record
from onnxplain_server.transport.status import STATUS

DOMAIN = "onnxplain"
REQUEST_ID = "x-request-id"


@contextmanager
def answering(context: grpc.ServicerContext, method: str, metrics: Metrics) -> Iterator[None]:
    """Answer whatever is raised inside by a status; log and count the request."""
    given = dict(context.invocation_metadata()).get(REQUEST_ID)
    record = Record(method, given)
    metrics.rpc_started(method)
    context.send_initial_metadata(((REQUEST_ID, record.request_id),))
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the border: callers are told by `presentable`
        presentable = record.presentable(error)
        _reject(record, metrics, method, presentable.reason)
        context.abort_with_status(status_of(presentable, record.request_id))
    except GeneratorExit:
        _reject(record, metrics, method, Reason.CANCELLED)
        raise
    else:
        metrics.rpc_ended(method, "OK", record.close("OK"))


def _reject(record: Record, metrics: Metrics, method: str, reason: Reason) -> None:
    metrics.rpc_ended(method, STATUS[reason].grpc.name, record.close(reason.name))
    metrics.rejected(reason.name)


def status_of(error: ExplainError, request_id: str) -> Any:
    """Return the status with its details, as `ServicerContext.abort_with_status` takes it."""
    status = Status(code=STATUS[error.reason].grpc.value[0], message=error.message)
    for detail in _details(error, request_id):
        status.details.add().Pack(detail)
    return rpc_status.to_status(status)


def _details(error: ExplainError, request_id: str) -> Iterator[Message]:
    yield ErrorInfo(reason=error.reason.name, domain=DOMAIN)
    yield RequestInfo(request_id=request_id)
    if error.field:
        fault = BadRequest.FieldViolation(field=error.field, description=error.message)
        yield BadRequest(field_violations=[fault])
    if (seconds := STATUS[error.reason].retry_seconds) is not None:
        yield RetryInfo(retry_delay={"seconds": seconds})
