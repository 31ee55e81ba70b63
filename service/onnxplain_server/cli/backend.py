"""Backend of a command: computes in this process, or calls a server over gRPC."""

from __future__ import annotations

import gc
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import onnxplain
from onnxplain.transport.rpcs import PLAN, Request, Response, Rpc
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
)

from onnxplain_server.cli.connection import Connection
from onnxplain_server.cli.failure import CommandError
from onnxplain_server.cli.parts import ServiceParts
from onnxplain_server.core.interfaces import Call, Runner
from onnxplain_server.core.request import (
    ReplyFormat,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.core.sources import ModelColumns, NoModelCache
from onnxplain_server.transport.admission.admission import NO_LIMITS
from onnxplain_server.transport.admission.follower import NOBODY, Follower, ignore
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.fetched_files import NO_SOURCES, FetchedFiles, model_columns
from onnxplain_server.transport.uploads import name_inline
from onnxplain_server.transport.written_results import WrittenResults
from onnxplain_server.wire.calls import METHODS
from onnxplain_server.wire.requests.message_split import has_large_model, names_uris, split_message

if TYPE_CHECKING:
    from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers
    from onnxplain_server.trees.streaming.row_blocks import LargeTable

OnProgress: TypeAlias = Callable[[float, float], None] | None
"""Called with rows done and planned; None without a progress bar."""

_YOUNG_OBJECTS = 50_000
"""Objects that Python's garbage collector lets pile up in a command, in place of 700.

Almost all objects of a command are code and types that imports make, and live until it ends:
looking through them for garbage takes a tenth of a short command.
"""


class Backend(Protocol):
    """Backend of commands: takes and returns messages of the contract."""

    def explain(self, request: ExplainRequest, on_progress: OnProgress) -> ExplainResponse:
        """Compute an explanation."""

    def answer(self, rpc: Rpc[Request, Response], request: Request) -> Response:
        """Answer an RPC that answers at once."""


def choose(  # noqa: PLR0917 - where and on what each backend computes
    parts: ServiceParts,
    endpoint: str | None,
    timeout: float | None,
    connection: Connection,
    large_table: LargeTable | None = None,
    workers: PredictionWorkers | None = None,
) -> Backend:
    """Return a backend for the server at the endpoint, or for this process without one.

    Parameters
    ----------
    parts : ServiceParts
    endpoint : str or None
        Host and port.
    timeout : float or None
        Seconds for each call.
    connection : Connection
        For the server.
    large_table : LargeTable or None
        Table of requests that hold none, for this process.
    workers : PredictionWorkers or None
        They predict in place of this process.
    """
    if endpoint:
        return RemoteBackend(endpoint, timeout, connection)
    connection.check_unused()
    return LocalBackend(parts, timeout, large_table, workers)


class LocalBackend:
    """Backend that computes in this process."""

    def __init__(
        self,
        parts: ServiceParts,
        timeout: float | None,
        large_table: LargeTable | None = None,
        workers: PredictionWorkers | None = None,
    ) -> None:
        self._parts = parts
        self._workers = workers
        self._large_table = large_table
        self._seconds = math.inf if timeout is None else timeout

    def explain(self, request: ExplainRequest, on_progress: OnProgress) -> ExplainResponse:
        """Compute an explanation."""
        with _rare_collection(), _interruptible(self._seconds) as control:
            runner = self._parts.runner(self._workers)
            fetching = self._host(control)
            asked = self._fetched(request, ServiceMethod.EXPLAIN, runner, fetching)
            results = WrittenResults(self._parts.sources() if request.result_uri else NO_SOURCES)
            follower = results.followed(Follower(on_progress or ignore), asked.request, control)
            reply = runner.answer(asked, self._host(control, follower), self._large_table)
            results.write(asked.request, reply, ReplyFormat.PROTOBUF, control)
        return ExplainResponse.FromString(reply.content)

    def answer(self, rpc: Rpc[Request, Response], request: Request) -> Response:
        """Answer an RPC that answers at once.

        Raises
        ------
        CommandError
            NOT_PLANNED for a table that is read in blocks.
        """
        if rpc.name == PLAN.name and self._large_table:
            raise CommandError(
                "NOT_PLANNED",
                "a table that is read in blocks, as too large for --memory-bytes or for a cluster, "
                "has no plan; raise --memory-bytes, or leave --dask-scheduler out",
            )
        with _rare_collection(), _interruptible(self._seconds) as control:
            runner = self._parts.runner(self._workers)
            host = self._host(control)
            asked = self._fetched(request, METHODS[rpc.name], runner, host)
            reply = runner.answer(asked, host)
        return rpc.response.FromString(reply.content)

    def _fetched(
        self,
        request: Any,
        method: ServiceMethod,
        runner: Runner,
        host: RequestContext,
    ) -> Call:
        """Serialise a request; fetch what it names by URI."""
        if names_uris(request):
            parts = split_message(request, method)
            fetched = FetchedFiles(self._parts.sources(), NO_LIMITS, NoModelCache())

            def columns(model: RequestFile) -> ModelColumns:
                described = name_inline(ServiceMethod.DESCRIBE, RequestParts(b"", model))
                return model_columns(runner.answer(described, host))

            resolved = fetched.resolve(method, parts, host.control, columns)
            return name_inline(method, resolved)
        if has_large_model(request):
            return name_inline(method, split_message(request, method))
        return Call(method, request.SerializeToString())

    def _host(self, control: RequestControl, follower: Follower = NOBODY) -> RequestContext:
        # No prefix: the cache is not shared with other callers.
        return RequestContext(control, self._parts.cache(), "", follower)


class RemoteBackend:
    """Backend that calls a server."""

    def __init__(self, endpoint: str, timeout: float | None, connection: Connection) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._connection = connection

    def explain(self, request: ExplainRequest, on_progress: OnProgress) -> ExplainResponse:
        """Compute an explanation."""
        with self._connect() as client:
            return client.messages.explain(request, progress=on_progress)

    def answer(self, rpc: Rpc[Request, Response], request: Request) -> Response:
        """Call an RPC that answers at once."""
        with self._connect() as client:
            return client.messages.answer(rpc, request)

    def _connect(self) -> onnxplain.Client:
        return self._connection.open(self._endpoint, self._timeout)


@contextmanager
def _interruptible(seconds: float) -> Iterator[RequestControl]:
    """Let the first Ctrl-C end the computation at its next step, and the second one at once."""
    control = RequestControl(seconds)

    def cancel(number: int, _frame: FrameType | None) -> None:
        control.cancel()
        signal.signal(number, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, cancel)
    try:
        yield control
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _rare_collection() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
