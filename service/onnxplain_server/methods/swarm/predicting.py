"""Predictions of moved rows: several features and weights in each call of the model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.predictor import Predictor, check_finite, describe_rows
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.scoring import Tally

_SPAN = 2_000
"""Rows that one thread predicts, so that there is work for others."""


@dataclass(frozen=True, slots=True, eq=False)
class MovedFeature:
    """A feature of a cohort moved by a weight."""

    feature: int
    move: Move
    weight: float


class MovedRowPredictor:
    """Asks the model about moved rows.

    Parameters
    ----------
    predictor : Predictor
        Of all outputs of the model.
    unplanned : Predictor
        The same, for rows that nobody could plan.
    background : Background
        All rows.
    """

    def __init__(self, predictor: Predictor, unplanned: Predictor, background: Background) -> None:
        self._predictor = predictor
        self._unplanned = unplanned
        self._background = background
        self._matrix = _as_matrix(background)
        self._spent = 0
        self._settled = 0
        self._looked = 0
        self._lock = threading.Lock()

    def unmoved(self) -> Matrix:
        """Predict all rows as they are: (n, n_outputs)."""
        background = self._background
        every = np.arange(len(background))
        spans = [every[s : s + BatchSize.LARGEST] for s in range(0, len(every), BatchSize.LARGEST)]
        parts = self._predictor.in_parallel(
            lambda rows: self._predict(rows, [], self._predictor), spans
        )
        self._looked += len(every)
        return np.concatenate(parts)

    def looked(self, rows: int) -> None:
        """Take back planned rows that were looked at, but known already and not predicted."""
        self._looked += rows
        self.settle(self._looked)

    def settle(self, planned: int) -> None:
        """Take back what was planned so far, and turned out to be unnecessary.

        Parameters
        ----------
        planned : int
            Rows planned for all that has been predicted until now.
        """
        unneeded = planned - self._spent - self._settled
        self._settled += unneeded
        self._predictor.ledger.release(unneeded)

    def predict(self, rows: Indices, feature: int, values: Array) -> Matrix:
        """Predict rows of the background with one feature replaced: (n, n_outputs).

        Parameters
        ----------
        rows, values : (n,)
            Values in the model's type.
        """
        spans = [slice(s, s + BatchSize.LARGEST) for s in range(0, len(rows), BatchSize.LARGEST)]

        def part(span: slice) -> Matrix:
            own = values[span]
            return self._predict(rows[span], [(slice(0, len(own)), feature, own)], self._unplanned)

        return np.concatenate(self._unplanned.in_parallel(part, spans))

    def tallies(self, cohort: Cohort, tasks: Sequence[MovedFeature]) -> Tally:
        """Predict each task, in calls that hold as many as fit, and count: one weight per task."""
        n = len(cohort)
        labels = np.zeros((len(tasks), n), dtype=np.int32)
        losses = np.zeros((len(tasks), n))
        total = n * len(tasks)
        spans = [slice(s, min(s + _SPAN, total)) for s in range(0, total, _SPAN)]

        def work(span: slice) -> None:
            places = np.arange(span.start, span.stop)
            own, rows = cohort.rows[places % n], places % n
            predicted = self._predict(own, _pieces(tasks, span, n), self._predictor)
            labels.reshape(-1)[span] = cohort.truth.labels(predicted)
            if cohort.truth.comparison is not None:
                losses.reshape(-1)[span] = cohort.truth.take(rows).losses(predicted)

        self._predictor.in_parallel(work, spans)
        counted = cohort.truth.classes is not None
        # Each task is counted as a whole, so that sums do not depend on the calls.
        return Tally.join(
            [
                cohort.truth.tally(labels[i] if counted else None, losses[i])
                for i in range(len(tasks))
            ]
        )

    def _predict(
        self, rows: Indices, pieces: Sequence[tuple[slice, int, Array]], predictor: Predictor
    ) -> Matrix:
        """Predict rows in which pieces of columns are replaced."""
        parts, start = [], 0
        while start < len(rows):
            size = predictor.batch_size.current()
            stop = min(start + size, len(rows))
            inputs = self._inputs(rows[start:stop], pieces, start)
            parts.append(predictor.predict(inputs, stop - start, size))
            start = stop
        if predictor is self._predictor:
            with self._lock:
                self._spent += len(rows)
        predicted = np.concatenate(parts).astype(np.float64)
        return check_finite(predicted, self._describe(rows, pieces))

    def _inputs(
        self, rows: Indices, pieces: Sequence[tuple[slice, int, Array]], start: int
    ) -> Mapping[str, Array]:
        background = self._background
        name = background.features.matrix
        if self._matrix is not None:
            whole = self._matrix[rows]
            columns = list(whole.T)
        else:
            columns = [column[rows] for column in background.columns]
        for span, feature, values in pieces:
            low, high = max(span.start - start, 0), min(span.stop - start, len(rows))
            if low < high:
                first = low + start - span.start
                columns[feature][low:high] = values[first : first + high - low]
        return {name: whole} if self._matrix is not None else feeds(background.features, columns)

    def _describe(
        self, rows: Indices, pieces: Sequence[tuple[slice, int, Array]]
    ) -> Callable[[Indices], str]:
        def told(wrong: Indices) -> str:
            place = int(wrong[0])
            if not pieces:
                named = describe_rows(self._background, rows[wrong])
                return f"the model's prediction is not finite for {named}; mend these rows"
            span, feature, values = next(p for p in pieces if p[0].start <= place < p[0].stop)
            name = self._background.features.names[feature]
            row = int(self._background.source[rows[place]])
            return (
                f"the model's prediction is not finite for row {row} (counted from 0) when {name} "
                f"= {values[place - span.start]:g}; lower weight_limit, or leave {name} out"
            )

        return told


def _as_matrix(background: Background) -> Array | None:
    """Lay the rows of a model that takes one matrix side by side: (n, n_features)."""
    return np.stack(background.columns, axis=1) if background.features.matrix else None


def _pieces(tasks: Sequence[MovedFeature], span: slice, n: int) -> list[tuple[slice, int, Array]]:
    """What of the tasks' rows lies in a span, from 0: where, which feature, and its values."""
    pieces = []
    for number in range(span.start // n, -(-span.stop // n)):
        low, high = max(span.start, number * n), min(span.stop, (number + 1) * n)
        task = tasks[number]
        part = task.move.take(np.arange(low - number * n, high - number * n))
        values = part.at(task.weight)
        pieces.append((slice(low - span.start, high - span.start), task.feature, values))
    return pieces
