"""gRPC methods of ExplanationService: each decodes, calls the service and encodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceServicer
from onnxplain.v1.upload_pb2 import (
    UploadModelRequest,
    UploadModelResponse,
    UploadTableRequest,
    UploadTableResponse,
)

from onnxplain_server.telemetry.spans import Spans
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc import grpc_uploads
from onnxplain_server.transport.grpc.grpc_errors import answering, caller_name
from onnxplain_server.transport.grpc.receiving import MessageReceiver
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.service import Service

_Message = TypeVar("_Message")


class ExplanationServicer(ExplanationServiceServicer):
    """onnxplain.v1.ExplanationService, fed by `MessageStreamInterceptor`: requests are iterators.

    Parameters
    ----------
    service : Service
    metrics : Metrics
    tracer : Tracer
    receiver : MessageReceiver
        Waits for messages.
    message_bytes : int
        Limit of a message.
    longest_seconds : float
        Time limit of an upload; may be infinite.
    """

    def __init__(
        self,
        service: Service,
        metrics: Metrics,
        tracer: Tracer,
        receiver: MessageReceiver,
        *,
        message_bytes: int,
        longest_seconds: float,
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._tracer = tracer
        self._receiver = receiver
        self._message_bytes = message_bytes
        self._longest_seconds = longest_seconds

    def Explain(  # noqa: N802 - the contract's name
        self, requests: Iterator[ExplainRequest], context: grpc.ServicerContext
    ) -> ExplainResponse:
        """Serve this method of the contract."""
        with self._admitted(context, "Explain") as ticket:
            return self._service.explain(self._only(requests, ticket), ticket)

    def ExplainStream(  # noqa: N802 - the contract's name
        self, requests: Iterator[ExplainStreamRequest], context: grpc.ServicerContext
    ) -> Iterator[ExplainStreamResponse]:
        """Serve this method of the contract."""
        with self._admitted(context, "ExplainStream") as ticket:
            yield from self._service.events(self._only(requests, ticket).request, ticket)

    def DescribeModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[DescribeModelRequest], context: grpc.ServicerContext
    ) -> DescribeModelResponse:
        """Serve this method of the contract."""
        with self._admitted(context, "DescribeModel") as ticket:
            return self._service.describe(self._only(requests, ticket), ticket)

    def UploadModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadModelRequest], context: grpc.ServicerContext
    ) -> UploadModelResponse:
        """Serve this method of the contract."""
        with self._admitted_upload(context, "UploadModel") as ticket:
            parts = grpc_uploads.parts(self._parts(requests, ticket))
            return self._service.upload_model(parts, ticket)

    def UploadTable(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadTableRequest], context: grpc.ServicerContext
    ) -> UploadTableResponse:
        """Serve this method of the contract."""
        with self._admitted_upload(context, "UploadTable") as ticket:
            form, parts = grpc_uploads.table(self._parts(requests, ticket))
            return self._service.upload_table(form, parts, ticket)

    def _only(self, requests: Iterator[_Message], ticket: Ticket) -> _Message:
        with ticket.caller.spans.measure("receive"):
            return self._receiver.only(requests, ticket, self._message_bytes)

    def _parts(self, requests: Iterator[_Message], ticket: Ticket) -> Iterator[_Message]:
        return self._receiver.messages(requests, ticket, grpc_uploads.PART_BYTES)

    @contextmanager
    def _admitted(self, context: grpc.ServicerContext, method: str) -> Iterator[Ticket]:
        """Hold a ticket during a call, and turn errors into its status."""
        with (
            answering(context, method, self._metrics, self._tracer) as record,
            self._service.admit(_caller(context, record.spans)) as ticket,
        ):
            yield ticket

    @contextmanager
    def _admitted_upload(self, context: grpc.ServicerContext, method: str) -> Iterator[Ticket]:
        """Hold a ticket during an upload, for a limited time."""
        with (
            self._admitted(context, method) as ticket,
            grpc_uploads.time_limit(context, self._longest_seconds),
        ):
            yield ticket


def _caller(context: grpc.ServicerContext, spans: Spans) -> Caller:
    remaining = context.time_remaining()
    seconds = math.inf if remaining is None else remaining
    address = caller_addresses.of_peer(context.peer())
    return Caller(caller_name(context), seconds, lambda: not context.is_active(), address, spans)
