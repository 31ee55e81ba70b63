"""Service behind both transports: a request as bytes in, a reply as bytes out, or an ExplainError.

This process reads neither models nor tables: it finds them in a message by its top-level fields,
or lets a decoder find them in JSON and forms, hashes them, and passes them to a runner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from onnxplain.v1.upload_pb2 import UploadModelResponse, UploadTableResponse

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import BlobStore, Cache, Call, Decoder, Runner
from onnxplain_server.core.operation_store import OperationStore
from onnxplain_server.core.remote.sessions import NO_REMOTE_SESSIONS, RemoteSessions
from onnxplain_server.core.request import (
    NO_IDS,
    AnyRequest,
    Body,
    Reply,
    ReplyFormat,
    RequestIds,
    ServiceMethod,
)
from onnxplain_server.core.sources import Sources
from onnxplain_server.telemetry.spans import span
from onnxplain_server.transport.admission.admission import (
    Caller,
    RequestLimits,
    create_context,
)
from onnxplain_server.transport.admission.follower import NOBODY, Follower, ignore
from onnxplain_server.transport.admission.quotas import NO_QUOTAS, Quotas
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.attempt_plan import least_seconds, plan_ahead
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation
from onnxplain_server.transport.audit.usage import Usage
from onnxplain_server.transport.events import Events
from onnxplain_server.transport.fetched_files import NO_SOURCES, FetchedFiles
from onnxplain_server.transport.fetched_model_cache import FetchedModelCache
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.request_log import OK
from onnxplain_server.transport.request_naming import RequestNaming
from onnxplain_server.transport.request_work import known_work
from onnxplain_server.transport.uploads import UploadedModel, Uploads
from onnxplain_server.transport.written_results import WrittenResults
from onnxplain_server.wire.protobuf_split import method_names
from onnxplain_server.wire.reply import with_remaining_quota


class Service:
    """Admits requests, schedules their computation and returns the replies.

    Parameters
    ----------
    runner : Runner
    cache : Cache
    store : BlobStore
        Holds uploaded files.
    decoder : Decoder
    limits : RequestLimits
    scheduler : Scheduler
        Limits and orders concurrent requests.
    metrics : Metrics
    ready : callable () -> bool
        Whether the runner can compute now.
    operations : OperationStore, optional
        Without it, no operations can be started.
    quotas : Quotas
        Limit what callers use per hour.
    sources : Sources
        Reads models and tables by their URIs; by default, none may be read.
    remote_sessions : RemoteSessions or None
        Tell which remote models may be asked; None: any. By default, none may be asked.
    """

    def __init__(
        self,
        runner: Runner,
        cache: Cache,
        store: BlobStore,
        *,
        decoder: Decoder,
        limits: RequestLimits,
        scheduler: Scheduler,
        metrics: Metrics,
        ready: Callable[[], bool] = lambda: True,
        operations: OperationStore | None = None,
        quotas: Quotas = NO_QUOTAS,
        sources: Sources = NO_SOURCES,
        remote_sessions: RemoteSessions | None = NO_REMOTE_SESSIONS,
    ) -> None:
        self.operations = operations
        self.quotas = quotas
        self._ready = ready
        self._runner = runner
        self._decoder = decoder
        self._cache = cache
        self._uploads = Uploads(store, limits)
        self.upload_limits = self._uploads.limits  # by part: model and table
        fetched = FetchedFiles(sources, limits, FetchedModelCache(store, cache), remote_sessions)
        self._naming = RequestNaming(decoder, runner, self._uploads, fetched, self._context)
        self._results = WrittenResults(sources, scheduler.running_count)
        self._limits = limits
        self._scheduler = scheduler
        self._metrics = metrics

    @property
    def ready(self) -> bool:
        """Return whether new requests are admitted and can be computed."""
        return not self.is_stopping and self._ready()

    @property
    def is_stopping(self) -> bool:
        """Return whether new requests are refused because the server stops."""
        return self._scheduler.closed

    def admit(self, caller: Caller) -> AbstractContextManager[Ticket]:
        """Hold a ticket from before the request is read; see `Scheduler.admit`."""
        seconds = min(caller.seconds, self._limits.seconds)
        return self._scheduler.admit(replace(caller, seconds=seconds))

    def explain(self, request: AnyRequest, ticket: Ticket, reply_format: ReplyFormat) -> Reply:
        """Compute an explanation."""
        return self._explain(request, ticket, reply_format, lambda: None, NOBODY)

    def events(self, request: AnyRequest, ticket: Ticket, reply_format: ReplyFormat) -> Events:
        """Begin an explanation; return its progress and parts, and the reply as the last event.

        Errors before the computation begins are raised here, later ones by the events.
        """
        return Events(ticket.control, partial(self._explain, request, ticket, reply_format))

    def answer(
        self,
        method: ServiceMethod,
        request: AnyRequest,
        ticket: Ticket,
        reply_format: ReplyFormat,
    ) -> Reply:
        """Answer at once, by this method of the runner."""
        if method is ServiceMethod.PLAN:
            return self._plan(request, ticket, reply_format)
        usage, spans = ticket.caller.usage, ticket.caller.spans
        with self._slot(ticket, method.value, request):
            call = self._call(method, request, ticket, reply_format)
            host = self._context(call.ids, ticket, reserve_rows=ticket.reserve_rows)
            try:
                reply = self._runner.answer(call, host)
                ticket.caller.deliver(reply.byte_count, ticket.control.deadline)
            except ExplainError:
                usage.fail(spans.finished())
                raise
            usage.complete(reply, self._limits.row_count)
        self._metrics.predicted(usage.predicted_row_count)
        return reply

    def name(self, request: AnyRequest, ticket: Ticket) -> Call:
        """Decode a request for an explanation to be computed later, and name its files by id."""
        with self._slot(ticket, "start", request):
            return self._results.checked(self._naming.name(ServiceMethod.EXPLAIN, request, ticket))

    def compute(
        self,
        call: Call,
        ticket: Ticket,
        follower: Follower,
        operation: str,
        *,
        plan: bytes = b"",
        keep_plan: Callable[[bytes], None] | None = None,
    ) -> Reply:
        """Compute an explanation whose files are named, as an attempt at an operation.

        With `keep_plan`, it is planned first; see `plan_ahead`. `plan` is that of an earlier one.
        """
        start, outcome, caller = time.monotonic(), Reason.INTERNAL.name, ticket.caller
        try:
            with self._slot(ticket):
                if keep_plan is not None:
                    _tell(caller.usage, call)
                    plan = plan_ahead(partial(self._plan_kept, call, ticket), caller, keep_plan)
                ticket.planned_seconds = least_seconds(plan)
                call = replace(call, reply_format=ReplyFormat.KEPT)
                reply = self._compute(call, ticket, follower)
            outcome = OK
        except ExplainError as error:
            outcome = error.reason.name
            raise
        finally:
            spent = caller.usage, caller.name, "operation", outcome, time.monotonic() - start
            self._metrics.explanation_ended(EndedExplanation(*spent, operation=operation))
        return reply

    def encode_kept(
        self, kind: ServiceMethod, parts: Callable[[], Iterable[bytes]], ticket: Ticket
    ) -> bytes:
        """Encode what an operation keeps as JSON, in a decoder: a worker has written it."""
        body = Body(kind, "", parts)
        with self._slot(ticket, kind.value, body):
            return self._decoder.decode(body, self._context(NO_IDS, ticket)).envelope

    def upload_model(self, given: UploadedModel, ticket: Ticket) -> UploadModelResponse:
        """Store a model for later requests."""
        read = self._uploads.read_model(given)
        model = self._naming.whole_model(read, ticket, partial(self._slot, ticket))
        return UploadModelResponse(id=self._uploads.put_model(model.content, ticket.caller))

    def upload_table(
        self, form: str, parts: Iterable[bytes], ticket: Ticket
    ) -> UploadTableResponse:
        """Store a table for later requests."""
        return UploadTableResponse(id=self._uploads.put_table(form, parts, ticket.caller))

    def _explain(
        self,
        request: AnyRequest,
        ticket: Ticket,
        reply_format: ReplyFormat,
        begin: Callable[[], None],
        follower: Follower,
    ) -> Reply:
        with self._slot(ticket, ServiceMethod.EXPLAIN.value, request):
            call = self._call(ServiceMethod.EXPLAIN, request, ticket, reply_format)
            begin()
            return self._compute(call, ticket, follower)

    def _compute(self, call: Call, ticket: Ticket, follower: Follower) -> Reply:
        start = time.monotonic()
        usage, spans = ticket.caller.usage, ticket.caller.spans
        _tell(usage, call)
        follower = self._results.followed(follower, call.request, ticket.control)
        host = self._context(call.ids, ticket, follower, ticket.reserve_rows)
        try:
            reply = self._runner.answer(call, host)
            ticket.caller.deliver(reply.byte_count, ticket.control.deadline)
        except ExplainError:
            usage.fail(spans.finished())
            raise
        self._results.write(call.request, reply, call.reply_format, ticket.control)
        # A worker tells the rows, which may have been taken over.
        usage.complete(reply, self._limits.row_count)
        self._metrics.explained(
            usage.methods[0] if len(usage.methods) == 1 else "",
            time.monotonic() - start,
            usage.predicted_row_count,
            spans.recorded_trace,
        )
        return reply

    def _plan(self, request: AnyRequest, ticket: Ticket, reply_format: ReplyFormat) -> Reply:
        """Plan an explanation without computing it."""
        method = ServiceMethod.PLAN
        with self._slot(ticket, method.value, request):
            call = self._call(method, request, ticket, reply_format)
            reply = self._runner.answer(call, self._context(call.ids, ticket))
        # Behind the slot: what planning used is counted.
        remaining = self.quotas.remaining(ticket.caller).message()
        return reply if remaining is None else with_remaining_quota(reply, remaining, reply_format)

    def _plan_kept(self, call: Call, ticket: Ticket, caller: Caller) -> Reply:
        """Plan an operation in the name of a caller, which counts it apart from the operation."""
        plan = replace(call, method=ServiceMethod.PLAN, reply_format=ReplyFormat.KEPT)
        return self._runner.answer(plan, self._context(call.ids, ticket, caller=caller))

    def _call(
        self, method: ServiceMethod, request: AnyRequest, ticket: Ticket, reply_format: ReplyFormat
    ) -> Call:
        return replace(self._naming.name(method, request, ticket), reply_format=reply_format)

    def _context(
        self,
        ids: RequestIds,
        ticket: Ticket,
        follower: Follower = NOBODY,
        reserve_rows: Callable[[float], None] = ignore,
        caller: Caller | None = None,
    ) -> RequestContext:
        return create_context(
            ids,
            caller or ticket.caller,
            ticket.control,
            cache=self._cache,
            limits=self._limits,
            follower=follower,
            reserve_rows=reserve_rows,
            planned_seconds=ticket.planned_seconds,
        )

    @contextmanager
    def _slot(
        self, ticket: Ticket, kind: str = "", request: AnyRequest | None = None
    ) -> Iterator[None]:
        """Charge the caller, hold a slot of the scheduler, and measure waiting and computing."""
        spans, work = ticket.caller.spans, known_work(kind, request, ticket.caller)
        try:
            with ExitStack() as stack, spans.collecting():
                charge = stack.enter_context(self.quotas.charged(ticket.caller))
                ticket.reserve_rows = charge.plan
                with span("queue"):
                    stack.enter_context(self._scheduler.acquire(ticket, *work))
                ticket.caller.begin()
                stack.enter_context(span("compute"))
                yield
        finally:
            self._metrics.observe_spans(spans.finished())


def _tell(usage: Usage, call: Call) -> None:
    """Tell a usage what a call names."""
    usage.read(call.ids.model, call.ids.table, method_names(call.request))
