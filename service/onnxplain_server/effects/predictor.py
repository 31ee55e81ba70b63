"""Predictor: calls the model for the engines, in batches of adaptive size, counted, in parallel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, category_features, unremembered
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.batch_size import BatchSize, call_within_memory
from onnxplain_server.effects.layers.rows import KnownRows
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.recording.journal import Journal
from onnxplain_server.effects.recording.recorded_rows import (
    content_of,
    record_slices,
    unknown_stretches,
)

_T = TypeVar("_T")
_R = TypeVar("_R")


class Predictor:
    """Calls the model for one computation.

    Parameters
    ----------
    model : Model
    outputs : (n_outputs,)
        Prediction columns to return.
    ledger : Ledger
    batch_size : BatchSize
        Shared by all computations on the loaded model.
    threads : ThreadPoolExecutor
        Runs calls in parallel; each call uses one thread.
    journal : Journal or None
        Records the predictions of slow models, call by call.
    layers : KnownRows or None
        First layers of the model, where hybrid rows are made of their parts.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        model: Model,
        outputs: Indices,
        ledger: Ledger,
        batch_size: BatchSize,
        threads: ThreadPoolExecutor,
        journal: Journal | None = None,
        layers: KnownRows | None = None,
    ) -> None:
        self.model = model if ledger.is_planned else unremembered(model)
        self._outputs = outputs
        is_run = bool(np.all(np.diff(outputs) == 1))
        self._has_all_outputs = is_run and len(outputs) == len(model.output_names)
        self._threads = threads
        self._has_failed = False
        self.batch_size = batch_size
        self.ledger = ledger
        self.journal = journal
        self.layers = layers

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the selected outputs."""
        return tuple(self.model.output_names[k] for k in self._outputs)

    @property
    def thread_count(self) -> int:
        """Number of calls that run at a time."""
        return self._threads._max_workers  # noqa: SLF001 - nothing public tells

    @property
    def roundings(self) -> Vector:
        """Relative rounding errors of the selected outputs: (n_outputs,); see `Model.roundings`."""
        return self.model.roundings[self._outputs]

    @property
    def output_keys(self) -> tuple[str, ...]:
        """Identities of the selected outputs, independent of the selection."""
        return tuple(map(str, self._outputs))

    @property
    def categories(self) -> frozenset[int]:
        """Features whose numbers are categories."""
        return category_features(self.model)

    def unused(self, n_features: int) -> frozenset[int]:
        """Return features that the selected outputs certainly ignore; see `Model.unused`."""
        return self.model.unused(n_features, self._outputs)

    def recording_in(self, journal: Journal) -> Predictor:
        """Return the same predictor with a journal."""
        parts = self.model, self._outputs, self.ledger, self.batch_size, self._threads
        return Predictor(*parts, journal, self.layers)

    def unit(self) -> AbstractContextManager[None]:
        """Run a piece of work whose number is cached at its end; see `Journal.unit`."""
        return nullcontext() if self.journal is None else self.journal.unit()

    def unplanned(self) -> Predictor:
        """Return the same predictor for rows outside the plan: they count as predicted only."""
        return Predictor(
            self.model,
            self._outputs,
            self.ledger.unplanned(),
            self.batch_size,
            self._threads,
            self.journal,
            self.layers,
        )

    def by_parts(self, layers: KnownRows) -> Predictor:
        """Return the same predictor, with hybrid rows made of the parts of first layers."""
        parts = self.model, self._outputs, self.ledger, self.batch_size, self._threads
        return Predictor(*parts, self.journal, layers)

    def of_rest(self, layers: KnownRows) -> Predictor:
        """Return the predictor of what follows the first layers of the model."""
        first = layers.first
        parts = first.rest, self._outputs, self.ledger, first.batch_size, self._threads
        return Predictor(*parts, self.journal)

    def of(self, model: Model) -> Predictor:
        """Return a predictor of all outputs of another model, with the same ledger and threads."""
        every = np.arange(len(model.output_names))
        return Predictor(model, every, self.ledger, self.batch_size, self._threads)

    def predict(self, inputs: Mapping[str, Array], rows: int, size: int) -> Array:
        """Predict in one call: (n_rows, n_outputs), in the model's own float type.

        Parameters
        ----------
        rows : int
            Number of rows, both planned and predicted.
        size : int
            The current batch size, which the call may not fill.
        """
        return self._call(self.model.predict, inputs, rows, size)

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice, int], Array]:
        """Return a function (rows, batch size) that predicts rows of buffers in one call.

        See `Model.on_buffers`; answers are those of `predict`.
        """
        predict = self.model.on_buffers(buffers)
        return lambda rows, size: self._call(predict, rows, rows.stop - rows.start, size)

    def _call(self, predict: Callable[[_T], Array], inputs: _T, rows: int, size: int) -> Array:
        if self._has_failed:
            raise ExplainError(Reason.CANCELLED, "another part of the computation failed")
        if self.batch_size.is_settled:
            predictions = predict(inputs)
        else:
            start = self.batch_size.clock()
            predictions = predict(inputs)
            self.batch_size.record(size, rows, self.batch_size.clock() - start)
        self.ledger.spend(rows, rows)
        return predictions if self._has_all_outputs else predictions[:, self._outputs]

    def predict_rows(self, features: Features, columns: Sequence[Array]) -> Matrix:
        """Predict any number of rows, given as cast columns (n,), in batches: (n, n_outputs)."""

        def call(rows: slice, size: int) -> Array:
            batch = [column[rows] for column in columns]
            return self.predict(feeds(features, batch), len(batch[0]), size)

        into = np.empty((len(columns[0]), len(self._outputs)))
        self.fill(into, call, columns)
        return into

    def fill(
        self, into: Matrix, call: Callable[[slice, int], Array], columns: Sequence[Array]
    ) -> None:
        """Predict a piece of rows in batches, but for those that the journal has.

        Parameters
        ----------
        into : (n, n_outputs)
            Where the predictions go.
        call : callable (slice, int) -> (n_rows_of_slice, n_outputs)
            Predicts rows of the piece in one call; takes the current batch size too.
        columns : arrays of n rows each
            All that the rows' predictions depend on beside the model.
        """
        stretches: Iterable[slice] = [slice(0, len(into))]
        if self.journal is not None and self.journal.has_records:
            restored = self._restore(self.journal, into, columns)
            stretches = unknown_stretches(len(into), restored)
        for stretch in stretches:
            start = recorded = stretch.start
            while start < stretch.stop:
                rows, answer = call_within_memory(self.batch_size, call, start, stretch.stop)
                into[rows] = answer
                start = rows.stop
                if self.journal is not None and self.batch_size.is_slow:
                    recorded = self._record(self.journal, into[:start], columns, recorded)

    def _restore(
        self, journal: Journal, into: Matrix, columns: Sequence[Array]
    ) -> Callable[[slice], bool]:
        """Return a function that copies the predictions of a record, where there is one."""

        def restored(rows: slice) -> bool:
            values = journal.get(content_of(columns, rows))
            if values is None:
                return False
            into[rows] = values
            self.ledger.spend(rows.stop - rows.start, 0)
            return True

        return restored

    def _record(self, journal: Journal, done: Matrix, columns: Sequence[Array], start: int) -> int:
        """Record complete groups of predicted rows from `start` on; return the first one left."""
        for rows in record_slices(start, len(columns[0]), len(done)):
            journal.put(content_of(columns, rows), done[rows].copy())
            start = rows.stop
        return start

    def in_parallel(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """Run a function on parts in the thread pool; results are in the order of the parts.

        After an error, no further part starts, and the others stop at their next call.
        """

        def guarded(part: _T) -> _R:
            try:
                return function(part)
            except BaseException:
                self._has_failed = True
                raise

        return _PartQueue(self._threads, guarded, parts).run()


class _PartQueue(Generic[_T, _R]):
    """Parts of a computation, of which each task of a thread pool takes one after another.

    So threads hand over seldom: a hand-over costs as much as predicting hundreds of rows. A task
    that starts submits the next one, so there are as many as there are free threads.
    """

    def __init__(
        self, threads: ThreadPoolExecutor, function: Callable[[_T], _R], parts: Iterable[_T]
    ) -> None:
        self._threads = threads
        self._function = function
        self._waiting = deque(enumerate(parts))
        self._results: dict[int, _R] = {}
        self._tasks: list[Future[None]] = []

    def run(self) -> list[_R]:
        """Run the function on all parts, and return the results in their order."""
        self._submit()
        errors = [error for task in self._tasks if (error := task.exception())]  # tasks are added
        if errors:
            raise next((e for e in errors if not _is_echo(e)), errors[0])
        return [self._results[position] for position in range(len(self._results))]

    def _submit(self) -> None:
        self._tasks.append(self._threads.submit(self._take_parts))

    def _take_parts(self) -> None:
        try:
            if len(self._waiting) > 1:
                self._submit()
            while self._waiting:
                try:
                    position, part = self._waiting.popleft()
                except IndexError:  # another task took the last part
                    return
                self._results[position] = self._function(part)
        except BaseException:
            self._waiting.clear()
            raise


def _is_echo(error: BaseException) -> bool:
    """Return whether an error only says that another part failed."""
    return isinstance(error, ExplainError) and error.message.startswith("another part")
