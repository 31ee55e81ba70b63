"""Trees and black-box engine on the rows of a matrix, with the model loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from onnx import ModelProto
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, merge, unmerged
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.methods import interactions
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble

from bench.shared.null_host import NullHost

THREADS = 2

Rows = npt.NDArray[np.float32] | npt.NDArray[np.float64]


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def bind(rows: Rows, names: Sequence[str] = ()) -> Features:
    """Name the columns of a matrix, x0, x1 and so on by default."""
    width = rows.shape[1]
    columns = tuple(rows.astype(np.float64).T)
    names = tuple(names) or tuple(f"x{j}" for j in range(width))
    return Features(names, columns, (np.dtype(np.float32),) * width, "rows")


def background(rows: Rows, names: Sequence[str] = (), *, merged: bool = True) -> Background:
    """Rows of equal weight; equal ones merged, unless rows are to be resampled."""
    take = merge if merged else unmerged
    return take(bind(rows, names), np.ones(len(rows)), np.arange(len(rows)))


@dataclass(slots=True)
class Trees:
    """The trees engine."""

    ensemble: Ensemble
    threads: ThreadPoolExecutor

    def on(self, rows: Background) -> Exact:
        ledger = Ledger(NullHost())
        leaves, outputs = Leaves(self.ensemble), np.array([0])
        return Exact(self.ensemble, leaves, rows, ("prediction",), outputs, ledger, self.threads)


def trees(model: ModelProto, threads: ThreadPoolExecutor) -> Trees:
    ensemble = read_ensemble(model)
    if not isinstance(ensemble, Ensemble):
        raise TypeError(ensemble.reason)
    return Trees(ensemble, threads)


class Predicting:
    """The black-box engine; its call size is learned in the first runs, and kept."""

    def __init__(self, model: ModelProto, threads: ThreadPoolExecutor) -> None:
        self._model = load(model.SerializeToString())
        self._batch_size = BatchSize()
        self._threads = threads

    def on(self, rows: Background) -> BlackBox:
        predictor = Predictor(
            self._model, np.arange(1), Ledger(NullHost()), self._batch_size, self._threads
        )
        return BlackBox(predictor, rows, "RESPONSE")


def interacting(
    engine: Trees | Predicting,
    rows: Rows,
    options: interactions.Options,
    names: Sequence[str] = (),
) -> interactions.Result:
    """Compute interactions from rows on, as a request does once its model is loaded."""
    effects = engine.on(background(rows, names, merged=not options.resampling.repeat_count))
    names = effects.background.features.names
    return interactions.compute(effects, interactions.resolve(options, names, ""), seed=0)
