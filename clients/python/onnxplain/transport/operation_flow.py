"""Flow of the calls of google.longrunning.Operations on messages, with retry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.longrunning import operations_pb2
from google.longrunning.operations_pb2_grpc import OperationsStub
from google.protobuf.duration_pb2 import Duration

from onnxplain.transport.connection import Connection
from onnxplain.transport.flow import Retrying
from onnxplain.transport.waiting import Waiting
from onnxplain.v1.explanation_service_pb2 import (
    ExplainResponse,
    PartialExplanation,
    ReadExplanationRequest,
    ReadPartialExplanationsRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub


class OperationFlow:
    """Calls about operations by gRPC, as coroutines.

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
        self._operations = OperationsStub(channel)
        self._service = ExplanationServiceStub(channel)

    async def get(self, name: str, *, timeout: float | None = None) -> Any:
        """Call GetOperation."""
        request = operations_pb2.GetOperationRequest(name=name)
        return await self._call(self._operations.GetOperation, request, timeout)

    async def list(
        self,
        query: str,
        page_size: int,
        page_token: str,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Call ListOperations."""
        request = operations_pb2.ListOperationsRequest(
            name="operations", filter=query, page_size=page_size, page_token=page_token
        )
        return await self._call(self._operations.ListOperations, request, timeout)

    async def wait(
        self,
        name: str,
        seconds: float,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Call WaitOperation."""
        duration = Duration()
        duration.FromMilliseconds(round(1000 * seconds))
        request = operations_pb2.WaitOperationRequest(name=name, timeout=duration)
        return await self._call(self._operations.WaitOperation, request, timeout)

    async def cancel(self, name: str, *, timeout: float | None = None) -> None:
        """Call CancelOperation."""
        request = operations_pb2.CancelOperationRequest(name=name)
        await self._call(self._operations.CancelOperation, request, timeout)

    async def delete(self, name: str, *, timeout: float | None = None) -> None:
        """Call DeleteOperation."""
        request = operations_pb2.DeleteOperationRequest(name=name)
        await self._call(self._operations.DeleteOperation, request, timeout)

    async def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:
        """Call ReadExplanation; after a failure, go on behind what has arrived."""
        content = bytearray()

        async def read_rest(seconds: float | None) -> None:
            request = ReadExplanationRequest(name=name, offset=len(content))
            options = self._connection.call_options(seconds)
            call = self._service.ReadExplanation(request, **options)
            async for part in self._waiting.events(call):
                content.extend(part.content)

        await self._retrying.persist(self._connection.attempts(timeout), read_rest)
        return ExplainResponse.FromString(bytes(content))

    async def partials(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Sequence[PartialExplanation]:
        """Call ReadPartialExplanations."""
        request = ReadPartialExplanationsRequest(name=name)

        async def read(seconds: float | None) -> Sequence[PartialExplanation]:
            options = self._connection.call_options(seconds)
            call = self._service.ReadPartialExplanations(request, **options)
            return [part async for part in self._waiting.events(call)]

        return await self._retrying.persist(self._connection.attempts(timeout), read)

    async def _call(self, method: Any, request: Any, timeout: float | None) -> Any:
        """Make a call, again where that may help."""
        call = self._retrying.unary(method, request)
        return await self._retrying.persist(self._connection.attempts(timeout), call)
