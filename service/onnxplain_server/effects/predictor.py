"""The only place that calls the model: paced, counted, checked, several calls side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.ledger import Ledger

_T = TypeVar("_T")
_R = TypeVar("_R")


class Predictor:
    """Calls a model for one computation.

    Parameters
    ----------
    model : Model
    outputs : (n_outputs,)
        Which prediction columns are wanted.
    ledger : Ledger
    batch_size : BatchSize
        Shared by all computations on the same loaded model.
    threads : ThreadPoolExecutor
        Runs calls side by side; each call uses one thread.
    """

    def __init__(
        self,
        model: Model,
        outputs: Indices,
        ledger: Ledger,
        batch_size: BatchSize,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._model = model
        self._outputs = outputs
        self._all = len(outputs) == len(model.output_names) and bool(np.all(np.diff(outputs) == 1))
        self._threads = threads
        self._failed = False
        self.batch_size = batch_size
        self.ledger = ledger

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the wanted outputs."""
        return tuple(self._model.output_names[k] for k in self._outputs)

    @property
    def roundings(self) -> Vector:
        """Relative errors of the wanted outputs: (n_outputs,); see `Model.roundings`."""
        return self._model.roundings[self._outputs]

    @property
    def output_keys(self) -> tuple[str, ...]:
        """Identities of the wanted outputs, whatever others are wanted."""
        return tuple(map(str, self._outputs))

    def unused(self, n_features: int) -> frozenset[int]:
        """Features that certainly change nothing in the wanted outputs; see `Model.unused`."""
        return self._model.unused(n_features, self._outputs)

    def of(self, model: Model) -> Predictor:
        """Call another model, for all its outputs, in the same way."""
        every = np.arange(len(model.output_names))
        return Predictor(model, every, self.ledger, self.batch_size, self._threads)

    def predict(self, inputs: Mapping[str, Array], rows: int, size: int) -> Array:
        """Predict in one call: (n_rows, n_outputs), in the model's own float type.

        Parameters
        ----------
        rows : int
            Number of rows, so planned as well as predicted.
        size : int
            The call size that `batch_size` had asked for.
        """
        if self._failed:
            raise ExplainError(Reason.CANCELLED, "another part of the computation failed")
        start = time.thread_time()  # others on the processor make no call slower
        predictions = self._model.predict(inputs)
        self.batch_size.record(size, rows, time.thread_time() - start)
        self.ledger.spend(rows, rows)
        return predictions if self._all else predictions[:, self._outputs]

    def predict_rows(self, features: Features, columns: Sequence[Array]) -> Matrix:
        """Predict any number of rows, given as cast columns of (n,): (n, n_outputs)."""
        n, start = len(columns[0]), 0
        parts: list[Matrix] = []
        while start < n:
            size = self.batch_size.current()
            part = [column[start : start + size] for column in columns]
            called = self.predict(feeds(features, part), len(part[0]), size)
            parts.append(called.astype(np.float64))
            start += size
        return np.concatenate(parts)

    def side_by_side(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """Run a function on parts, each in one thread; results in the order of the parts.

        The first error ends the others at their next call.
        """

        def guarded(part: _T) -> _R:
            try:
                return function(part)
            except BaseException:
                self._failed = True
                raise

        futures = [self._threads.submit(guarded, part) for part in parts]
        errors = [error for future in futures if (error := future.exception())]
        if errors:
            raise next((e for e in errors if not _is_echo(e)), errors[0])
        return [future.result() for future in futures]


def check_finite(values: Matrix, describe: Callable[[Indices], str]) -> Matrix:
    """Return predictions or averages of them if all are finite.

    Parameters
    ----------
    values : (n, n_outputs)
    describe : callable
        Names, for the message, the first of the rows that are not.

    Raises
    ------
    ExplainError
        NON_FINITE_PREDICTION. A broken model must not read as "no effect".
    """
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(wrong):
        raise ExplainError(Reason.NON_FINITE_PREDICTION, describe(wrong[:5]))
    return values


def describe_rows(background: Background, rows: Indices) -> str:
    """Name rows of the table for a message."""
    return f"rows {listed(tuple(background.source[rows].tolist()))} (counted from 0)"


def _is_echo(error: BaseException) -> bool:
    """Whether an error only says that another part failed."""
    return isinstance(error, ExplainError) and error.message.startswith("another part")
