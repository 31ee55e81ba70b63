"""The calls of the service with the contract's messages as they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, monotonic
from onnxplain.transport.connection import Connection
from onnxplain.transport.error_translation import translate_errors
from onnxplain.transport.retry import Attempts
from onnxplain.transport.uploads import File, PendingRequest, model_parts, table_parts
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import Model

_Answer = TypeVar("_Answer")


class Messages(Protocol):
    """Message in, message out; every failure is an ExplainError."""

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Explain; `progress` is told on the way.

        Where the server has no longer what the request names by id, it is taken from `files`.
        """

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Explain with progress; leaving the loop early cancels the computation."""

    def describe(
        self,
        request: DescribeModelRequest,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> DescribeModelResponse:
        """Tell what a model takes and gives."""

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Keep a file for later calls, and return its id."""

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
    connection : Connection
        What holds for every call.
    """

    def __init__(self, channel: grpc.Channel, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Call Explain; or ExplainStream where `progress` wants to be told."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        if progress is not None:
            tell = monotonic(progress)
            return self._call_with_uploads(
                pending, timeout, lambda r, s: self._follow_stream(r, s, tell)
            )
        answer: ExplainResponse = self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.Explain(r, **self._connection.call_options(s)),
        )
        return answer

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Call ExplainStream; what breaks after its first event is not tried again."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        event, call = self._call_with_uploads(pending, timeout, self._start_stream)
        try:
            with translate_errors(self._connection.endpoint):
                while event is not None:
                    yield event
                    event = next(call, None)
        finally:
            call.cancel()

    def describe(
        self,
        request: DescribeModelRequest,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> DescribeModelResponse:
        """Call DescribeModel."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        answer: DescribeModelResponse = self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.DescribeModel(r, **self._connection.call_options(s)),
        )
        return answer

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return self._upload(file, self._connection.attempts(timeout))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call the standard health service's Check: once, since it asks about this moment."""
        with translate_errors(self._connection.endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = self._health.Check(
                request, **self._connection.call_options(self._connection.seconds(timeout))
            )
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _call_with_uploads(
        self,
        pending: PendingRequest[Any],
        timeout: float | None,
        call: Callable[[Any, float | None], _Answer],
    ) -> _Answer:
        """Make a call; upload the files that the server no longer has."""
        attempts = self._connection.attempts(timeout)
        while True:
            try:
                return self._retry(attempts, lambda s: call(pending.request, s))
            except ExplainError as error:
                file = pending.missing(error)
                if file is None:
                    raise
                self._upload(file, attempts)

    def _retry(self, attempts: Attempts, call: Callable[[float | None], _Answer]) -> _Answer:
        """Make a call, told its seconds, until it is answered or there is no use in it."""
        while True:
            try:
                with translate_errors(self._connection.endpoint):
                    return call(attempts.seconds())
            except ExplainError as error:
                time.sleep(attempts.pause(error))

    def _upload(self, file: File, attempts: Attempts) -> str:
        service, size = self._service, self._connection.part_bytes
        if isinstance(file, Model):
            model = file
            reply = self._retry(
                attempts,
                lambda s: service.UploadModel(
                    model_parts(model, size), **self._connection.call_options(s)
                ),
            )
        else:
            table = file
            reply = self._retry(
                attempts,
                lambda s: service.UploadTable(
                    table_parts(table, size), **self._connection.call_options(s)
                ),
            )
        return str(reply.id)

    def _start_stream(self, request: ExplainRequest, seconds: float | None) -> tuple[Any, Any]:
        """Begin a stream; return its first event, or None, and the call for the rest."""
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        return next(call, None), call

    def _follow_stream(
        self, request: ExplainRequest, seconds: float | None, tell: ProgressCallback
    ) -> ExplainResponse:
        answer = None
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        try:
            # To the end of the stream: leaving it at the response would look like a cancellation.
            for event in call:
                answer = read_event(event, tell) or answer
        finally:
            call.cancel()
        return answer or missing_response()


def read_event(event: ExplainStreamResponse, tell: ProgressCallback) -> ExplainResponse | None:
    """Return the response where the event is that; otherwise tell the progress."""
    if event.HasField("response"):
        return event.response
    tell(event.progress.done, event.progress.planned)
    return None


def missing_response() -> ExplainResponse:
    """Raise for a stream that ended too early."""
    raise ExplainError("INTERNAL", "the stream ended without an answer", "", "INTERNAL")
