"""Calls of the service on messages of the contract: of threads, and of asyncio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc

from onnxplain.progress import ProgressCallback
from onnxplain.transport.connection import Connection
from onnxplain.transport.flow import RpcFlow
from onnxplain.transport.operation_calls import AsyncRemoteOperations, RemoteOperations
from onnxplain.transport.rpcs import Request, Response, Rpc
from onnxplain.transport.uploads import File
from onnxplain.transport.waiting import InEventLoop, OnThread, finished, finished_each
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)


class AsyncRemote(RpcFlow):
    """`Remote` with coroutines; cancelling a task cancels its call.

    Parameters
    ----------
    channel : grpc.aio.Channel
        Closed with this.
    connection : Connection
        Settings of every call.
    """

    def __init__(self, channel: grpc.aio.Channel, connection: Connection) -> None:
        super().__init__(channel, connection, InEventLoop())
        self._channel = channel
        self.operations = AsyncRemoteOperations(channel, connection)

    async def close(self) -> None:
        """Close the channel; running calls end."""
        await self._channel.close()


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
        self._flow = RpcFlow(channel, connection, OnThread())
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
        call = self._flow.explain(request, timeout=timeout, progress=progress, files=files)
        return finished(call)

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Call ExplainStream; there is no retry after its first event."""
        return finished_each(self._flow.explain_stream(request, timeout=timeout, files=files))

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
        return finished(
            self._flow.start(
                request, request_id=request_id, labels=labels, timeout=timeout, files=files
            )
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
        return finished(self._flow.answer(rpc, request, timeout=timeout, files=files))

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Call UploadModel or UploadTable, in parts."""
        return finished(self._flow.upload(file, timeout=timeout))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Call Check of the standard health service, without retry."""
        return finished(self._flow.health(service, timeout=timeout))

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()
