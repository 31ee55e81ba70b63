"""Flow of the calls of the service on messages of the contract, with retry and uploads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, monotonic
from onnxplain.transport.connection import Connection
from onnxplain.transport.error_translation import translate_errors
from onnxplain.transport.retry import Attempts
from onnxplain.transport.rpcs import Request, Response, Rpc
from onnxplain.transport.uploads import File, PendingRequest, model_parts, table_parts
from onnxplain.transport.waiting import Waiting
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

_LABELS_BYTES = 2**17
"""Room for what a start adds to a request."""


class Retrying:
    """Repetition of calls until they succeed or cannot succeed.

    Parameters
    ----------
    connection : Connection
    waiting : Waiting
    """

    def __init__(self, connection: Connection, waiting: Waiting) -> None:
        self._connection = connection
        self._waiting = waiting

    async def persist(
        self, attempts: Attempts, call: Callable[[float | None], Awaitable[_Response]]
    ) -> _Response:
        """Make a call with its remaining seconds, again where that may help."""
        while True:
            try:
                with translate_errors(self._connection.endpoint):
                    return await call(attempts.seconds())
            except ExplainError as error:
                await self._waiting.pause(attempts.pause(error))

    def unary(self, method: Any, request: Any) -> Callable[[float | None], Awaitable[Any]]:
        """Return a call with one request and one response."""

        def call(seconds: float | None) -> Awaitable[Any]:
            return self._waiting.answer(method(request, **self._connection.call_options(seconds)))

        return call


class RpcFlow:
    """Calls of the service by gRPC, as coroutines.

    Parameters
    ----------
    channel : grpc.Channel or grpc.aio.Channel
    connection : Connection
        Settings of every call.
    waiting : Waiting
        As the channel waits.
    """

    def __init__(self, channel: Any, connection: Connection, waiting: Waiting) -> None:
        self._connection = connection
        self._waiting = waiting
        self._retrying = Retrying(connection, waiting)
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    async def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Call Explain, or ExplainStream where there is a progress callback."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        if progress is None:
            response: ExplainResponse = await self._call_with_uploads(
                pending, timeout, lambda r: self._retrying.unary(self._service.Explain, r)
            )
            return response
        callback = monotonic(progress)
        return await self._call_with_uploads(
            pending, timeout, lambda r: lambda s: self._follow_stream(r, s, callback)
        )

    async def explain_stream(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> AsyncGenerator[ExplainStreamResponse]:
        """Call ExplainStream; there is no retry after its first event."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        call, events, event = await self._call_with_uploads(
            pending, timeout, lambda r: lambda s: self._start_stream(r, s)
        )
        try:
            with translate_errors(self._connection.endpoint):
                while event is not None:
                    yield event
                    event = await anext(events, None)
        finally:
            call.cancel()
            await events.aclose()

    async def start(
        self,
        request: ExplainRequest,
        *,
        request_id: str,
        labels: Mapping[str, str],
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Any:
        """Call StartExplanation; the request id makes repetitions safe."""
        limit = self._connection.message_limit - _LABELS_BYTES
        pending = PendingRequest(request, files, max(0, limit))

        def call(whole: ExplainRequest) -> Callable[[float | None], Awaitable[Any]]:
            asked = StartExplanationRequest(request=whole, request_id=request_id, labels=labels)
            return self._retrying.unary(self._service.StartExplanation, asked)

        return await self._call_with_uploads(pending, timeout, call)

    async def answer(
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
        response: Response = await self._call_with_uploads(
            pending, timeout, lambda r: self._retrying.unary(method, r)
        )
        return response

    async def upload(
        self,
        file: File,
        *,
        timeout: float | None = None,
    ) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return await self._upload(file, self._connection.attempts(timeout))

    async def health(
        self,
        service: str = "",
        *,
        timeout: float | None = None,
    ) -> str:
        """Call Check of the standard health service, without retry."""
        request = health_pb2.HealthCheckRequest(service=service)
        call = self._retrying.unary(self._health.Check, request)
        with translate_errors(self._connection.endpoint):
            reply = await call(self._connection.seconds(timeout))
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    async def _call_with_uploads(
        self,
        pending: PendingRequest[Any],
        timeout: float | None,
        call: Callable[[Any], Callable[[float | None], Awaitable[_Response]]],
    ) -> _Response:
        """Make a call with a request; upload the files that the server no longer has."""
        attempts = self._connection.attempts(timeout)
        while True:
            try:
                return await self._retrying.persist(attempts, call(pending.request))
            except ExplainError as error:
                file = pending.missing(error)
                if file is None:
                    raise
                await self._upload(file, attempts)

    async def _upload(self, file: File, attempts: Attempts) -> str:
        size = self._connection.part_bytes

        def send(seconds: float | None) -> Awaitable[Any]:
            options = self._connection.call_options(seconds)
            if isinstance(file, Model):
                call = self._service.UploadModel(model_parts(file, size), **options)
            else:
                call = self._service.UploadTable(table_parts(file, size), **options)
            return self._waiting.answer(call)

        return str((await self._retrying.persist(attempts, send)).id)

    async def _start_stream(
        self, request: ExplainRequest, seconds: float | None
    ) -> tuple[Any, AsyncGenerator[Any], Any]:
        """Start a stream; return its call, its events, and the first of these, or None."""
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        events = self._waiting.events(call)
        return call, events, await anext(events, None)

    async def _follow_stream(
        self, request: ExplainRequest, seconds: float | None, callback: ProgressCallback
    ) -> ExplainResponse:
        call, events, event = await self._start_stream(request, seconds)
        response = None
        try:
            # To the end of the stream: leaving it at the response would look like a cancellation.
            while event is not None:
                response = read_event(event, callback) or response
                event = await anext(events, None)
        finally:
            call.cancel()
            await events.aclose()
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
