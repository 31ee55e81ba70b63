"""The calls of the service with the contract's messages as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.border import translated
from onnxplain.errors import ExplainError
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

ProgressCallback: TypeAlias = Callable[[float, float], object]
"""Told the rows done, and the rows planned."""


class Messages:
    """Message in, message out; every failure is an ExplainError.

    Parameters
    ----------
    channel : grpc.Channel
    endpoint : str
        Named in errors.
    timeout : float, optional
        Seconds for each call that names no other.
    """

    def __init__(self, channel: grpc.Channel, endpoint: str, timeout: float | None) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> ExplainResponse:
        """Call Explain; or ExplainStream where `progress` wants to be told."""
        if progress is not None:
            return self._followed(request, timeout, progress)
        with translated(self._endpoint):
            answer: ExplainResponse = self._service.Explain(request, timeout=self._seconds(timeout))
            return answer

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None
    ) -> Iterator[ExplainStreamResponse]:
        """Call ExplainStream; leaving the loop early cancels the computation."""
        with translated(self._endpoint):
            call = self._service.ExplainStream(
                ExplainStreamRequest(request=request), timeout=self._seconds(timeout)
            )
            try:
                yield from call
            finally:
                call.cancel()

    def describe(
        self, request: DescribeModelRequest, *, timeout: float | None = None
    ) -> DescribeModelResponse:
        """Call DescribeModel."""
        with translated(self._endpoint):
            answer: DescribeModelResponse = self._service.DescribeModel(
                request, timeout=self._seconds(timeout)
            )
            return answer

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call the standard health service's Check; see `Client.health`."""
        with translated(self._endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = self._health.Check(request, timeout=self._seconds(timeout))
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    def _followed(
        self, request: ExplainRequest, timeout: float | None, progress: ProgressCallback
    ) -> ExplainResponse:
        answer = None
        # To the end of the stream: leaving it at the response would look like a cancellation.
        for event in self.explain_stream(request, timeout=timeout):
            if event.HasField("response"):
                answer = event.response
            else:
                progress(event.progress.done, event.progress.planned)
        if answer is None:
            raise ExplainError("INTERNAL", "the stream ended without an answer", "", "INTERNAL")
        return answer

    def _seconds(self, timeout: float | None) -> float | None:
        return self._timeout if timeout is None else timeout
