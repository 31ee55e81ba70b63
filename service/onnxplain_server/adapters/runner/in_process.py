"""In-process runner: answers requests without isolation, for command line, notebooks, debugging."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from typing import Any, TypeAlias

from google.protobuf.message import Message
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.plan_pb2 import ExplanationPlan

from onnxplain_server.adapters.onnx import describe
from onnxplain_server.adapters.runner.consistency_sample import table_sampler
from onnxplain_server.adapters.runner.loaded_models import LoadedModels
from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers
from onnxplain_server.adapters.runner.publisher import publisher, refuse_parts
from onnxplain_server.adapters.runner.receipt import work_of
from onnxplain_server.adapters.runner.remote.named_remote import NamedRemote, remote_model
from onnxplain_server.adapters.runner.remote.opened import OpenedRemote, no_remote_models
from onnxplain_server.adapters.runner.request_parts import (
    Asked,
    model_file,
    refuse_inconsistent,
    request_key,
)
from onnxplain_server.adapters.runner.rows.described_tables import DescribedTables
from onnxplain_server.adapters.runner.rows.predicted_rows import PredictionRequests
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.adapters.runner.timed_model import TimedModel
from onnxplain_server.adapters.runner.worker_opening import open_calls
from onnxplain_server.core.interfaces import AnswerHost, Call, ComputationHost, Host
from onnxplain_server.core.model import Scale
from onnxplain_server.core.model_limits import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.core.remote.models import RemoteModels
from onnxplain_server.core.request import NO_WORK, Reply, RequestFile, ServiceMethod, Work
from onnxplain_server.core.table import Table
from onnxplain_server.explain import BoundTable, Question, Resources, TreeMemo, explain
from onnxplain_server.explain.rows.predict import PredictedTable
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.telemetry.spans import span
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.wire import answer, plan, question, reply
from onnxplain_server.wire.comparisons.comparison import compare_answers
from onnxplain_server.wire.comparisons.reference import fill_from_reference
from onnxplain_server.wire.protobuf_split import detach_table
from onnxplain_server.wire.result_tables.row_writing import write_rows

Answer: TypeAlias = Callable[[Call, ComputationHost], tuple[Message, Work]]
"""Answers a request by a message, and tells the work behind it."""


class InProcess:
    """`Runner` without isolation; keeps loaded models and tables in LRU caches.

    Parameters
    ----------
    threads : int
        Concurrent calls of models, over all requests.
    model_count : int
        Loaded models to keep, with LRU eviction.
    limits : ModelLimits
        Complexity limits for models.
    loading : callable (host) -> context manager
        Context entered around the loading of a model.
    reply_bytes : float
        Size limit of a reply; may be infinite.
    remotes : RemoteModels
        Opens models behind addresses; by default, none may be asked.
    workers : PredictionWorkers or None
        They predict for the black-box engine, in place of threads of this process.
    surrogate_seconds : float
        See `Resources.surrogate_seconds`.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        threads: int,
        model_count: int = 8,
        limits: ModelLimits = DEFAULT_LIMITS,
        loading: Callable[[Any], AbstractContextManager[None]] = lambda _host: span("load"),
        reply_bytes: float = math.inf,
        remotes: RemoteModels = no_remote_models,
        workers: PredictionWorkers | None = None,
        surrogate_seconds: float = 0.0,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._models = LoadedModels(model_count, limits, loading)
        self._tables = TableCache()
        self._limits = limits
        self._loading = loading
        self._reply_bytes = reply_bytes
        self._remotes = remotes
        self._surrogate_seconds = surrogate_seconds
        described = DescribedTables(self._models, self._tables, remotes)
        self._workers = workers
        bind = self._bound_rows
        rows = PredictionRequests(self._tables, bind, self._models, self._threads)
        self._answers: Mapping[ServiceMethod, Answer] = {
            ServiceMethod.PLAN: self._plan,
            ServiceMethod.DESCRIBE: self._describe,
            ServiceMethod.DESCRIBE_TABLE: described.answer,
            ServiceMethod.PREDICT: rows.predict,
            ServiceMethod.CHECK: rows.check,
            ServiceMethod.COMPARE: _compare,
        }

    def answer(
        self,
        call: Call,
        host: AnswerHost,
        table: LargeTable | None = None,
        workers: PredictionWorkers | None = None,
    ) -> Reply:
        """Answer a request; see `Runner.answer`.

        Parameters
        ----------
        call : Call
        host : AnswerHost
        table : LargeTable or None
            Explained in place of the request's, in blocks.
        workers : PredictionWorkers or None
            They predict for an explanation, in place of the runner's.
        """
        if call.method is ServiceMethod.EXPLAIN:
            return self._explain(call, host, table, workers or self._workers)
        response, work = self._answers[call.method](call, host)
        return reply.encode(response, call.reply_format, self._reply_bytes, work)

    def _explain(
        self,
        call: Call,
        host: AnswerHost,
        table: LargeTable | None,
        workers: PredictionWorkers | None,
    ) -> Reply:
        start = time.monotonic()
        asked = open_calls(self._read(call, host, table), workers, self._limits)
        with closing(asked):
            publish = asked.checking(publisher(asked.message, host, call.reply_format))
            model, bound_table, question, resources = self._arguments(asked)
            result = explain(model, bound_table, question, replace(resources, publish=publish))
            asked.finish()
        with span("encode"):
            message = asked.message
            response = asked.response(result, start, table)
            work = work_of(message, response.receipt)
            encoded = reply.encode(response, call.reply_format, self._reply_bytes, work)
            write_rows(message.result_uri, host, result, response)
            return encoded

    def _plan(self, call: Call, host: ComputationHost) -> tuple[ExplanationPlan, Work]:
        from onnxplain_server.explain.plan import plan_explanation

        asked = open_calls(self._read(call, host), self._workers, self._limits)
        with closing(asked):
            planned = plan_explanation(*self._arguments(asked), answer.size_of(asked.message))
        return plan.write(planned), NO_WORK

    def _arguments(
        self, asked: Asked
    ) -> tuple[TimedModel | None, BoundTable | None, Question, Resources]:
        """Return the arguments of the use cases."""
        model, table, asked_question, resources = asked.arguments(self._models, self._threads)
        resources = replace(resources, surrogate_seconds=self._surrogate_seconds)
        return model, table, asked_question, resources

    def _read(
        self, call: Call, host: ComputationHost, large_table: LargeTable | None = None
    ) -> Asked:
        """Read a request, load its model and bind its table."""
        message, blobs = service_pb2.ExplainRequest(), call.blobs
        with span("decode"):
            envelope, table_file = detach_table(call.request)
            question.parse(envelope, message)
            fill_from_reference(message)
            refuse_parts(message, call.reply_format)
            parsed = question.read(message)
            rows: Table | None = None
            table_digest: Callable[[], str] = str
            if large_table is None:
                rows, table_digest = self._tables.read_sent(message, blobs, table_file)
        key = request_key(call.request, message, blobs)
        asked = Asked(message, blobs, None, None, None, parsed, host, key, table_digest, None)
        return self._bound(asked, rows, large_table)

    def _bound(
        self,
        asked: Asked,
        rows: Table | None,
        large: LargeTable | None = None,
        bind: type[BoundTable] = BoundTable,
    ) -> Asked:
        """Load the model of a request that was read, and bind its table."""
        asked.host.advance(0, 0)
        remote = remote_model(asked.message.model, asked.blobs)
        if remote:
            return self._on_remote(asked, remote, rows, large, bind)
        file = model_file(asked.message, asked.blobs)
        return self._on_file(asked, file, rows, large, bind)

    def _on_file(
        self,
        asked: Asked,
        file: RequestFile | None,
        rows: Table | None,
        large: LargeTable | None,
        bind: type[BoundTable],
    ) -> Asked:
        """Load the model of a request, if it has one, and bind its table."""
        host, question, digest = asked.host, asked.question, asked.table_digest
        sample_of = table_sampler(rows, large, question, bind)
        loaded, question = self._models.load_explained(file, question, host, sample_of)
        streamed = None
        if loaded and large:
            streamed = StreamedRows(large, loaded.model, question)
            rows, digest = streamed.survey.sample, large.blocks.digest
        bound_table = bind(rows, question, loaded.model if loaded else None) if rows else None
        if loaded and bound_table:
            loaded = self._models.checked(loaded, bound_table, asked.key)
        if loaded and (inconsistency := loaded.model.inconsistency):
            refuse_inconsistent(asked.message, inconsistency)
            # Its numbers hold for one computation only.
            host, loaded = Host(host.advance), replace(loaded, memo=TreeMemo())
        asked = replace(asked, question=question, loaded=loaded, table=bound_table, host=host)
        return replace(asked, streamed=streamed, table_digest=digest)

    def _on_remote(
        self,
        asked: Asked,
        named: NamedRemote,
        rows: Table | None,
        large: LargeTable | None,
        bind: type[BoundTable],
    ) -> Asked:
        """Open the remote model of a request, bind its table, and try it."""
        remote = OpenedRemote(named, self._remotes, asked.host, asked.question.scale)
        with ExitStack() as opened:
            opened.callback(remote.close)
            if large:
                streamed = StreamedRows(large, remote.model, asked.question)
                rows, digest = streamed.survey.sample, large.blocks.digest
                asked = replace(asked, streamed=streamed, table_digest=digest)
            table = bind(rows, asked.question, remote.model) if rows else None
            remote.try_rows(table)
            if remote.model.inconsistency:
                refuse_inconsistent(asked.message, remote.model.inconsistency)
            opened.pop_all()
        return replace(asked, remote=remote, table=table, host=remote.host)

    def _describe(
        self, call: Call, host: ComputationHost
    ) -> tuple[service_pb2.DescribeModelResponse, Work]:
        message = service_pb2.DescribeModelRequest()
        with span("decode"):
            question.parse(call.request, message)
        host.advance(0, 0)
        if named := remote_model(message.model, call.blobs):
            with closing(OpenedRemote(named, self._remotes, host, Scale.RESPONSE)) as remote:
                description = remote.describe()
        else:
            with self._loading(host):
                content = question.model_content(message.model, call.blobs)
                description = describe(content, self._limits)
        response = service_pb2.DescribeModelResponse(model=answer.write_description(description))
        return response, NO_WORK

    def _bound_rows(self, asked: Asked, rows: Table | None) -> Asked:
        return open_calls(
            self._bound(asked, rows, bind=PredictedTable), self._workers, self._limits
        )

    def close(self) -> None:
        """Shut the thread pools down after the running computations."""
        self._threads.shutdown()
        self._tables.close()


def _compare(
    call: Call, host: ComputationHost
) -> tuple[service_pb2.CompareExplanationsResponse, Work]:
    # Descriptions compare nothing, and load none of this.
    from onnxplain_server.report import summary  # noqa: PLC0415
    from onnxplain_server.report.output_names import output_naming  # noqa: PLC0415

    message = service_pb2.CompareExplanationsRequest()
    with span("decode"):
        question.parse(call.request, message)
    host.advance(0, 0)
    compared = compare_answers(message.reference, message.answer)
    response = service_pb2.CompareExplanationsResponse(comparison=compared.message)
    response.comparison.summary.extend(summary.of_changes(compared.message, message.answer))
    if message.plots or not message.HasField("plots"):
        response.comparison.plots.extend(compared.plots(output_naming(message.answer)))
    return response, NO_WORK
