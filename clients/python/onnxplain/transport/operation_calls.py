"""Calls of google.longrunning.Operations on messages: of threads, and of asyncio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, Protocol

import grpc

from onnxplain.transport.connection import Connection
from onnxplain.transport.operation_flow import OperationFlow
from onnxplain.transport.waiting import InEventLoop, OnThread, finished
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, PartialExplanation


class OperationMessages(Protocol):
    """Calls about operations that take and return messages; every failure is an ExplainError.

    Operations are google.longrunning.Operation, with an OperationMetadata.
    """

    def get(self, name: str, *, timeout: float | None = None) -> Any:
        """Return an operation."""

    def list(
        self, query: str, page_size: int, page_token: str, *, timeout: float | None = None
    ) -> Any:
        """Return a ListOperationsResponse: a page of operations without their responses."""

    def wait(self, name: str, seconds: float, *, timeout: float | None = None) -> Any:
        """Return an operation as soon as it ends, or after some seconds, or sooner."""

    def cancel(self, name: str, *, timeout: float | None = None) -> None:
        """Cancel an operation."""

    def delete(self, name: str, *, timeout: float | None = None) -> None:
        """Forget an operation."""

    def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:
        """Return the answer of an operation, however large."""

    def partials(self, name: str, *, timeout: float | None = None) -> Sequence[PartialExplanation]:
        """Return what an operation has finished so far, in the order of its methods."""


class AsyncRemoteOperations(OperationFlow):
    """`RemoteOperations` with coroutines.

    Parameters
    ----------
    channel : grpc.aio.Channel
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.aio.Channel, connection: Connection) -> None:
        super().__init__(channel, connection, InEventLoop())

    async def pages(self, query: str, *, timeout: float | None = None) -> AsyncGenerator[Any]:
        """Call ListOperations for each page, and yield the operations."""
        token = ""
        while True:
            page = await self.list(query, 0, token, timeout=timeout)
            for operation in page.operations:
                yield operation
            token = page.next_page_token
            if not token:
                return


class RemoteOperations:
    """`OperationMessages` by gRPC to a server.

    Parameters
    ----------
    channel : grpc.Channel
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.Channel, connection: Connection) -> None:
        self._flow = OperationFlow(channel, connection, OnThread())

    def get(self, name: str, *, timeout: float | None = None) -> Any:
        """Call GetOperation."""
        return finished(self._flow.get(name, timeout=timeout))

    def list(
        self, query: str, page_size: int, page_token: str, *, timeout: float | None = None
    ) -> Any:
        """Call ListOperations."""
        return finished(self._flow.list(query, page_size, page_token, timeout=timeout))

    def wait(self, name: str, seconds: float, *, timeout: float | None = None) -> Any:
        """Call WaitOperation."""
        return finished(self._flow.wait(name, seconds, timeout=timeout))

    def cancel(self, name: str, *, timeout: float | None = None) -> None:
        """Call CancelOperation."""
        finished(self._flow.cancel(name, timeout=timeout))

    def delete(self, name: str, *, timeout: float | None = None) -> None:
        """Call DeleteOperation."""
        finished(self._flow.delete(name, timeout=timeout))

    def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:
        """Call ReadExplanation; after a failure, go on behind what has arrived."""
        return finished(self._flow.read(name, timeout=timeout))

    def partials(self, name: str, *, timeout: float | None = None) -> Sequence[PartialExplanation]:
        """Call ReadPartialExplanations."""
        return finished(self._flow.partials(name, timeout=timeout))


def pages(messages: OperationMessages, query: str, timeout: float | None) -> Iterator[Any]:
    """Yield the operations of all pages."""
    token = ""
    while True:
        page = messages.list(query, 0, token, timeout=timeout)
        yield from page.operations
        token = page.next_page_token
        if not token:
            return
