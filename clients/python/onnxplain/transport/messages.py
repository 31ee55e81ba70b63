"""Calls on messages of the contract, as clients make them: by gRPC, or in the own process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from onnxplain.progress import ProgressCallback
from onnxplain.transport.operation_calls import OperationMessages
from onnxplain.transport.rpcs import Request, Response, Rpc
from onnxplain.transport.uploads import File
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)


class Messages(Protocol):
    """Calls that take and return messages; every failure is an ExplainError."""

    @property
    def operations(self) -> OperationMessages:
        """Calls about operations that were started."""

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Explain, and report progress.

        `files` are uploaded again where the server has evicted what the request names by id.
        """

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Explain with progress; leaving the loop early cancels the computation."""

    def start(
        self,
        request: ExplainRequest,
        *,
        request_id: str,
        labels: Mapping[str, str],
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Any:
        """Start an explanation, and return its google.longrunning.Operation."""

    def answer(
        self,
        rpc: Rpc[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Response:
        """Call an RPC that answers at once."""

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Upload a file for later calls, and return its id."""

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Return the status of `Client.health`."""

    def close(self) -> None:
        """Close the channel; running calls end."""
