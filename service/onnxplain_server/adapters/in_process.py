"""The runner that computes in this process: for the command line, notebooks and debugging."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from importlib.metadata import version

from cachetools import LRUCache
from onnx import ModelProto
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.onnx import OnnxModel, describe, load
from onnxplain_server.effects.pace import Pace
from onnxplain_server.errors import ExplainError
from onnxplain_server.explain import Margin, Means, explain
from onnxplain_server.model import Scale
from onnxplain_server.run import Blobs, Host
from onnxplain_server.trees.ensemble import Ensemble
from onnxplain_server.trees.grove import Grove, read_grove
from onnxplain_server.trees.refusal import Refusal
from onnxplain_server.wire import answer, question, table
from onnxplain_server.wire.blobs import identify

_UNDECIDED = Refusal("what the model predicts is decided by neither trees nor linear scores")
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model ready to predict, the call size learned for it, and what finds its forest."""

    model: OnnxModel
    pace: Pace
    grove: Callable[[int | None], Grove | Refusal]


class InProcess:
    """A `Runner` without isolation.

    Parameters
    ----------
    threads : int
        Calls of a model side by side, over all requests.
    model_count : int
        Loaded models to keep, the least recently used going first.
    """

    def __init__(self, threads: int, model_count: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="predict")
        self._models: LRUCache[tuple[bytes, Scale], _Loaded] = LRUCache(model_count)
        self._lock = threading.Lock()

    def explain(self, request: bytes, blobs: Blobs, host: Host) -> bytes:
        """See `Runner.explain`."""
        start = time.monotonic()
        message = service_pb2.ExplainRequest()
        question.parse(request, message)
        content = question.model_content(message.model, blobs)
        asked = question.read(message)
        rows = table.read(message.table, blobs) if message.HasField("table") else None
        host.advance(0, 0)
        loaded = self._load(content, asked.scale)
        means = Means(
            host,
            loaded.pace,
            self._threads,
            lambda: loaded.model.trees,
            loaded.grove,
            lambda: self._margin(content, loaded.model),
        )
        given = explain(loaded.model, rows, asked, means)
        response = answer.write(given)
        response.model.CopyFrom(answer.write_description(describe(content)))
        response.receipt.MergeFrom(_receipt(message, content, time.monotonic() - start))
        return response.SerializeToString()

    def describe(self, request: bytes, blobs: Blobs, host: Host) -> bytes:
        """See `Runner.describe`."""
        message = service_pb2.DescribeModelRequest()
        question.parse(request, message)
        host.advance(0, 0)
        description = describe(question.model_content(message.model, blobs))
        return service_pb2.DescribeModelResponse(
            model=answer.write_description(description)
        ).SerializeToString()

    def close(self) -> None:
        """End the threads; computations on their way are finished first."""
        self._threads.shutdown()

    def _margin(self, content: bytes, model: OnnxModel) -> Margin | Refusal:
        """Find what decides the class: the answer itself, or the score before it."""
        found = _as_margin(model, is_answer=True)
        if found is not None:
            return found
        try:
            scores = self._load(content, Scale.MARGIN).model
        except ExplainError:
            return _UNDECIDED
        return _as_margin(scores, is_answer=False) or _UNDECIDED

    def _load(self, content: bytes, scale: Scale) -> _Loaded:
        """Load a model, or take the one kept from an earlier request."""
        key = (hashlib.sha256(content).digest(), scale)
        with self._lock:
            loaded = self._models.get(key)
        if loaded is None:
            loaded = _Loaded(load(content, scale), Pace(), _grove(content))
            with self._lock:
                self._models[key] = loaded
        return loaded


def _as_margin(model: OnnxModel, *, is_answer: bool) -> Margin | None:
    """Take a model's predictions as what decides, where they are sums."""
    trees = model.trees if isinstance(model.trees, Ensemble) else _UNDECIDED
    if not (model.is_affine or isinstance(trees, Ensemble)):
        return None
    return Margin(model, trees, model.is_affine, is_answer)


def _grove(content: bytes) -> Callable[[int | None], Grove | Refusal]:
    """Make what finds the trees of a model, once it is asked to, and remembers them."""
    return lru_cache(1)(lambda width: read_grove(ModelProto.FromString(content), width))


def _receipt(
    message: service_pb2.ExplainRequest, model: bytes, seconds: float
) -> service_pb2.Receipt:
    """Write what of the receipt depends on the request and on this installation."""
    return service_pb2.Receipt(
        model_digest=identify(model),
        table_digest=table.digest(message.table),
        seed=message.seed,
        server_version=version("onnxplain-server"),
        library_versions={name: version(name) for name in _LIBRARIES},
        elapsed=timedelta(seconds=seconds),
    )
