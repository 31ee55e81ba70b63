"""The calls of the service for asyncio, with the contract's messages as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from onnxplain.border import translated
from onnxplain.calls import no_answer, take
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


class AsyncRemote:
    """As `onnxplain.calls.Remote`, to be awaited; cancelling a task ends its call.

    Parameters
    ----------
    channel : grpc.aio.Channel
        Closed with this.
    endpoint : str
        Named in errors.
    timeout : float or None
        Seconds for each call that names no other.
    retry_count : int
        Attempts after a first one that met nobody, or a server with too much to do.
    """

    def __init__(
        self, channel: grpc.aio.Channel, endpoint: str, timeout: float | None, retry_count: int
    ) -> None:
        self._channel = channel
        self._endpoint = endpoint
        self._timeout = timeout
        self._retry_count = retry_count
        self._service = ExplanationServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    async def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> ExplainResponse:
        """Call Explain; or ExplainStream where `progress` wants to be told."""
        if progress is None:
            return await self._persist(timeout, lambda s: self._service.Explain(request, timeout=s))
        tell = rising(progress)
        return await self._persist(timeout, lambda s: self._followed(request, s, tell))

    async def explain_stream(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
    ) -> AsyncGenerator[ExplainStreamResponse]:
        """Call ExplainStream; what breaks after its first event is not tried again."""
        event, call = await self._persist(timeout, lambda s: self._begun(request, s))
        try:
            with translated(self._endpoint):
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
    ) -> DescribeModelResponse:
        """Call DescribeModel."""
        return await self._persist(
            timeout, lambda s: self._service.DescribeModel(request, timeout=s)
        )

    async def health(
        self,
        service: str = "",
        *,
        timeout: float | None = None,
    ) -> str:
        """Call the standard health service's Check: once, since it asks about this moment."""
        seconds = self._timeout if timeout is None else timeout
        with translated(self._endpoint):
            request = health_pb2.HealthCheckRequest(service=service)
            reply = await self._health.Check(request, timeout=seconds)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status))

    async def close(self) -> None:
        """Close the channel; running calls end."""
        await self._channel.close()

    async def _persist(
        self, timeout: float | None, call: Callable[[float | None], Awaitable[_Answer]]
    ) -> _Answer:
        """Make a call, told its seconds, until it is answered or there is no use in it."""
        attempts = Attempts(self._retry_count, self._timeout if timeout is None else timeout)
        while True:
            try:
                with translated(self._endpoint):
                    return await call(attempts.seconds())
            except ExplainError as error:
                await asyncio.sleep(attempts.pause(error))

    async def _begun(self, request: ExplainRequest, seconds: float | None) -> tuple[Any, Any]:
        """Begin a stream; return its first event, or EOF, and the call for the rest."""
        call = self._service.ExplainStream(ExplainStreamRequest(request=request), timeout=seconds)
        return await call.read(), call

    async def _followed(
        self, request: ExplainRequest, seconds: float | None, tell: ProgressCallback
    ) -> ExplainResponse:
        answer = None
        call = self._service.ExplainStream(ExplainStreamRequest(request=request), timeout=seconds)
        try:
            async for event in call:
                answer = take(event, tell) or answer
        finally:
            call.cancel()
        return answer or no_answer()
