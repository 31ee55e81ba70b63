"""What every transport calls: a message in, a message out, or an ExplainError."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
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
from onnxplain_server.transport.admission.admission import Caller, RequestLimits, admit
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.progress import Latest
from onnxplain_server.transport.uploads import Uploads

_EVENT_SECONDS = 0.1


class Service:
    """Admits requests, has them computed in turn, and gives the replies.

    Parameters
    ----------
    runner : Runner
        Does the work.
    cache : Cache
        Shared by all requests.
    store : BlobStore
        Keeps uploaded files.
    limits : RequestLimits
        What is admitted.
    turns : Scheduler
        How many are admitted.
    metrics : Metrics
        Counts the answers.
    ready : callable () -> bool
        Whether the runner can do work now.
    """

    def __init__(
        self,
        runner: Runner,
        cache: Cache,
        store: BlobStore,
        *,
        limits: RequestLimits,
        turns: Scheduler,
        metrics: Metrics,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ready = ready
        self._runner = runner
        self._cache = cache
        self._uploads = Uploads(store, limits)
        self._limits = limits
        self._turns = turns
        self._metrics = metrics

    @property
    def ready(self) -> bool:
        """Whether new requests are taken, and can be answered."""
        return not self._turns.closed and self._ready()

    def place(self, caller: Caller) -> AbstractContextManager[Ticket]:
        """Hold a place among the requests, before one is read; see `Scheduler.place`."""
        return self._turns.place(caller)

    def explain(self, request: ExplainRequest, place: Ticket) -> ExplainResponse:
        """Answer by an explanation."""
        blobs, call = self._admit(request.model, request.table, place.caller)
        return self._explain(request, place, blobs, call)

    def events(self, request: ExplainRequest, place: Ticket) -> Iterator[ExplainStreamResponse]:
        """Admit at once; then tell the progress, and the response as the last event."""
        latest = Latest()
        blobs, call = self._admit(request.model, request.table, place.caller, latest.advance)
        return self._events(call, latest, partial(self._explain, request, place, blobs, call))

    def describe(self, request: DescribeModelRequest, place: Ticket) -> DescribeModelResponse:
        """Answer by what a model takes and gives."""
        blobs, call = self._admit(request.model, Table(), place.caller)
        with self._turn(place, call):
            reply = self._runner.describe(request.SerializeToString(), blobs, call)
        return DescribeModelResponse.FromString(reply)

    def upload_model(self, parts: Iterable[bytes], place: Ticket) -> UploadModelResponse:
        """Keep a model for later requests."""
        return UploadModelResponse(id=self._uploads.take_model(parts, place.caller))

    def upload_table(self, form: str, parts: Iterable[bytes], place: Ticket) -> UploadTableResponse:
        """Keep a table for later requests."""
        return UploadTableResponse(id=self._uploads.take_table(form, parts, place.caller))

    def _admit(
        self,
        model: Model,
        table: Table,
        caller: Caller,
        progress: Callable[[float, float], None] = lambda _done, _planned: None,
    ) -> tuple[Blobs, RequestContext]:
        blobs = self._uploads.find(model, table, caller)
        call = admit(
            model, table, blobs, caller, cache=self._cache, limits=self._limits, progress=progress
        )
        return blobs, call

    def _explain(
        self, request: ExplainRequest, place: Ticket, blobs: Blobs, call: RequestContext
    ) -> ExplainResponse:
        with self._turn(place, call):
            start = time.monotonic()
            reply = self._runner.explain(request.SerializeToString(), blobs, call)
            seconds = time.monotonic() - start
        response = ExplainResponse.FromString(reply)
        methods = [str(options.WhichOneof("method")) for options in request.methods]
        row_count = response.receipt.predicted_row_count
        self._metrics.explained(methods, seconds, row_count, place.caller.spans.recorded_trace)
        return response

    @contextmanager
    def _turn(self, place: Ticket, call: RequestContext) -> Iterator[None]:
        """Hold a turn; what waiting and working take is noted, and counted."""
        spans = place.caller.spans
        try:
            with ExitStack() as held, spans.collecting():
                with span("queue"):
                    held.enter_context(self._turns.turn(place, call))
                held.enter_context(span("compute"))
                yield
        finally:
            self._metrics.timed(spans.taken())

    def _events(
        self, call: RequestContext, latest: Latest, explain: Callable[[], ExplainResponse]
    ) -> Iterator[ExplainStreamResponse]:
        with ThreadPoolExecutor(1, "onnxplain-stream") as thread:
            reply = thread.submit(explain)
            try:
                running = True
                while running:
                    running = bool(wait([reply], _EVENT_SECONDS).not_done)
                    if (progress := latest.take()) is not None:
                        yield ExplainStreamResponse(progress=progress)
                yield ExplainStreamResponse(response=reply.result())
            finally:
                call.cancel()
