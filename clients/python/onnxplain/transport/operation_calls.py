"""Calls of google.longrunning.Operations on messages, with retry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

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


class RemoteOperations:
    """`OperationMessages` by gRPC to a server.

    Parameters
    ----------
    channel : grpc.Channel
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.Channel, connection: Connection) -> None:
        self._connection = connection
        self._operations = OperationsStub(channel)
        self._service = ExplanationServiceStub(channel)

    def get(self, name: str, *, timeout: float | None = None) -> Any:
        """Call GetOperation."""
        request = operations_pb2.GetOperationRequest(name=name)
        return self._retry(timeout, self._unary(self._operations.GetOperation, request))

    def list(
        self, query: str, page_size: int, page_token: str, *, timeout: float | None = None
    ) -> Any:
        """Call ListOperations."""
        request = operations_pb2.ListOperationsRequest(
            name="operations", filter=query, page_size=page_size, page_token=page_token
        )
        return self._retry(timeout, self._unary(self._operations.ListOperations, request))

    def wait(self, name: str, seconds: float, *, timeout: float | None = None) -> Any:
        """Call WaitOperation."""
        duration = Duration()
        duration.FromMilliseconds(round(1000 * seconds))
        request = operations_pb2.WaitOperationRequest(name=name, timeout=duration)
        return self._retry(timeout, self._unary(self._operations.WaitOperation, request))

    def cancel(self, name: str, *, timeout: float | None = None) -> None:
        """Call CancelOperation."""
        request = operations_pb2.CancelOperationRequest(name=name)
        self._retry(timeout, self._unary(self._operations.CancelOperation, request))

    def delete(self, name: str, *, timeout: float | None = None) -> None:
        """Call DeleteOperation."""
        request = operations_pb2.DeleteOperationRequest(name=name)
        self._retry(timeout, self._unary(self._operations.DeleteOperation, request))

    def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:
        """Call ReadExplanation; after a failure, go on behind what has arrived."""
        content = bytearray()

        def read_rest(seconds: float | None) -> None:
            request = ReadExplanationRequest(name=name, offset=len(content))
            options = self._connection.call_options(seconds)
            for part in self._service.ReadExplanation(request, **options):
                content.extend(part.content)

        self._retry(timeout, read_rest)
        return ExplainResponse.FromString(bytes(content))

    def partials(self, name: str, *, timeout: float | None = None) -> Sequence[PartialExplanation]:
        """Call ReadPartialExplanations."""
        request = ReadPartialExplanationsRequest(name=name)

        def read(seconds: float | None) -> Sequence[PartialExplanation]:
            options = self._connection.call_options(seconds)
            return tuple(self._service.ReadPartialExplanations(request, **options))

        return self._retry(timeout, read)

    def _unary(self, method: Any, request: Any) -> Callable[[float | None], Any]:
        return lambda seconds: method(request, **self._connection.call_options(seconds))

    def _retry(self, timeout: float | None, call: Callable[[float | None], _Response]) -> _Response:
        """Retry a call until it succeeds or cannot succeed."""
        attempts = self._connection.attempts(timeout)
        while True:
            try:
                with translate_errors(self._connection.endpoint):
                    return call(attempts.seconds())
            except ExplainError as error:
                time.sleep(attempts.pause(error))


def pages(messages: OperationMessages, query: str, timeout: float | None) -> Iterator[Any]:
    """Yield the operations of all pages."""
    token = ""
    while True:
        page = messages.list(query, 0, token, timeout=timeout)
        yield from page.operations
        token = page.next_page_token
        if not token:
            return
