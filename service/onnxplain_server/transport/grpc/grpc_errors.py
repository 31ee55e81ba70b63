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
from onnxplain.v1 import explanation_service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Attributes
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.request_log import NOBODY, OK, RequestRecord
from onnxplain_server.transport.status import STATUS

DOMAIN = "onnxplain"
REQUEST_ID = "x-request-id"

_SERVICE = explanation_service_pb2.DESCRIPTOR.services_by_name["ExplanationService"].full_name


def name_caller(context: grpc.ServicerContext, name: str) -> None:
    """Note who calls on the call itself, which lives exactly as long, on whichever thread."""
    context.onnxplain_caller = name


def caller_name(context: grpc.ServicerContext) -> str:
    """Return who calls; fails where nobody was asked."""
    return str(context.onnxplain_caller)


def _caller_logged(context: grpc.ServicerContext) -> str:
    return str(getattr(context, "onnxplain_caller", NOBODY))


@contextmanager
def answering(
    context: grpc.ServicerContext, method: str, metrics: Metrics, tracer: Tracer
) -> Iterator[RequestRecord]:
    """Answer whatever is raised inside by a status; log, count and trace the request."""
    headers = {k: v for k, v in context.invocation_metadata() if isinstance(v, str)}
    called = {"rpc.system": "grpc", "rpc.service": _SERVICE, "rpc.method": method}
    trace = tracer.begin(f"{_SERVICE}/{method}", headers, called)
    record, caller = RequestRecord(method, headers.get(REQUEST_ID), trace), _caller_logged(context)
    metrics.rpc_started(method)
    context.send_initial_metadata(((REQUEST_ID, record.request_id),))
    try:
        yield record
    except Exception as error:  # noqa: BLE001 - the border: callers are told by `presentable`
        presentable = record.presentable(error)
        _reject(record, metrics, method, presentable.reason, caller)
        context.abort_with_status(status_of(presentable, record.request_id))
    except GeneratorExit:
        _reject(record, metrics, method, Reason.CANCELLED, caller)
        raise
    else:
        seconds = record.close(OK, caller, attributes=_ended(grpc.StatusCode.OK))
        metrics.rpc_ended(method, OK, seconds)


def _reject(
    record: RequestRecord, metrics: Metrics, method: str, reason: Reason, caller: str
) -> None:
    code = STATUS[reason].grpc
    metrics.rpc_ended(method, code.name, record.close(reason.name, caller, attributes=_ended(code)))
    metrics.rejected(reason.name)


def _ended(code: grpc.StatusCode) -> Attributes:
    return {"rpc.grpc.status_code": code.value[0]}


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
