"""The calls of the service with the contract's messages as they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.border import translated
from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, rising
from onnxplain.retry import Attempts
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

_Answer = TypeVar("_Answer")


class Messages(Protocol):
    """Message in, message out; every failure is an ExplainError."""

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> ExplainResponse:
        """Explain; `progress` is told on the way."""

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None
    ) -> Iterator[ExplainStreamResponse]:
        """Explain with progress; leaving the loop early cancels the computation."""

    def describe(
        self, request: DescribeModelRequest, *, timeout: float | None = None
    ) -> DescribeModelResponse:
        """Tell what a model takes and gives."""

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Return the verdict of `Client.health`."""

    def close(self) -> None:
        """Let go of what is held; running calls end."""


class Remote:
    """Messages to a server, as `Messages` has them.

    Parameters
    ----------
    channel : grpc.Channel
        Closed with this.
    endpoint : str
        Named in errors.
    timeout : float or None
        Seconds for each call that names no other.
    retry_count : int
        Attempts after a first one that met nobody, or a server with too much to do.
    """

    def __init__(
        self, channel: grpc.Channel, endpoint: str, timeout: float | None, retry_count: int
    ) -> None:
        self._channel = channel
        self._endpoint = endpoint
        self._timeout = timeout
        self._retry_count = retry_count
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
        if progress is None:
            answer: ExplainResponse = self._persist(
                timeout, lambda s: self._service.Explain(request, timeout=s)
            )
            return answer
        tell = rising(progress)
        return self._persist(timeout, lambda s: self._followed(request, s, tell))

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None
    ) -> Iterator[ExplainStreamResponse]:
        """Call ExplainStream; what breaks after its first event is not tried again."""
        event, call = self._persist(timeout, lambda s: self._begun(request, s))
        try:
            with translated(self._endpoint):
                while event is not None:
                    yield event
                    event = next(call, None)
        finally:
            call.cancel()

    def describe(
        self, request: DescribeModelRequest, *, timeout: float | None = None
    ) -> DescribeModelResponse:
        """Call DescribeModel."""
        answer: DescribeModelResponse = self._persist(
            timeout, lambda s: self._service.DescribeModel(request, timeout=s)
        )
        return answer

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call the standard health service's Check: once, since it asks about this moment."""
        seconds = self._timeout if timeout is None else timeout
        with translated(self._endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = self._health.Check(request, timeout=seconds)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _persist(self, timeout: float | None, call: Callable[[float | None], _Answer]) -> _Answer:
        """Make a call, told its seconds, until it is answered or there is no use in it."""
        attempts = Attempts(self._retry_count, self._timeout if timeout is None else timeout)
        while True:
            try:
                with translated(self._endpoint):
                    return call(attempts.seconds())
            except ExplainError as error:
                time.sleep(attempts.pause(error))

    def _begun(self, request: ExplainRequest, seconds: float | None) -> tuple[Any, Any]:
        """Begin a stream; return its first event, or None, and the call for the rest."""
        call = self._service.ExplainStream(ExplainStreamRequest(request=request), timeout=seconds)
        return next(call, None), call

    def _followed(
        self, request: ExplainRequest, seconds: float | None, tell: ProgressCallback
    ) -> ExplainResponse:
        answer = None
        call = self._service.ExplainStream(ExplainStreamRequest(request=request), timeout=seconds)
        try:
            # To the end of the stream: leaving it at the response would look like a cancellation.
            for event in call:
                answer = take(event, tell) or answer
        finally:
            call.cancel()
        return answer or no_answer()


def take(event: ExplainStreamResponse, tell: ProgressCallback) -> ExplainResponse | None:
    """Return the response where the event is that; otherwise tell the progress."""
    if event.HasField("response"):
        return event.response
    tell(event.progress.done, event.progress.planned)
    return None


def no_answer() -> ExplainResponse:
    """Raise for a stream that ended too early."""
    raise ExplainError("INTERNAL", "the stream ended without an answer", "", "INTERNAL")
