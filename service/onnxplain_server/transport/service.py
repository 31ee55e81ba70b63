"""Service behind both transports: a message in, a message out, or an ExplainError."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.upload_pb2 import UploadModelResponse, UploadTableResponse

from onnxplain_server.core.interfaces import Blobs, BlobStore, Cache, Runner
from onnxplain_server.telemetry.spans import span
from onnxplain_server.transport.admission.admission import Caller, RequestLimits, create_context
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.size_limits import SizeLimit
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.progress import LatestProgress
from onnxplain_server.transport.uploads import Uploads

_EVENT_SECONDS = 0.1


class Service:
    """Admits requests, schedules their computation and returns the replies.

    Parameters
    ----------
    runner : Runner
        Computes.
    cache : Cache
        Shared by all requests.
    store : BlobStore
        Holds uploaded files.
    limits : RequestLimits
        Limits of a request.
    scheduler : Scheduler
        Limits and orders concurrent requests.
    metrics : Metrics
        Counts replies and durations.
    ready : callable () -> bool
        Whether the runner can compute now.
    """

    def __init__(
        self,
        runner: Runner,
        cache: Cache,
        store: BlobStore,
        *,
        limits: RequestLimits,
        scheduler: Scheduler,
        metrics: Metrics,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ready = ready
        self._runner = runner
        self._cache = cache
        self._uploads = Uploads(store, limits)
        self._limits = limits
        self._scheduler = scheduler
        self._metrics = metrics

    @property
    def ready(self) -> bool:
        """Return whether new requests are admitted and can be computed."""
        return not self._scheduler.closed and self._ready()

    @property
    def upload_limits(self) -> Mapping[str, SizeLimit]:
        """Size limits of uploads by part: model and table."""
        return self._uploads.limits

    def admit(self, caller: Caller) -> AbstractContextManager[Ticket]:
        """Hold a ticket from before the request is read; see `Scheduler.admit`."""
        return self._scheduler.admit(caller)

    def explain(self, request: ExplainRequest, ticket: Ticket) -> ExplainResponse:
        """Compute an explanation."""
        blobs, call = self._context(request.model, request.table, ticket.caller)
        return self._explain(request, ticket, blobs, call)

    def events(self, request: ExplainRequest, ticket: Ticket) -> Iterator[ExplainStreamResponse]:
        """Check the request at once; then yield progress, and the response as the last event."""
        latest = LatestProgress()
        blobs, call = self._context(request.model, request.table, ticket.caller, latest.advance)
        return self._events(call, latest, partial(self._explain, request, ticket, blobs, call))

    def describe(self, request: DescribeModelRequest, ticket: Ticket) -> DescribeModelResponse:
        """Describe the inputs and outputs of a model."""
        blobs, call = self._context(request.model, Table(), ticket.caller)
        with self._slot(ticket, call):
            reply = self._runner.describe(request.SerializeToString(), blobs, call)
        return DescribeModelResponse.FromString(reply)

    def upload_model(self, parts: Iterable[bytes], ticket: Ticket) -> UploadModelResponse:
        """Store a model for later requests."""
        return UploadModelResponse(id=self._uploads.put_model(parts, ticket.caller))

    def upload_table(
        self, form: str, parts: Iterable[bytes], ticket: Ticket
    ) -> UploadTableResponse:
        """Store a table for later requests."""
        return UploadTableResponse(id=self._uploads.put_table(form, parts, ticket.caller))

    def _context(
        self,
        model: Model,
        table: Table,
        caller: Caller,
        progress: Callable[[float, float], None] = lambda _done, _planned: None,
    ) -> tuple[Blobs, RequestContext]:
        blobs = self._uploads.find(model, table, caller)
        call = create_context(
            model, table, blobs, caller, cache=self._cache, limits=self._limits, progress=progress
        )
        return blobs, call

    def _explain(
        self, request: ExplainRequest, ticket: Ticket, blobs: Blobs, call: RequestContext
    ) -> ExplainResponse:
        with self._slot(ticket, call):
            start = time.monotonic()
            reply = self._runner.explain(request.SerializeToString(), blobs, call)
            seconds = time.monotonic() - start
        response = ExplainResponse.FromString(reply)
        methods = [str(options.WhichOneof("method")) for options in request.methods]
        row_count = response.receipt.predicted_row_count
        self._metrics.explained(methods, seconds, row_count, ticket.caller.spans.recorded_trace)
        return response

    @contextmanager
    def _slot(self, ticket: Ticket, call: RequestContext) -> Iterator[None]:
        """Hold a slot of the scheduler, and measure waiting and computing."""
        spans = ticket.caller.spans
        try:
            with ExitStack() as stack, spans.collecting():
                with span("queue"):
                    stack.enter_context(self._scheduler.acquire(ticket, call))
                stack.enter_context(span("compute"))
                yield
        finally:
            self._metrics.observe_spans(spans.finished())

    def _events(
        self, call: RequestContext, latest: LatestProgress, explain: Callable[[], ExplainResponse]
    ) -> Iterator[ExplainStreamResponse]:
        with ThreadPoolExecutor(1, "onnxplain-stream") as thread:
            reply = thread.submit(explain)
            try:
                is_running = True
                while is_running:
                    is_running = bool(wait([reply], _EVENT_SECONDS).not_done)
                    if (progress := latest.take()) is not None:
                        yield ExplainStreamResponse(progress=progress)
                yield ExplainStreamResponse(response=reply.result())
            finally:
                call.cancel()
