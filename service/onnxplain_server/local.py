"""In-process service behind `onnxplain.local()`: the client's calls without a server."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import onnxplain
from onnxplain.progress import ProgressCallback
from onnxplain.transport.flow import missing_response, read_event
from onnxplain.transport.rpcs import Request, Response, Rpc
from onnxplain.transport.uploads import File, PendingRequest, content_of
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
    Progress,
)
from onnxplain.v1.model_pb2 import Model

from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.large_tables import (
    LargeTableRunner,
    LargeTables,
    not_in_blocks,
)
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.core.interfaces import BlobStore, Cache
from onnxplain_server.core.request import Reply, ReplyFormat, RequestParts, ServiceMethod
from onnxplain_server.core.sources import Sources
from onnxplain_server.local_operations import (
    LOCAL_CALLER,
    LocalOperations,
    local_store,
    translated,
)
from onnxplain_server.transport.admission.admission import NO_LIMITS, Caller
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.events import Events
from onnxplain_server.transport.fetched_files import NO_SOURCES
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.service import Service
from onnxplain_server.wire.calls import METHODS
from onnxplain_server.wire.requests.message_split import split_message

_NO_LIMIT = 2**63
_RUNNING_COUNT = 2
_WAITING_COUNT = 1_000

_Answer = TypeVar("_Answer")


class LocalMessages:
    """Implementation of `onnxplain.transport.calls.Messages` that computes in this process.

    Parameters
    ----------
    runner : InProcess
        Computes.
    cache : Cache
        Shared by all calls.
    store : BlobStore
        Holds uploaded files.
    sources : Sources
        Reads models and tables by their URIs.
    tables : LargeTables
        Finds tables that are read in blocks; by default, none is.
    """

    def __init__(
        self,
        runner: InProcess,
        cache: Cache,
        store: BlobStore,
        sources: Sources = NO_SOURCES,
        tables: LargeTables | None = None,
    ) -> None:
        self._scheduler = Scheduler(_RUNNING_COUNT, _WAITING_COUNT)
        self._service_of = partial(
            Service,
            cache=cache,
            store=store,
            decoder=LocalDecoder(),
            limits=NO_LIMITS,
            scheduler=self._scheduler,
            metrics=Metrics(),
            operations=local_store(),
            sources=sources,
            remote_sessions=None,
        )
        self._runner = runner
        self._tables = tables or LargeTables()
        self._service = self._service_of(runner)
        self.operations = LocalOperations(self._service, self._scheduler, _RUNNING_COUNT)

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        files: Sequence[File] = (),
    ) -> ExplainResponse:
        """Explain, on a thread of its own: an interrupt then ends the computation too."""
        response = None
        for event in self.explain_stream(request, timeout=timeout, files=files):
            response = read_event(event, progress or _ignore) or response
        return response or missing_response()

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None, files: Sequence[File] = ()
    ) -> Iterator[ExplainStreamResponse]:
        """Explain with progress; leaving the loop early cancels the computation."""
        with self._admitted(timeout) as ticket:
            events = self._call_with_uploads(
                request, files, lambda whole: self._events(whole, ticket)
            )
            with closing(events):
                for event in events:
                    yield _message(event)

    def start(
        self,
        request: ExplainRequest,
        *,
        request_id: str,
        labels: Mapping[str, str],
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Any:
        """Start an operation, which ends with this process."""
        with self._admitted(timeout) as ticket:
            if self._tables.find(request.table):
                raise not_in_blocks("explained by an operation")
            return self._call_with_uploads(
                request,
                files,
                lambda whole: self.operations.start(whole, ticket, request_id, labels),
            )

    def answer(
        self,
        rpc: Rpc[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
        files: Sequence[File] = (),
    ) -> Response:
        """Answer an RPC that answers at once."""
        method = METHODS[rpc.name]

        def call(whole: Any) -> Reply:
            service, parts = self._asked(whole, method)
            return service.answer(method, parts, ticket, ReplyFormat.PROTOBUF)

        with self._admitted(timeout) as ticket:
            reply = self._call_with_uploads(request, files, call)
        return rpc.response.FromString(reply.content)

    def upload(self, file: File, *, timeout: float | None = None) -> str:
        """Store a file for later calls, and return its id."""
        content = content_of(file)
        with self._admitted(timeout) as ticket:
            if isinstance(file, Model):
                beside = [(each.name, each.content) for each in file.files]
                return self._service.upload_model([("", content), *beside], ticket).id
            form = str(file.WhichOneof("source"))
            return self._service.upload_table(form, [content], ticket).id

    def health(self, service: str = "", *, timeout: float | None = None) -> str:  # noqa: ARG002 - of servers
        """Return "SERVING" until closed."""
        return "SERVING" if self._service.ready else "NOT_SERVING"

    def close(self) -> None:
        """Cancel running calls, and refuse new ones."""
        self._scheduler.close()
        self._scheduler.cancel_all()
        self.operations.close()

    def _events(self, request: ExplainRequest, ticket: Ticket) -> Events:
        service, parts = self._asked(request, ServiceMethod.EXPLAIN)
        return service.events(parts, ticket, ReplyFormat.EVENT)

    def _asked(self, request: Any, method: ServiceMethod) -> tuple[Service, RequestParts]:
        """Split a request; one whose table is read in blocks goes without it to its own service."""
        parts = split_message(request, method)
        table = self._tables.find(request.table) if parts.table else None
        if table is None:
            return self._service, parts
        without = replace(parts, table=None)
        return self._service_of(LargeTableRunner(self._runner, table)), without

    def _call_with_uploads(
        self, request: Any, files: Sequence[File], call: Callable[[Any], _Answer]
    ) -> _Answer:
        """Make a call; upload files again that were evicted."""
        pending = PendingRequest(request, files, _NO_LIMIT)
        while True:
            try:
                with translated():
                    return call(pending.request)
            except onnxplain.ExplainError as error:
                file = pending.missing(error)
                if file is None:
                    raise
                self.upload(file)

    @contextmanager
    def _admitted(self, timeout: float | None) -> Iterator[Ticket]:
        seconds = math.inf if timeout is None else timeout
        with (
            translated(),
            self._service.admit(Caller(LOCAL_CALLER, seconds, lambda: False)) as ticket,
        ):
            yield ticket


def _message(event: Progress | bytes | Reply) -> ExplainStreamResponse:
    if isinstance(event, Progress):
        return ExplainStreamResponse(progress=event)
    return ExplainStreamResponse.FromString(event.content if isinstance(event, Reply) else event)


def _ignore(_done: float, _planned: float) -> None:
    """Discard progress."""
