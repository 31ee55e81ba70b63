"""The gRPC methods."""

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
from onnxplain_server.transport.grpc.receiving import Arrivals
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.service import Service

_Message = TypeVar("_Message")


class Explanations(ExplanationServiceServicer):
    """onnxplain.v1.ExplanationService, as `Readable` calls it: all requests are iterators.

    Parameters
    ----------
    service : Service
    metrics : Metrics
    tracer : Tracer
    arrivals : Arrivals
        Waits for messages.
    message_bytes : int
        Limit of a message.
    longest_seconds : float
        Longest time for an upload; may be infinite.
    """

    def __init__(
        self,
        service: Service,
        metrics: Metrics,
        tracer: Tracer,
        arrivals: Arrivals,
        *,
        message_bytes: int,
        longest_seconds: float,
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._tracer = tracer
        self._arrivals = arrivals
        self._message_bytes = message_bytes
        self._longest_seconds = longest_seconds

    def Explain(  # noqa: N802 - the contract's name
        self, requests: Iterator[ExplainRequest], context: grpc.ServicerContext
    ) -> ExplainResponse:
        """See the contract."""
        with self._placed(context, "Explain") as place:
            return self._service.explain(self._only(requests, place), place)

    def ExplainStream(  # noqa: N802 - the contract's name
        self, requests: Iterator[ExplainStreamRequest], context: grpc.ServicerContext
    ) -> Iterator[ExplainStreamResponse]:
        """See the contract."""
        with self._placed(context, "ExplainStream") as place:
            yield from self._service.events(self._only(requests, place).request, place)

    def DescribeModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[DescribeModelRequest], context: grpc.ServicerContext
    ) -> DescribeModelResponse:
        """See the contract."""
        with self._placed(context, "DescribeModel") as place:
            return self._service.describe(self._only(requests, place), place)

    def UploadModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadModelRequest], context: grpc.ServicerContext
    ) -> UploadModelResponse:
        """See the contract."""
        with self._taking(context, "UploadModel") as place:
            parts = grpc_uploads.parts(self._parts(requests, place))
            return self._service.upload_model(parts, place)

    def UploadTable(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadTableRequest], context: grpc.ServicerContext
    ) -> UploadTableResponse:
        """See the contract."""
        with self._taking(context, "UploadTable") as place:
            form, parts = grpc_uploads.table(self._parts(requests, place))
            return self._service.upload_table(form, parts, place)

    def _only(self, requests: Iterator[_Message], place: Ticket) -> _Message:
        with place.caller.spans.within("receive"):
            return self._arrivals.only(requests, place, self._message_bytes)

    def _parts(self, requests: Iterator[_Message], place: Ticket) -> Iterator[_Message]:
        return self._arrivals.each(requests, place, grpc_uploads.PART_BYTES)

    @contextmanager
    def _placed(self, context: grpc.ServicerContext, method: str) -> Iterator[Ticket]:
        """Surround a call: it holds a place, and whatever goes wrong is told as its status."""
        with (
            answering(context, method, self._metrics, self._tracer) as record,
            self._service.place(_caller(context, record.spans)) as place,
        ):
            yield place

    @contextmanager
    def _taking(self, context: grpc.ServicerContext, method: str) -> Iterator[Ticket]:
        """Surround an upload: it does not hold its place for ever."""
        with (
            self._placed(context, method) as place,
            grpc_uploads.ending(context, self._longest_seconds),
        ):
            yield place


def _caller(context: grpc.ServicerContext, spans: Spans) -> Caller:
    remaining = context.time_remaining()
    seconds = math.inf if remaining is None else remaining
    address = caller_addresses.of_peer(context.peer())
    return Caller(caller_name(context), seconds, lambda: not context.is_active(), address, spans)
