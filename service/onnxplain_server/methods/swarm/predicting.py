"""Batched predictions of moved rows: several features and weights per call of the model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.rows import feeds
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.recording.journal import Journal, digest
from onnxplain_server.effects.row_predictions import check_finite, not_finite
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.perturbation import JointMove
from onnxplain_server.methods.swarm.scoring import Tally

_SPAN = 2_048
"""Rows per task of the thread pool; smaller tasks spread over more threads."""


@dataclass(frozen=True, slots=True, eq=False)
class MovedFeature:
    """Feature or group of a cohort, moved by a weight."""

    move: JointMove
    weight: float


class _Piece(NamedTuple):
    """Values of features in a part of the rows: (n,) each."""

    rows: slice
    values: Mapping[int, Array]


class MovedRowPredictor:
    """Predictor of moved rows, which returns unneeded rows of the plan to the ledger.

    Parameters
    ----------
    predictor : Predictor
        For all outputs of the model.
    unplanned : Predictor
        The same, for rows outside the plan.
    background : Background
        All rows.
    scope : str
        All that scores of moved rows depend on beside the moves, for the journal.
    """

    def __init__(
        self, predictor: Predictor, unplanned: Predictor, background: Background, scope: str
    ) -> None:
        self.journal = Journal(predictor.ledger, scope)
        self._predictor = predictor.recording_in(self.journal)
        self._unplanned = unplanned
        self._background = background
        self._matrix = _as_matrix(background)
        self._predicted = 0
        self._settled = 0
        self._evaluated = 0
        self._lock = threading.Lock()

    def unmoved(self) -> Matrix:
        """Predict all rows before any move: (n, n_outputs)."""
        background = self._background
        rows = np.arange(len(background))
        spans = [rows[s : s + BatchSize.LARGEST] for s in range(0, len(rows), BatchSize.LARGEST)]
        parts = self._predictor.in_parallel(
            lambda span: self._predict(span, [], self._predictor), spans
        )
        self._evaluated += len(rows)
        return np.concatenate(parts)

    def evaluated(self, rows: int) -> None:
        """Count planned rows as evaluated; settle those that were memoized and not predicted."""
        self._evaluated += rows
        self.settle(self._evaluated)

    def settle(self, planned: int) -> None:
        """Return planned rows that turned out to be unnecessary to the ledger.

        Parameters
        ----------
        planned : int
            Rows planned for all predictions until now.
        """
        unneeded = planned - self._predicted - self._settled
        self._settled += unneeded
        self._predictor.ledger.release(unneeded)

    def predict(self, rows: Indices, values: Mapping[int, Array]) -> Matrix:
        """Predict rows of the background with some features replaced: (n, n_outputs).

        Parameters
        ----------
        rows : (n,)
        values : mapping of feature to (n,)
            In the model's type.
        """
        spans = [slice(s, s + BatchSize.LARGEST) for s in range(0, len(rows), BatchSize.LARGEST)]

        def part(span: slice) -> Matrix:
            part_values = {feature: own[span] for feature, own in values.items()}
            pieces = [_Piece(slice(0, len(rows[span])), part_values)]
            return self._predict(rows[span], pieces, self._unplanned)

        return np.concatenate(self._unplanned.in_parallel(part, spans))

    def tallies(self, cohort: Cohort, tasks: Sequence[MovedFeature]) -> Tally:
        """Predict all tasks in batches, and tally the predictions: one weight per task.

        The journal keeps the tally to the end of the request: a later attempt searches as before,
        and finds what it scores.
        """
        key = _content(cohort, tasks)
        recorded = self.journal.get(key)
        if recorded is not None:
            return Tally(recorded[:, :-1], recorded[:, -1])
        with self.journal.parts() as predictions:
            tally = self._predict_tally(cohort, tasks)
        joined = np.column_stack([tally.counts, tally.losses])
        self.journal.replace(predictions, {key: joined})
        return tally

    def _predict_tally(self, cohort: Cohort, tasks: Sequence[MovedFeature]) -> Tally:
        n = len(cohort)
        labels = np.zeros((len(tasks), n), dtype=np.int32)
        losses = np.zeros((len(tasks), n))
        total = n * len(tasks)
        spans = [slice(s, min(s + _SPAN, total)) for s in range(0, total, _SPAN)]

        def work(span: slice) -> None:
            places = np.arange(span.start, span.stop)
            rows = places % n
            predicted = self._predict(cohort.rows[rows], _pieces(tasks, span, n), self._predictor)
            labels.reshape(-1)[span] = cohort.truth.labels(predicted)
            if cohort.truth.comparison is not None:
                losses.reshape(-1)[span] = cohort.truth.take(rows).losses(predicted)

        self._predictor.in_parallel(work, spans)
        has_classes = cohort.truth.classes is not None
        # Each task is summed as a whole, so that sums do not depend on the batches.
        return Tally.join(
            [
                cohort.truth.tally(labels[i] if has_classes else None, losses[i])
                for i in range(len(tasks))
            ]
        )

    def _predict(self, rows: Indices, pieces: Sequence[_Piece], predictor: Predictor) -> Matrix:
        """Predict rows with pieces of columns replaced."""
        whole = self._inputs(rows, pieces)
        predicted = np.empty((len(rows), len(predictor.output_names)))

        def call(part: slice, size: int) -> Array:
            inputs = {name: values[part] for name, values in whole.items()}
            return predictor.predict(inputs, part.stop - part.start, size)

        predictor.fill(predicted, call, list(whole.values()))
        if predictor is self._predictor:
            with self._lock:
                self._predicted += len(rows)
        return check_finite(predicted, self._describe(rows, pieces))

    def _inputs(self, rows: Indices, pieces: Sequence[_Piece]) -> Mapping[str, Array]:
        background = self._background
        name = background.features.matrix
        if self._matrix is not None:
            whole = self._matrix[rows]
            columns = list(whole.T)
        else:
            columns = [column[rows] for column in background.columns]
        for span, values in pieces:
            for feature, own in values.items():
                columns[feature][span] = own
        return {name: whole} if self._matrix is not None else feeds(background.features, columns)

    def _describe(self, rows: Indices, pieces: Sequence[_Piece]) -> Callable[[Indices], str]:
        def message(wrong: Indices) -> str:
            place = int(wrong[0])
            if not pieces:
                return not_finite(self._background, np.unique(rows[wrong]))
            span, values = next(p for p in pieces if p.rows.start <= place < p.rows.stop)
            names = [self._background.features.names[feature] for feature in values]
            moved = " and ".join(
                f"{name} = {own[place - span.start]:g}"
                for name, own in zip(names, values.values(), strict=True)
            )
            row = int(self._background.source[rows[place]])
            return (
                f"the model's prediction is not finite for row {row} (counted from 0) when "
                f"{moved}; lower weight_limit, or leave {listed(tuple(names))} out"
            )

        return message


def _content(cohort: Cohort, tasks: Sequence[MovedFeature]) -> bytes:
    """Digest the rows, true values, features and weights of a tally; the scope tells the rest."""
    truth = cohort.truth
    arrays = (cohort.rows, truth.actual, truth.weights)
    expression = truth.expression.fingerprint if truth.expression else b""
    features = [task.move.features for task in tasks]
    weights = np.array([task.weight for task in tasks], dtype=np.float64)
    name = f"tally {cohort.name!r} {cohort.number} {cohort.row_index} {features}"
    return digest([name.encode(), expression, *map(fingerprint, (*arrays, weights))])


def _as_matrix(background: Background) -> Array | None:
    """Return the rows as a matrix, (n, n_features), if the model takes one."""
    return np.stack(background.columns, axis=1) if background.features.matrix else None


def _pieces(tasks: Sequence[MovedFeature], span: slice, n: int) -> list[_Piece]:
    """Return the parts of tasks in a span, with slices from its start."""
    pieces = []
    for number in range(span.start // n, -(-span.stop // n)):
        low, high = max(span.start, number * n), min(span.stop, (number + 1) * n)
        task = tasks[number]
        part = task.move.take(np.arange(low - number * n, high - number * n))
        rows = slice(low - span.start, high - span.start)
        pieces.append(_Piece(rows, part.at(task.weight)))
    return pieces
