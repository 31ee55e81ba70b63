"""gRPC methods of google.longrunning.Operations, over explanations that were started."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import grpc
from google.longrunning.operations_pb2 import (
    CancelOperationRequest,
    DeleteOperationRequest,
    GetOperationRequest,
    ListOperationsRequest,
    ListOperationsResponse,
    Operation,
    WaitOperationRequest,
)
from google.longrunning.operations_pb2_grpc import OperationsServicer
from google.protobuf.empty_pb2 import Empty

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc.call_limit import CallLimit
from onnxplain_server.transport.grpc.grpc_messages import caller_of, parser
from onnxplain_server.transport.grpc.interceptors import count
from onnxplain_server.transport.grpc.receiving import MessageReceiver
from onnxplain_server.transport.grpc_errors import answering, caller_name
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.operation_arguments import wait_seconds
from onnxplain_server.transport.operations.operation_calls import OperationCalls
from onnxplain_server.transport.unread_replies import UnreadReplies

_MESSAGE_BYTES = 2**16

SILENT_COUNT, _CALLER_SILENT_COUNT = 64, 8
"""Calls, in all and of one caller, that may wait for their message, each on a thread."""

_SMALL = frozenset({"CancelOperation", "DeleteOperation"})
"""Methods whose replies take no memory, which who reads no others may call too."""

_Request = TypeVar(
    "_Request",
    CancelOperationRequest,
    DeleteOperationRequest,
    GetOperationRequest,
    ListOperationsRequest,
    WaitOperationRequest,
)


@dataclass(frozen=True, slots=True)
class _Call:
    """Call of an authenticated caller."""

    context: grpc.ServicerContext
    requests: Iterator[bytes]
    ticket: Ticket


class GrpcOperations(OperationsServicer):  # type: ignore[misc] # its package ships no types
    """google.longrunning.Operations, fed by `ByteStreamInterceptor`.

    No call takes a ticket of the scheduler: they compute nothing, and answer an overloaded
    server's callers too.

    Parameters
    ----------
    metrics : Metrics
    tracer : Tracer
    receiver : MessageReceiver
    calls : OperationCalls
    unread : UnreadReplies
    """

    def __init__(
        self,
        metrics: Metrics,
        tracer: Tracer,
        receiver: MessageReceiver,
        calls: OperationCalls,
        *,
        unread: UnreadReplies,
    ) -> None:
        self._calls = calls
        self._unread = unread
        self._metrics = metrics
        self._tracer = tracer
        self._receiver = receiver
        self._silent = CallLimit(SILENT_COUNT, _CALLER_SILENT_COUNT)

    def GetOperation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self._answering(requests, context, "GetOperation") as call:
            request = self._read(call, GetOperationRequest)
            operation = self._calls.get(caller_name(context), request.name)
            return self._reserved(call, operation)

    def ListOperations(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self._answering(requests, context, "ListOperations") as call:
            request = self._read(call, ListOperationsRequest)
            if request.name not in {"", "operations"}:
                message = f'the parent of operations is "operations", not "{request.name[:100]}"'
                raise ExplainError(Reason.INVALID_REQUEST, message, "name")
            page = self._calls.list(
                caller_name(context), request.filter, request.page_size, request.page_token
            )
            return self._reserved(call, page)

    def WaitOperation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self._answering(requests, context, "WaitOperation") as call:
            request = self._read(call, WaitOperationRequest)
            timeout = request.timeout
            seconds = timeout.seconds + timeout.nanos / 1e9 if request.HasField("timeout") else None
            operation = self._calls.wait(
                caller_name(context),
                request.name,
                wait_seconds(context.time_remaining(), seconds),
                lambda: not context.is_active(),
            )
            return self._reserved(call, operation)

    def CancelOperation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self._answering(requests, context, "CancelOperation") as call:
            self._calls.cancel(caller_name(context), self._read(call, CancelOperationRequest).name)
            return Empty().SerializeToString()

    def DeleteOperation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self._answering(requests, context, "DeleteOperation") as call:
            self._calls.delete(caller_name(context), self._read(call, DeleteOperationRequest).name)
            return Empty().SerializeToString()

    @contextmanager
    def _answering(
        self, requests: Iterator[bytes], context: grpc.ServicerContext, method: str
    ) -> Iterator[_Call]:
        """Turn errors into the status of a call, and refuse all where nothing is stored."""
        with answering(context, method, self._metrics, self._tracer) as record:
            self._calls.check_enabled()
            caller = caller_of(context, record.spans)
            if method not in _SMALL:
                self._unread.check(caller.key)
            yield _Call(context, requests, Ticket(caller, threading.RLock()))

    def _reserved(self, call: _Call, answer: Operation | ListOperationsResponse) -> bytes:
        """Serialise an answer, which may hold a result, once there is room for it."""
        count(call.context, self._unread, answer.ByteSize(), call.ticket.control.deadline)
        return bytes(answer.SerializeToString())

    def _read(self, call: _Call, kind: type[_Request]) -> _Request:
        with self._silent.held(call.ticket.caller_key):
            content = self._receiver.only(call.requests, call.ticket, _MESSAGE_BYTES)
        request: _Request = parser(kind)(content)
        return request
