"""Calls of the service on messages of the contract, with retry and uploads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, monotonic
from onnxplain.transport.connection import Connection
from onnxplain.transport.error_translation import translate_errors
from onnxplain.transport.operation_calls import RemoteOperations
from onnxplain.transport.retry import Attempts
from onnxplain.transport.rpcs import Request, Response, Rpc
from onnxplain.transport.uploads import File, PendingRequest, model_parts, table_parts
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    ExplainStreamResponse,
    StartExplanationRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import Model

_Response = TypeVar("_Response")

LABELS_BYTES = 2**17
"""Room for what a start adds to a request."""


class Remote:
    """`Messages` by gRPC to a server.

    Parameters
    ----------
    channel : grpc.Channel
        Closed with this.
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.Channel, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)
        self.operations = RemoteOperations(channel, connection)

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Call Explain, or ExplainStream where there is a progress callback."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        if progress is not None:
            callback = monotonic(progress)
            return self._call_with_uploads(
                pending, timeout, lambda r, s: self._follow_stream(r, s, callback)
            )
        response: ExplainResponse = self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.Explain(r, **self._connection.call_options(s)),
        )
        return response

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Call ExplainStream; there is no retry after its first event."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        event, call = self._call_with_uploads(pending, timeout, self._start_stream)
        try:
            with translate_errors(self._connection.endpoint):
                while event is not None:
                    yield event
                    event = next(call, None)
        finally:
            call.cancel()

    def start(
        self,
        request: ExplainRequest,
        *,
        request_id: str,
        labels: Mapping[str, str],
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Any:
        """Call StartExplanation; the request id makes repetitions safe."""
        limit = self._connection.message_limit - LABELS_BYTES
        pending = PendingRequest(request, files, max(0, limit))
        return self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.StartExplanation(
                StartExplanationRequest(request=r, request_id=request_id, labels=labels),
                **self._connection.call_options(s),
            ),
        )

    def answer(
        self,
        rpc: Rpc[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Response:
        """Call an RPC that answers at once."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        method = getattr(self._service, rpc.name)
        response: Response = self._call_with_uploads(
            pending, timeout, lambda r, s: method(r, **self._connection.call_options(s))
        )
        return response

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return self._upload(file, self._connection.attempts(timeout))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call Check of the standard health service, without retry."""
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
        call: Callable[[Any, float | None], _Response],
    ) -> _Response:
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

    def _retry(self, attempts: Attempts, call: Callable[[float | None], _Response]) -> _Response:
        """Retry a call with its remaining seconds until it succeeds or cannot succeed."""
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
        """Start a stream; return its first event, or None, and the call for the rest."""
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        return next(call, None), call

    def _follow_stream(
        self, request: ExplainRequest, seconds: float | None, callback: ProgressCallback
    ) -> ExplainResponse:
        response = None
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        try:
            # To the end of the stream: leaving it at the response would look like a cancellation.
            for event in call:
                response = read_event(event, callback) or response
        finally:
            call.cancel()
        return response or missing_response()


def read_event(event: ExplainStreamResponse, callback: ProgressCallback) -> ExplainResponse | None:
    """Return the response if the event is one; otherwise report the progress."""
    if event.HasField("response"):
        return event.response
    if event.HasField("progress"):
        callback(event.progress.done, event.progress.planned)
    return None


def missing_response() -> ExplainResponse:
    """Raise an error for a stream that ended without a response."""
    raise ExplainError("INTERNAL", "the stream ended without an answer", "", "INTERNAL")
