"""Predictions of rows as a task: what it takes and returns as bytes, and how a worker computes it.

A task predicts the rows of one call of the black-box engine, by calls of its own that are cut at
the same multiples of rows, so that each row gets the bits that it would get in one process.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock

import numpy as np
from cachetools import LRUCache

from onnxplain_server.adapters.onnx import OnnxModel, load
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Scale
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.effects.batch_size import BatchSize, next_call
from onnxplain_server.trees.streaming.encoding import Encoding

_MODEL_COUNT = 2
"""Models that a worker keeps: one model, on both scales."""


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


_ENCODING = Encoding((PredictionJob, ModelLimits))


def pack_job(job: PredictionJob) -> bytes:
    """Encode a job."""
    return _ENCODING.encode(job)


def pack_rows(feeds: Mapping[str, Array]) -> bytes:
    """Encode rows, by the names of the model's inputs."""
    return _ENCODING.encode(
        {
            name: (values.shape, np.ascontiguousarray(values).ravel())
            for name, values in feeds.items()
        }
    )


def unpack_rows(rows: bytes) -> Mapping[str, Array]:
    """Decode the output of `pack_rows`."""
    parts = _ENCODING.decode(rows).items()
    return {name: values.reshape(shape) for name, (shape, values) in parts}


def unpack_reply(reply: bytes) -> tuple[Array, float]:
    """Decode predictions, (n_rows, n_outputs), and the processor seconds that they took."""
    predictions, seconds = _ENCODING.decode(reply)
    return predictions, seconds


class PredictionComputer:
    """Predicts rows from bytes; keeps the last models loaded. For threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: LRUCache[tuple[str, bytes], tuple[OnnxModel, BatchSize]] = LRUCache(
            _MODEL_COUNT
        )

    def compute(self, model: bytes, job: bytes, rows: bytes, check: Callable[[], None]) -> bytes:
        """Predict the rows of a task; return the predictions as bytes.

        Parameters
        ----------
        check : callable
            Called between calls of the model; raises where nobody waits any more.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED; those of `load`.
        """
        loaded, batch_size = self._load(model, job)
        feeds = unpack_rows(rows)
        start = time.thread_time()
        parts = list(_predictions(loaded, batch_size, feeds, check))
        seconds = time.thread_time() - start
        return _ENCODING.encode((parts[0] if len(parts) == 1 else np.concatenate(parts), seconds))

    def _load(self, content: bytes, job: bytes) -> tuple[OnnxModel, BatchSize]:
        key = hashlib.sha256(content).hexdigest(), job
        with self._lock:
            if key not in self._loaded:
                asked: PredictionJob = _ENCODING.decode(job)
                model = load(content, Scale[asked.scale], asked.limits, is_batched=asked.is_batched)
                self._loaded[key] = model, BatchSize()
            return self._loaded[key]


def _predictions(
    model: OnnxModel, batch_size: BatchSize, feeds: Mapping[str, Array], check: Callable[[], None]
) -> Iterator[Array]:
    """Predict rows by calls that last some 50 ms each."""
    start, count = 0, len(next(iter(feeds.values())))
    while start < count:
        check()
        size = batch_size.current()
        rows = next_call(start, count, size)
        called = batch_size.clock()
        yield model.predict({name: values[rows] for name, values in feeds.items()})
        batch_size.record(size, rows.stop - rows.start, batch_size.clock() - called)
        start = rows.stop
