"""In-process runner: answers requests without isolation, for command line, notebooks, debugging."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from cachetools import LRUCache
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.onnx import OnnxModel, describe, load_described
from onnxplain_server.adapters.runner.consistency_sample import consistency_sample
from onnxplain_server.adapters.runner.model_parts import NO_MARGIN, as_margin, forest_reader
from onnxplain_server.adapters.runner.publisher import publisher, refuse_parts
from onnxplain_server.adapters.runner.receipt import receipt, sources, work_of
from onnxplain_server.adapters.runner.request_parts import (
    ModelFile,
    model_file,
    refuse_inconsistent,
    request_key,
)
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.adapters.runner.timed_model import TimedModel
from onnxplain_server.adapters.runner.uncached import UncachedHost
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import AnswerHost, Blobs, ComputationHost
from onnxplain_server.core.model import Description, Scale
from onnxplain_server.core.model_limits import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.core.request import Reply, ReplyFormat
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import (
    BoundTable,
    ClassMargin,
    Question,
    Resources,
    TreeMemo,
    explain,
)
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.telemetry.spans import current, span
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.wire import answer, plan, question, reply
from onnxplain_server.wire.protobuf_split import detach_table

_CHECKED_TABLES = 16


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Loaded model with what its requests share."""

    model: OnnxModel
    description: Description
    batch_size: BatchSize
    forest: Callable[[int | None], Forest | Refusal]
    memo: TreeMemo = field(default_factory=TreeMemo)
    checked: LRUCache[str, OnnxModel] = field(default_factory=lambda: LRUCache(_CHECKED_TABLES))


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Request that was read, with its model loaded."""

    message: service_pb2.ExplainRequest
    blobs: Blobs
    file: ModelFile | None
    loaded: _Loaded | None
    table: BoundTable | None
    question: Question
    host: ComputationHost
    key: str
    table_digest: Callable[[], str]
    streamed: StreamedRows | None


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
    """

    def __init__(
        self,
        threads: int,
        model_count: int = 8,
        limits: ModelLimits = DEFAULT_LIMITS,
        loading: Callable[[Any], AbstractContextManager[None]] = lambda _host: span("load"),
        reply_bytes: float = math.inf,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._models: LRUCache[tuple[str, Scale], _Loaded] = LRUCache(model_count)
        self._tables = TableCache()
        self._lock = threading.Lock()
        self._limits = limits
        self._loading = loading
        self._reply_bytes = reply_bytes

    def explain(
        self,
        request: bytes,
        blobs: Blobs,
        host: AnswerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """Answer a serialised ExplainRequest; see `Runner.explain`."""
        return self.explain_large(request, blobs, None, host, reply_format)

    def explain_large(
        self,
        request: bytes,
        blobs: Blobs,
        table: LargeTable | None,
        host: AnswerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """Answer a request whose table is read in blocks, if one is given, in place of its own."""
        start = time.monotonic()
        asked = self._read(request, blobs, host, reply_format, table)
        message = asked.message
        publish = publisher(message, host, reply_format)
        model, bound_table, question, resources = self._arguments(asked)
        result = explain(model, bound_table, question, replace(resources, publish=publish))
        with span("encode"):
            response = answer.write(result)
            if asked.loaded:
                response.model.CopyFrom(answer.write_description(asked.loaded.description))
                if result.has_predictions:
                    operators = asked.loaded.model.size_dependent_operators
                    response.receipt.size_dependent_operators.extend(operators)
            identity = asked.file.identity if asked.file else ""
            response.receipt.MergeFrom(receipt(message, identity, asked.table_digest(), start))
            response.receipt.sources.extend(sources(asked.blobs))
            work = work_of(message, response.receipt)
            return reply.encode(response, reply_format, self._reply_bytes, work)

    def plan(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """Plan a serialised ExplainRequest; see `Runner.plan`."""
        from onnxplain_server.explain.planning.plan import plan_explanation

        asked = self._read(request, blobs, host, reply_format)
        planned = plan_explanation(*self._arguments(asked), answer.explanation_bytes)
        return reply.encode(plan.write(planned), reply_format, self._reply_bytes)

    def _read(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat,
        large_table: LargeTable | None = None,
    ) -> _Asked:
        """Read a request, load its model and bind its table."""
        message = service_pb2.ExplainRequest()
        with span("decode"):
            envelope, table_file = detach_table(request)
            question.parse(envelope, message)
            refuse_parts(message, reply_format)
            file = model_file(message, blobs)
            parsed = question.read(message)
            rows, table_digest = self._tables.read_sent(message, blobs, table_file)
        host.advance(0, 0)
        loaded = self._load(file, parsed.scale, host) if file else None
        key = request_key(request, message, blobs)
        streamed = None
        if loaded and large_table:
            streamed = StreamedRows(large_table, loaded.model, parsed)
            rows, table_digest = streamed.survey.sample, large_table.blocks.digest
        bound_table = BoundTable(rows, parsed, loaded.model if loaded else None) if rows else None
        if loaded and bound_table:
            loaded = replace(loaded, model=self._checked(loaded, bound_table, key))
        if loaded and (inconsistency := loaded.model.inconsistency):
            refuse_inconsistent(message, inconsistency)
            host, loaded = UncachedHost(host), replace(loaded, memo=TreeMemo())
        return _Asked(
            message, blobs, file, loaded, bound_table, parsed, host, key, table_digest, streamed
        )

    def _arguments(
        self, asked: _Asked
    ) -> tuple[TimedModel | None, BoundTable | None, Question, Resources]:
        """Return the arguments of the use cases."""
        file, loaded, host = asked.file, asked.loaded, asked.host
        if file is None or loaded is None:
            no_trees = Refusal("there is no model")
            resources = Resources(host, BatchSize(), self._threads, lambda: no_trees)
            return None, asked.table, asked.question, resources
        resources = Resources(
            host,
            loaded.batch_size,
            self._threads,
            lambda: loaded.model.trees,
            loaded.forest,
            lambda: self._margin(file, loaded.model, host),
            loaded.memo,
            request_key=asked.key,
            streamed=asked.streamed,
        )
        return TimedModel(loaded.model, current()), asked.table, asked.question, resources

    def describe(
        self,
        request: bytes,
        blobs: Blobs,
        host: ComputationHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """Answer a serialised DescribeModelRequest; see `Runner.describe`."""
        message = service_pb2.DescribeModelRequest()
        with span("decode"):
            question.parse(request, message)
        host.advance(0, 0)
        with self._loading(host):
            description = describe(question.model_content(message.model, blobs), self._limits)
        response = service_pb2.DescribeModelResponse(model=answer.write_description(description))
        return reply.encode(response, reply_format, self._reply_bytes)

    def close(self) -> None:
        """Shut the thread pools down after the running computations."""
        self._threads.shutdown()
        self._tables.close()

    def _margin(
        self, file: ModelFile, model: OnnxModel, host: ComputationHost
    ) -> ClassMargin | Refusal:
        """Return the score that decides the class: the answer itself, or the margin before it."""
        if (margin := as_margin(model, is_answer=True)) is not None:
            return margin
        try:
            scores = self._load(file, Scale.MARGIN, host).model
        except ExplainError:
            return NO_MARGIN
        return as_margin(scores, is_answer=False) or NO_MARGIN

    def _checked(self, loaded: _Loaded, bound_table: BoundTable, key: str) -> OnnxModel:
        """Check a model's consistency on a sample of the table's rows.

        Memoized by the digest of the rows, and by `key`, which saves drawing them again.
        """
        with self._lock:
            if key in loaded.checked:
                return loaded.checked[key]
        try:
            sample = consistency_sample(bound_table)
        except ExplainError:
            return loaded.model  # explaining the same table raises the error with its field
        if len(sample) < 2:
            return loaded.model  # equal rows cannot show that they influence each other
        with self._lock:
            checked = loaded.checked.get(sample.digest)
        if checked is None:
            rows = feeds(bound_table.features, sample.columns)
            checked = loaded.model.rechecked(rows, sample.source)
        with self._lock:
            loaded.checked.update({name: checked for name in (sample.digest, key) if name})
        return checked

    def _load(self, file: ModelFile, scale: Scale, host: ComputationHost) -> _Loaded:
        """Return a loaded model from the LRU cache, or load it."""
        key = (file.identity, scale)
        with self._lock:
            loaded = self._models.get(key)
        if loaded is None:
            with self._loading(host):
                model, description = load_described(file.content, scale, self._limits)
            loaded = _Loaded(model, description, BatchSize(), forest_reader(file.content))
            with self._lock:
                self._models[key] = loaded
        return loaded
