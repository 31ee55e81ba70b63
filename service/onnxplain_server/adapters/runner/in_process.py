"""The runner that computes in this process: for the command line, notebooks and debugging."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from cachetools import LRUCache
from onnx import ModelProto
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.onnx import DEFAULT_LIMITS, ModelLimits, OnnxModel, describe, load
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.adapters.runner.timed_model import TimedModel
from onnxplain_server.adapters.runner.uncached import UncachedHost
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, ComputationHost
from onnxplain_server.core.model import Description, Scale
from onnxplain_server.core.rows import feeds
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import (
    Answer,
    ClassMargin,
    Question,
    Resources,
    bind_features,
    explain,
    weigh,
)
from onnxplain_server.telemetry.spans import current, span
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.forest import Forest, read_forest
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.wire import answer, question, table
from onnxplain_server.wire.blobs import identify

_UNDECIDED = Refusal("what the model predicts is decided by neither trees nor linear scores")
_JUDGED_ROWS = 16
"""Rows of the table by which a model is judged: each is evaluated alone, and among the others."""
_JUDGED_TABLES = 8
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True)
class _ModelFile:
    """A model as it was sent, and the id that uploading it gives."""

    content: bytes
    identity: str


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model ready to predict, what it is, its learned call size, and what finds its forest."""

    model: OnnxModel
    description: Description
    batch_size: BatchSize
    forest: Callable[[int | None], Forest | Refusal]
    judged: LRUCache[str, OnnxModel] = field(default_factory=lambda: LRUCache(_JUDGED_TABLES))


