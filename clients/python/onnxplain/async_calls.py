"""The calls of the service for asyncio, with the contract's messages as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.border import translated
from onnxplain.calls import no_answer, take
from onnxplain.errors import ExplainError
from onnxplain.progress import ProgressCallback, rising
from onnxplain.retry import Attempts
from onnxplain.terms import Terms
from onnxplain.uploads import File, Parcel, model_parts, table_parts
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


class AsyncRemote:
    """As `onnxplain.calls.Remote`, to be awaited; cancelling a task ends its call.

    Parameters
    ----------
    channel : grpc.aio.Channel
        Closed with this.
    terms : Terms
        What holds for every call.
    """

    def __init__(self, channel: grpc.aio.Channel, terms: Terms) -> None:
        self._channel = channel
        self._terms = terms
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
        """Call Explain; or ExplainStream where `progress` wants to be told."""
        parcel = Parcel(request, files, self._terms.message_limit)
        if progress is not None:
            tell = rising(progress)
            return await self._deliver(parcel, timeout, lambda r, s: self._followed(r, s, tell))
        answer: ExplainResponse = await self._deliver(
            parcel, timeout, lambda r, s: self._service.Explain(r, **self._terms.sent(s))
        )
        return answer

    async def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> AsyncGenerator[ExplainStreamResponse]:
        """Call ExplainStream; what breaks after its first event is not tried again."""
        parcel = Parcel(request, files, self._terms.message_limit)
        event, call = await self._deliver(parcel, timeout, self._begun)
        try:
            with translated(self._terms.endpoint):
                while event is not grpc.aio.EOF:
                    yield event
                    event = await call.read()
        finally:
            call.cancel()

    async def describe(
        self,
        request: DescribeModelRequest,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> DescribeModelResponse:
        """Call DescribeModel."""
        parcel = Parcel(request, files, self._terms.message_limit)
        answer: DescribeModelResponse = await self._deliver(
            parcel, timeout, lambda r, s: self._service.DescribeModel(r, **self._terms.sent(s))
        )
        return answer

    async def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return await self._upload(file, self._terms.attempts(timeout))

    async def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call the standard health service's Check: once, since it asks about this moment."""
        with translated(self._terms.endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = await self._health.Check(
                request, **self._terms.sent(self._terms.seconds(timeout))
            )
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    async def close(self) -> None:
        """Close the channel; running calls end."""
        await self._channel.close()

    async def _deliver(
        self,
        parcel: Parcel[Any],
        timeout: float | None,
        call: Callable[[Any, float | None], Awaitable[_Answer]],
    ) -> _Answer:
        """Make a call with the parcel's request; upload what the server has no longer."""
        attempts = self._terms.attempts(timeout)
        while True:
            try:
                return await self._persist(attempts, lambda s: call(parcel.request, s))
            except ExplainError as error:
                file = parcel.missing(error)
                if file is None:
                    raise
                await self._upload(file, attempts)

    async def _persist(
        self, attempts: Attempts, call: Callable[[float | None], Awaitable[_Answer]]
    ) -> _Answer:
        """Make a call, told its seconds, until it is answered or there is no use in it."""
        while True:
            try:
                with translated(self._terms.endpoint):
                    return await call(attempts.seconds())
            except ExplainError as error:
                await asyncio.sleep(attempts.pause(error))

    async def _upload(self, file: File, attempts: Attempts) -> str:
        service, size = self._service, self._terms.part_bytes
        if isinstance(file, Model):
            model = file
            reply = await self._persist(
                attempts,
                lambda s: service.UploadModel(model_parts(model, size), **self._terms.sent(s)),
            )
        else:
            table = file
            reply = await self._persist(
                attempts,
                lambda s: service.UploadTable(table_parts(table, size), **self._terms.sent(s)),
            )
        return str(reply.id)

    async def _begun(self, request: ExplainRequest, seconds: float | None) -> tuple[Any, Any]:
        """Begin a stream; return its first event, or EOF, and the call for the rest."""
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._terms.sent(seconds)
        )
        return await call.read(), call

    async def _followed(
        self, request: ExplainRequest, seconds: float | None, tell: ProgressCallback
    ) -> ExplainResponse:
        answer = None
        call = self._service.ExplainStream(
            ExplainStreamRequest(request=request), **self._terms.sent(seconds)
        )
        try:
            async for event in call:
                answer = take(event, tell) or answer
        finally:
            call.cancel()
        return answer or no_answer()
