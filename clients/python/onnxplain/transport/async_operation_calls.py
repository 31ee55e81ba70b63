"""Calls of google.longrunning.Operations for asyncio, on messages, with retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import grpc
from google.longrunning import operations_pb2
from google.longrunning.operations_pb2_grpc import OperationsStub
from google.protobuf.duration_pb2 import Duration

from onnxplain.errors import ExplainError
from onnxplain.transport.connection import Connection
from onnxplain.transport.error_translation import translate_errors
from onnxplain.v1.explanation_service_pb2 import (
    ExplainResponse,
    PartialExplanation,
    ReadExplanationRequest,
    ReadPartialExplanationsRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

_Response = TypeVar("_Response")


class AsyncRemoteOperations:
    """`onnxplain.transport.operation_calls.RemoteOperations` with coroutines.

    Parameters
    ----------
    channel : grpc.aio.Channel
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.aio.Channel, connection: Connection) -> None:
        self._connection = connection
        self._operations = OperationsStub(channel)
        self._service = ExplanationServiceStub(channel)

    async def get(self, name: str, *, timeout: float | None = None) -> Any:
        """Call GetOperation."""
        request = operations_pb2.GetOperationRequest(name=name)
        return await self._retry(timeout, self._unary(self._operations.GetOperation, request))

    async def pages(self, query: str, *, timeout: float | None = None) -> AsyncGenerator[Any]:
        """Call ListOperations for each page, and yield the operations."""
        request = operations_pb2.ListOperationsRequest(name="operations", filter=query)
        while True:
            call = self._unary(self._operations.ListOperations, request)
            page = await self._retry(timeout, call)
            for operation in page.operations:
                yield operation
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    async def wait(self, name: str, seconds: float, *, timeout: float | None = None) -> Any:
        """Call WaitOperation."""
        duration = Duration()
        duration.FromMilliseconds(round(1000 * seconds))
        request = operations_pb2.WaitOperationRequest(name=name, timeout=duration)
        return await self._retry(timeout, self._unary(self._operations.WaitOperation, request))

    async def cancel(self, name: str, *, timeout: float | None = None) -> None:
        """Call CancelOperation."""
        request = operations_pb2.CancelOperationRequest(name=name)
        await self._retry(timeout, self._unary(self._operations.CancelOperation, request))

    async def delete(self, name: str, *, timeout: float | None = None) -> None:
        """Call DeleteOperation."""
        request = operations_pb2.DeleteOperationRequest(name=name)
        await self._retry(timeout, self._unary(self._operations.DeleteOperation, request))

    async def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:
        """Call ReadExplanation; after a failure, go on behind what has arrived."""
        content = bytearray()

        async def read_rest(seconds: float | None) -> None:
            request = ReadExplanationRequest(name=name, offset=len(content))
            options = self._connection.call_options(seconds)
            async for part in self._service.ReadExplanation(request, **options):
                content.extend(part.content)

        await self._retry(timeout, read_rest)
        return ExplainResponse.FromString(bytes(content))

    async def partials(
        self, name: str, *, timeout: float | None = None
    ) -> Sequence[PartialExplanation]:
        """Call ReadPartialExplanations."""
        request = ReadPartialExplanationsRequest(name=name)

        async def read(seconds: float | None) -> Sequence[PartialExplanation]:
            options = self._connection.call_options(seconds)
            parts = self._service.ReadPartialExplanations(request, **options)
            return [part async for part in parts]

        return await self._retry(timeout, read)

    def _unary(self, method: Any, request: Any) -> Callable[[float | None], Awaitable[Any]]:
        return lambda seconds: method(request, **self._connection.call_options(seconds))

    async def _retry(
        self, timeout: float | None, call: Callable[[float | None], Awaitable[_Response]]
    ) -> _Response:
        attempts = self._connection.attempts(timeout)
        while True:
            try:
                with translate_errors(self._connection.endpoint):
                    return await call(attempts.seconds())
            except ExplainError as error:
                await asyncio.sleep(attempts.pause(error))
