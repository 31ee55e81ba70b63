"""Predictions of rows as a task: what it takes and returns as bytes, and how a worker computes it.

A task predicts the rows of some calls of the black-box engine, each by calls of its own that are
cut at the same multiples of rows, so that each row gets the bits that it would get in one process.
Rows travel by columns and compressed: those of a call are mostly the same rows again and again,
with a column or two set to one value after the other, and shrink to a few per cent.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import pyarrow
from cachetools import LRUCache

from onnxplain_server.adapters.onnx import OnnxModel, UntriedModelError, load
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Scale
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.effects.batch_size import BatchSize, call_within_memory
from onnxplain_server.trees.streaming.encoding import Encoding

_MODEL_COUNT = 2
"""Models that a worker keeps: one model, on both scales."""
_TRIAL_ROWS = 16


@dataclass(frozen=True, slots=True)
class PredictionJob:
    """All that the tasks on one model share, beside its file.

    Attributes
    ----------
    scale : str
        Name of the scale of the predictions.
    is_batched : bool
        Whether the model evaluates all rows of a call at once.
    limits : ModelLimits
        Complexity limits that the model was accepted with.
    """

    scale: str
    is_batched: bool
    limits: ModelLimits


_COMPRESSION = pyarrow.Codec("lz4_raw")
_ENCODING = Encoding((PredictionJob, ModelLimits))


def pack_job(job: PredictionJob) -> bytes:
    """Encode a job."""
    return _ENCODING.encode(job)


PackedRows = Mapping[str, tuple[tuple[int, ...], np.dtype[Any], Array]]
"""Shape, type and values of each input: texts as they are, columns of numbers as bytes of LZ4."""


def pack_rows(feeds: Mapping[str, Array]) -> PackedRows:
    """Pack the rows of a call, by the names of the model's inputs."""
    return {name: (each.shape, each.dtype, _packed(each)) for name, each in feeds.items()}


def unpack_rows(packed: PackedRows) -> Mapping[str, Array]:
    """Unpack the output of `pack_rows`."""
    return {name: _unpacked(*each) for name, each in packed.items()}


def pack_task(calls: Sequence[PackedRows]) -> bytes:
    """Encode the rows of calls as a task."""
    return _ENCODING.encode([dict(call) for call in calls])


def unpack_reply(reply: bytes) -> Sequence[tuple[Array, float]]:
    """Decode predictions, (n_rows, n_outputs), and their processor seconds, for each call."""
    calls: Sequence[tuple[Array, float]] = _ENCODING.decode(reply)
    return calls


def _packed(values: Array) -> Array:
    if values.dtype == object:
        return values.ravel()
    columns = np.ascontiguousarray(values.T)
    return np.frombuffer(_COMPRESSION.compress(columns.ravel().view(np.uint8)), np.uint8)


def _unpacked(shape: tuple[int, ...], dtype: np.dtype[Any], packed: Array) -> Array:
    if dtype.kind == "O":
        return packed.reshape(shape)
    size = math.prod(shape) * dtype.itemsize
    content = _COMPRESSION.decompress(packed, size) if size else b""
    columns: Array = np.frombuffer(content, dtype).reshape(shape[::-1])
    return np.ascontiguousarray(columns.T)


class PredictionComputer:
    """Predicts rows from bytes; keeps the last models loaded. For threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: LRUCache[tuple[str, bytes], tuple[OnnxModel, BatchSize]] = LRUCache(
            _MODEL_COUNT
        )

    def compute(self, model: bytes, job: bytes, task: bytes, check: Callable[[], None]) -> bytes:
        """Predict the rows of a task; return predictions as `unpack_reply` reads them.

        Parameters
        ----------
        check : callable
            Called between calls of the model; raises where nobody waits any more.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED; those of `load`.
        """
        calls: Sequence[PackedRows] = _ENCODING.decode(task)
        loaded, batch_size = self._load(model, job, calls[0])
        return _ENCODING.encode([_predicted(loaded, batch_size, call, check) for call in calls])

    def _load(self, content: bytes, job: bytes, call: PackedRows) -> tuple[OnnxModel, BatchSize]:
        key = hashlib.sha256(content).hexdigest(), job
        with self._lock:
            if key not in self._loaded:
                asked: PredictionJob = _ENCODING.decode(job)
                self._loaded[key] = _tried(content, asked, call), BatchSize()
            return self._loaded[key]


def _tried(content: bytes, asked: PredictionJob, call: PackedRows) -> OnnxModel:
    """Load a model; one that takes no made-up rows is tried on the first rows to predict."""
    scale, is_batched = Scale(asked.scale), asked.is_batched
    try:
        return load(content, scale, asked.limits, is_batched=is_batched)
    except UntriedModelError:
        rows = {name: values[:_TRIAL_ROWS] for name, values in unpack_rows(call).items()}
        return load(content, scale, asked.limits, is_batched=is_batched, rows=rows)


def _predicted(
    model: OnnxModel, batch_size: BatchSize, call: PackedRows, check: Callable[[], None]
) -> tuple[Array, float]:
    """Predict the rows of a call; return the processor seconds too."""
    feeds = unpack_rows(call)
    start = time.thread_time()
    parts = list(_predictions(model, batch_size, feeds, check))
    predictions = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return predictions, time.thread_time() - start


def _predictions(
    model: OnnxModel, batch_size: BatchSize, feeds: Mapping[str, Array], check: Callable[[], None]
) -> Iterator[Array]:
    """Predict rows by calls that last some 50 ms each."""

    def call(rows: slice, size: int) -> Array:
        called = batch_size.clock()
        predictions = model.predict({name: values[rows] for name, values in feeds.items()})
        batch_size.record(size, rows.stop - rows.start, batch_size.clock() - called)
        return predictions

    start, count = 0, len(next(iter(feeds.values())))
    while start < count:
        check()
        rows, predictions = call_within_memory(batch_size, call, start, count)
        yield predictions
        start = rows.stop
