"""Calls of the service for asyncio, on messages of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, monotonic
from onnxplain.transport.async_operation_calls import AsyncRemoteOperations
from onnxplain.transport.calls import LABELS_BYTES, missing_response, read_event
from onnxplain.transport.connection import Connection
from onnxplain.transport.error_translation import translate_errors
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


class AsyncRemote:
    """`onnxplain.transport.calls.Remote` with coroutines; cancelling a task cancels its call.

    Parameters
    ----------
    channel : grpc.aio.Channel
        Closed with this.
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.aio.Channel, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)
        self.operations = AsyncRemoteOperations(channel, connection)

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
        if progress is not None:
            callback = monotonic(progress)
            return await self._call_with_uploads(
                pending, timeout, lambda r, s: self._follow_stream(r, s, callback)
            )
        response: ExplainResponse = await self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.Explain(r, **self._connection.call_options(s)),
        )
        return response

    async def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> AsyncGenerator[ExplainStreamResponse]:
        """Call ExplainStream; there is no retry after its first event."""
        pending = PendingRequest(request, files, self._connection.message_limit)
        event, call = await self._call_with_uploads(pending, timeout, self._start_stream)
        try:
            with translate_errors(self._connection.endpoint):
                while event is not grpc.aio.EOF:
                    yield event
                    event = await call.read()
        finally:
            call.cancel()

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
        limit = self._connection.message_limit - LABELS_BYTES
        pending = PendingRequest(request, files, max(0, limit))
        return await self._call_with_uploads(
            pending,
            timeout,
            lambda r, s: self._service.StartExplanation(
                StartExplanationRequest(request=r, request_id=request_id, labels=labels),
                **self._connection.call_options(s),
            ),
        )

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
            pending, timeout, lambda r, s: method(r, **self._connection.call_options(s))
        )
        return response

    async def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return await self._upload(file, self._connection.attempts(timeout))

    async def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call Check of the standard health service, without retry."""
        with translate_errors(self._connection.endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = await self._health.Check(
                request, **self._connection.call_options(self._connection.seconds(timeout))
            )
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    async def close(self) -> None:
        """Close the channel; running calls end."""
        await self._channel.close()

    async def _call_with_uploads(
        self,
        pending: PendingRequest[Any],
        timeout: float | None,
        call: Callable[[Any, float | None], Awaitable[_Response]],
    ) -> _Response:
        """Make a call; upload the files that the server no longer has."""
        attempts = self._connection.attempts(timeout)
        while True:
            try:
                return await self._retry(attempts, lambda s: call(pending.request, s))
            except ExplainError as error:
                file = pending.missing(error)
                if file is None:
                    raise
                await self._upload(file, attempts)

    async def _retry(
        self, attempts: Attempts, call: Callable[[float | None], Awaitable[_Response]]
    ) -> _Response:
        """Retry a call with its remaining seconds until it succeeds or cannot succeed."""
        while True:
            try:
                with translate_errors(self._connection.endpoint):
                    return await call(attempts.seconds())
            except ExplainError as error:
                await asyncio.sleep(attempts.pause(error))

    async def _upload(self, file: File, attempts: Attempts) -> str:
        service, size = self._service, self._connection.part_bytes
        if isinstance(file, Model):
            model = file
            reply = await self._retry(
                attempts,
                lambda s: service.UploadModel(
                    model_parts(model, size), **self._connection.call_options(s)
                ),
            )
        else:
            table = file
            reply = await self._retry(
                attempts,
                lambda s: service.UploadTable(
                    table_parts(table, size), **self._connection.call_options(s)
                ),
            )
        return str(reply.id)

    async def _start_stream(
        self, request: ExplainRequest, seconds: float | None
    ) -> tuple[Any, Any]:
        """Start a stream; return its first event, or EOF, and the call for the rest."""
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        return await call.read(), call

    async def _follow_stream(
        self, request: ExplainRequest, seconds: float | None, callback: ProgressCallback
    ) -> ExplainResponse:
        response = None
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._connection.call_options(seconds)
        )
        try:
            async for event in call:
                response = read_event(event, callback) or response
        finally:
            call.cancel()
        return response or missing_response()
