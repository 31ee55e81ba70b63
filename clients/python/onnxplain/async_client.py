"""Client for asyncio: the calls of `Client` as coroutines."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Unpack

import grpc

from onnxplain.async_operations import AsyncOperation
from onnxplain.async_row_calls import AsyncRowCalls
from onnxplain.comparing import AsyncCompareCall
from onnxplain.errors import ShortTracebacks
from onnxplain.events import StreamEvent, refuse_partial, to_stream_event
from onnxplain.progress import ProgressCallback, progress_callback
from onnxplain.requests import RequestOptions, to_request
from onnxplain.requests.forms import Method
from onnxplain.requests.models import to_model, to_model_name
from onnxplain.results.explanations import Explanations
from onnxplain.results.plans import ExplanationPlan
from onnxplain.results.provenance import ModelDescription
from onnxplain.tables import to_table
from onnxplain.transport.calls import AsyncRemote
from onnxplain.transport.connection import MESSAGE_LIMIT, RETRY_COUNT, Connection
from onnxplain.transport.rpcs import DESCRIBE, PLAN
from onnxplain.transport.security import PathLike, Token, secure
from onnxplain.transport.uploads import ModelRef, TableRef, content_of, files_of
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest


def connect_async(
    endpoint: str = "localhost:8081",
    *,
    token: Token | None = None,
    tls: bool = False,
    ca_file: PathLike | None = None,
    certificate_file: PathLike | None = None,
    key_file: PathLike | None = None,
    credentials: grpc.ChannelCredentials | None = None,
    allow_unencrypted_token: bool = False,
    timeout: float | None = None,
    message_limit: int = MESSAGE_LIMIT,
    retry_count: int = RETRY_COUNT,
) -> AsyncClient:
    """Make a client for asyncio, with the arguments of `connect`, in a running event loop.

    Examples
    --------
    >>> async with onnxplain.connect_async("localhost:8081") as client:
    ...     explanation = await client.explain("model.onnx", frame, onnxplain.Interactions())
    """
    security = secure(
        endpoint,
        credentials=credentials,
        token=token,
        tls=tls,
        ca_file=ca_file,
        certificate_file=certificate_file,
        key_file=key_file,
        allow_unencrypted_token=allow_unencrypted_token,
    )
    connection = Connection(endpoint, timeout, message_limit, retry_count, security)
    return AsyncClient(AsyncRemote(connection.open(grpc.aio), connection))


class AsyncClient(AsyncCompareCall, AsyncRowCalls):
    """Client whose calls are coroutines, so that many run at a time; made by `connect_async`.

    Parameters
    ----------
    messages : AsyncRemote
        Closed with the client.

    Attributes
    ----------
    messages : AsyncRemote
        The same calls on messages of the contract.
    """

    def __init__(self, messages: AsyncRemote) -> None:
        self.messages = messages

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel; running calls end."""
        await self.messages.close()

    async def explain(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        timeout: float | None = None,
        progress: ProgressCallback | bool = True,
        **request: Unpack[RequestOptions],
    ) -> Explanations:
        """Explain a model on the rows of a table; see `Client.explain`.

        Examples
        --------
        >>> models = ["a.onnx", "b.onnx"]
        >>> explanation = await asyncio.gather(
        ...     *(client.explain(model, frame, onnxplain.Interactions()) for model in models)
        ... )
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = await self._file_of(model, table, columns, timeout)
            message = await asyncio.to_thread(to_request, model, table, *methods, **request)
            files = files_of(model, table)
            refuse_partial(message)
            with progress_callback(progress) as callback:
                response = await self.messages.explain(
                    message, timeout=timeout, progress=callback, files=files
                )
            return Explanations(response)

    async def explain_stream(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> AsyncGenerator[StreamEvent]:
        """Explain a model and yield progress; see `Client.explain_stream`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = await self._file_of(model, table, columns, timeout)
            message = await asyncio.to_thread(to_request, model, table, *methods, **request)
            files = files_of(model, table)
            async for event in self.messages.explain_stream(message, timeout=timeout, files=files):
                yield to_stream_event(event)

    async def start(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        request_id: str = "",
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> AsyncOperation:
        """Start an explanation that the server computes and keeps; see `Client.start`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = await self._file_of(model, table, columns, timeout)
            message = await asyncio.to_thread(to_request, model, table, *methods, **request)
            started = await self.messages.start(
                message,
                request_id=request_id or uuid.uuid4().hex,
                labels=labels or {},
                timeout=timeout,
                files=files_of(model, table),
            )
            return AsyncOperation(started, self.messages.operations)

    async def operation(self, name: str, *, timeout: float | None = None) -> AsyncOperation:
        """Return the operation of this name; OPERATION_NOT_FOUND."""
        __tracebackhide__ = True
        with ShortTracebacks():
            found = await self.messages.operations.get(name, timeout=timeout)
        return AsyncOperation(found, self.messages.operations)

    async def operations(
        self,
        filter: str = "",  # noqa: A002 - the contract's name
        *,
        timeout: float | None = None,
    ) -> AsyncGenerator[AsyncOperation]:
        """Yield the operations of this caller; see `Client.operations`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            async for message in self.messages.operations.pages(filter, timeout=timeout):
                yield AsyncOperation(message, self.messages.operations)

    async def plan(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> ExplanationPlan:
        """Tell what an explanation would take, without computing it; see `Client.plan`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = await self._file_of(model, table, columns, timeout)
            message = await asyncio.to_thread(to_request, model, table, *methods, **request)
            plan = await self.messages.answer(
                PLAN, message, timeout=timeout, files=files_of(model, table)
            )
            return ExplanationPlan.from_message(plan)

    async def describe(
        self,
        model: Any,
        *,
        timeout: float | None = None,
    ) -> ModelDescription:
        """Describe the inputs and outputs of a model."""
        __tracebackhide__ = True
        with ShortTracebacks():
            request = DescribeModelRequest(model=await asyncio.to_thread(to_model, model))
            files = files_of(model)
            response = await self.messages.answer(DESCRIBE, request, timeout=timeout, files=files)
            return ModelDescription.from_message(response.model)

    async def upload_model(self, model: Any, *, timeout: float | None = None) -> ModelRef:
        """Upload a model; see `Client.upload_model`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            file = await asyncio.to_thread(to_model, model)
            uploaded = await self.messages.upload(file, timeout=timeout)
            return ModelRef(uploaded, content_of(file), to_model_name("", model))

    async def upload_table(
        self, table: Any, *, feature_columns: Sequence[str] = (), timeout: float | None = None
    ) -> TableRef:
        """Upload a table; see `Client.upload_table`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            file = await asyncio.to_thread(to_table, table, feature_columns)
            uploaded = await self.messages.upload(file, timeout=timeout)
            return TableRef(uploaded, content_of(file), str(file.WhichOneof("source")))

    async def health(
        self,
        service: str = "",
        *,
        timeout: float | None = None,
    ) -> str:
        """Return the health of the server; see `Client.health`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            return await self.messages.health(service, timeout=timeout)
