"""The gRPC methods."""

from __future__ import annotations

import math
from collections.abc import Iterator

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

from onnxplain_server.transport.admission import Caller
from onnxplain_server.transport.grpc_errors import answering
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.service import Service


class Explanations(ExplanationServiceServicer):
    """onnxplain.v1.ExplanationService."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self._service = service
        self._metrics = metrics

    def Explain(  # noqa: N802 - the contract's name
        self, request: ExplainRequest, context: grpc.ServicerContext
    ) -> ExplainResponse:
        """See the contract."""
        with answering(context, "Explain", self._metrics), self._service.place():
            return self._service.explain(request, _caller(context))

    def ExplainStream(  # noqa: N802 - the contract's name
        self, request: ExplainStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[ExplainStreamResponse]:
        """See the contract."""
        with answering(context, "ExplainStream", self._metrics), self._service.place():
            yield from self._service.events(request.request, _caller(context))

    def DescribeModel(  # noqa: N802 - the contract's name
        self, request: DescribeModelRequest, context: grpc.ServicerContext
    ) -> DescribeModelResponse:
        """See the contract."""
        with answering(context, "DescribeModel", self._metrics), self._service.place():
            return self._service.describe(request, _caller(context))


def _caller(context: grpc.ServicerContext) -> Caller:
    remaining = context.time_remaining()
    seconds = math.inf if remaining is None else remaining
    return Caller("anonymous", seconds, gone=lambda: not context.is_active())