class InProcess:
    """A `Runner` without isolation.

    Parameters
    ----------
    threads : int
        Calls of a model side by side, over all requests.
    model_count : int
        Loaded models to keep, the least recently used going first.
    limits : ModelLimits
        The most complex model that is loaded.
    loading : callable (host) -> context manager
        Entered while a model is being loaded.
    """

    def __init__(
        self,
        threads: int,
        model_count: int = 8,
        limits: ModelLimits = DEFAULT_LIMITS,
        loading: Callable[[Any], AbstractContextManager[None]] = lambda _host: span("load"),
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._models: LRUCache[tuple[str, Scale], _Loaded] = LRUCache(model_count)
        self._tables = TableCache()
        self._lock = threading.Lock()
        self._limits = limits
        self._loading = loading

    def explain(self, request: bytes, blobs: Blobs, host: ComputationHost) -> bytes:
        """See `Runner.explain`."""
        start = time.monotonic()
        message = service_pb2.ExplainRequest()
        with span("decode"):
            question.parse(request, message)
            file = _file(message, blobs)
            asked = question.read(message)
            rows = self._tables.read(message.table, blobs) if message.HasField("table") else None
        host.advance(0, 0)
        loaded = self._load(file, asked.scale, host) if file else None
        if loaded and rows:
            loaded = replace(loaded, model=self._judged(loaded, rows, asked))
        if loaded and (why := loaded.model.inconsistency):
            _refuse_inconsistent(message, why)
            host = UncachedHost(host)
        found = self._answer(file, loaded, rows, asked, host)
        with span("encode"):
            response = answer.write(found)
            if loaded:
                response.model.CopyFrom(answer.write_description(loaded.description))
            response.receipt.MergeFrom(_receipt(message, file, time.monotonic() - start))
            return response.SerializeToString()

    def _answer(
        self,
        file: _ModelFile | None,
        loaded: _Loaded | None,
        rows: Table | None,
        asked: Question,
        host: ComputationHost,
    ) -> Answer:
        if file is None or loaded is None:
            means = Resources(
                host, BatchSize(), self._threads, lambda: Refusal("there is no model")
            )
            return explain(None, rows, asked, means)
        means = Resources(
            host,
            loaded.batch_size,
            self._threads,
            lambda: loaded.model.trees,
            loaded.forest,
            lambda: self._margin(file, loaded.model, host),
        )
        return explain(TimedModel(loaded.model, current()), rows, asked, means)

    def describe(self, request: bytes, blobs: Blobs, host: ComputationHost) -> bytes:
        """See `Runner.describe`."""
        message = service_pb2.DescribeModelRequest()
        with span("decode"):
            question.parse(request, message)
        host.advance(0, 0)
        with self._loading(host):
            description = describe(question.model_content(message.model, blobs), self._limits)
        return service_pb2.DescribeModelResponse(
            model=answer.write_description(description)
        ).SerializeToString()

    def close(self) -> None:
        """End the threads; computations on their way are finished first."""
        self._threads.shutdown()

    def _margin(
        self, file: _ModelFile, model: OnnxModel, host: ComputationHost
    ) -> ClassMargin | Refusal:
        """Find what decides the class: the answer itself, or the score before it."""
        found = _as_margin(model, is_answer=True)
        if found is not None:
            return found
        try:
            scores = self._load(file, Scale.MARGIN, host).model
        except ExplainError:
            return _UNDECIDED
        return _as_margin(scores, is_answer=False) or _UNDECIDED

    def _judged(self, loaded: _Loaded, rows: Table, asked: Question) -> OnnxModel:
        """Judge a model by some of the rows that it is asked about, once for each of them."""
        try:
            weighed = weigh(rows, asked)
            features = bind_features(loaded.model, weighed, asked)
            last = weighed.table.n_rows - 1
            taken = np.unique(np.linspace(0, last, _JUDGED_ROWS).astype(np.intp))
            source = weighed.table.as_sent(taken)
            some = merge(features.take(taken), np.ones(len(taken)), source)
        except ExplainError:
            return loaded.model  # what of the table does not fit is told where it is explained
        if len(some) < 2:
            return loaded.model  # equal rows cannot show that they influence each other
        with self._lock:
            known = loaded.judged.get(some.digest)
        if known is not None:
            return known
        judged = loaded.model.judged(feeds(features, some.columns), some.source)
        with self._lock:
            loaded.judged[some.digest] = judged
        return judged

    def _load(self, file: _ModelFile, scale: Scale, host: ComputationHost) -> _Loaded:
        """Load a model, or take the one kept from an earlier request."""
        key = (file.identity, scale)
        with self._lock:
            loaded = self._models.get(key)
        if loaded is None:
            with self._loading(host):
                model = load(file.content, scale, self._limits)
                description = describe(file.content, self._limits)
            loaded = _Loaded(model, description, BatchSize(), _forest(file.content))
            with self._lock:
                self._models[key] = loaded
        return loaded


def _file(message: service_pb2.ExplainRequest, blobs: Blobs) -> _ModelFile | None:
    """Take the model out of a request; None where there is none, and none is needed."""
    if not message.HasField("model") and not question.needs_model(message):
        return None
    content = question.model_content(message.model, blobs)
    return _ModelFile(content, message.model.id or identify(content))


def _refuse_inconsistent(message: service_pb2.ExplainRequest, why: str) -> None:
    if not message.allow_inconsistent_model:
        raise ExplainError(
            Reason.INCONSISTENT_MODEL,
            f"{why} Mend it, or set allow_inconsistent_model to have it explained all the same.",
            "model",
        )


def _as_margin(model: OnnxModel, *, is_answer: bool) -> ClassMargin | None:
    """Take a model's predictions as what decides, where they are sums."""
    trees = model.trees if isinstance(model.trees, Ensemble) else _UNDECIDED
    if not (model.is_affine or isinstance(trees, Ensemble)):
        return None
    return ClassMargin(TimedModel(model, current()), trees, model.is_affine, is_answer)


def _forest(content: bytes) -> Callable[[int | None], Forest | Refusal]:
    """Make what finds the trees of a model, once it is asked to, and remembers them."""
    return lru_cache(1)(lambda width: read_forest(ModelProto.FromString(content), width))


def _receipt(
    message: service_pb2.ExplainRequest, file: _ModelFile | None, seconds: float
) -> service_pb2.Receipt:
    """Write what of the receipt depends on the request and on this installation."""
    found = versions()
    return service_pb2.Receipt(
        model_digest=file.identity if file else "",
        table_digest=table.digest(message.table),
        seed=message.seed,
        server_version=found["onnxplain-server"],
        library_versions={name: found[name] for name in _LIBRARIES},
        elapsed=timedelta(seconds=seconds),
    )


@cache
def versions() -> Mapping[str, str]:
    """Read the versions of the server and of what its numbers depend on, from their files."""
    return {name: version(name) for name in ("onnxplain-server", *_LIBRARIES)}
