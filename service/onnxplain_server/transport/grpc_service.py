"""The gRPC methods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

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

from onnxplain_server.transport import addresses, grpc_uploads
from onnxplain_server.transport.admission import ANONYMOUS, Caller
from onnxplain_server.transport.grpc_errors import answering
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.place import Place
from onnxplain_server.transport.service import Service


class Explanations(ExplanationServiceServicer):
    """onnxplain.v1.ExplanationService.

    Parameters
    ----------
    service : Service
    metrics : Metrics
    longest_seconds : float
        Longest time for an upload; may be infinite.
    """

    def __init__(self, service: Service, metrics: Metrics, longest_seconds: float) -> None:
        self._service = service
        self._metrics = metrics
        self._longest_seconds = longest_seconds

    def Explain(  # noqa: N802 - the contract's name
        self, request: ExplainRequest, context: grpc.ServicerContext
    ) -> ExplainResponse:
        """See the contract."""
        with self._placed(context, "Explain") as place:
            return self._service.explain(request, place)

    def ExplainStream(  # noqa: N802 - the contract's name
        self, request: ExplainStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[ExplainStreamResponse]:
        """See the contract."""
        with self._placed(context, "ExplainStream") as place:
            yield from self._service.events(request.request, place)

    def DescribeModel(  # noqa: N802 - the contract's name
        self, request: DescribeModelRequest, context: grpc.ServicerContext
    ) -> DescribeModelResponse:
        """See the contract."""
        with self._placed(context, "DescribeModel") as place:
            return self._service.describe(request, place)

    def UploadModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadModelRequest], context: grpc.ServicerContext
    ) -> UploadModelResponse:
        """See the contract."""
        with self._taking(context, "UploadModel") as place:
            return self._service.upload_model(grpc_uploads.parts(requests), place)

    def UploadTable(  # noqa: N802 - the contract's name
        self, requests: Iterator[UploadTableRequest], context: grpc.ServicerContext
    ) -> UploadTableResponse:
        """See the contract."""
        with self._taking(context, "UploadTable") as place:
            return self._service.upload_table(*grpc_uploads.table(requests), place)

    @contextmanager
    def _placed(self, context: grpc.ServicerContext, method: str) -> Iterator[Place]:
        """Surround a call: it holds a place, and whatever goes wrong is told as its status."""
        with (
            answering(context, method, self._metrics),
            self._service.place(_caller(context)) as place,
        ):
            yield place

    @contextmanager
    def _taking(self, context: grpc.ServicerContext, method: str) -> Iterator[Place]:
        """Surround an upload: it does not hold its place for ever."""
        with (
            self._placed(context, method) as place,
            grpc_uploads.ending(context, self._longest_seconds),
        ):
            yield place


def _caller(context: grpc.ServicerContext) -> Caller:
    remaining = context.time_remaining()
    seconds = math.inf if remaining is None else remaining
    address = addresses.of_peer(context.peer())
    return Caller(ANONYMOUS, seconds, lambda: not context.is_active(), address)
