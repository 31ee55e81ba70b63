"""Steps of tree models: all weights at which a prediction changes, from the thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.bisection import crossings
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.perturbation import JointMove, Move
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.steps import Steps
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.axes import value_of
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.stepping.profile_kernel import DOUBTFUL
from onnxplain_server.trees.stepping.profiles import Pieces, Ranges, profiles


@dataclass(frozen=True, slots=True, eq=False)
class TreeStepReader:
    """Step reader of a tree ensemble.

    Attributes
    ----------
    ensemble : Ensemble
        Its largest output decides the class; with a loss, its outputs are the predictions.
    columns : tuple of (n_rows,)
        All rows, in the model's types.
    pool : BlockPool
    predictor : MovedRowPredictor
        Decides between outputs that differ by rounding only.
    kind : float32 or float64
        Type of weights.
    limit : float
        Largest weight.
    """

    ensemble: Ensemble
    columns: tuple[Array, ...]
    pool: BlockPool
    predictor: MovedRowPredictor
    kind: npt.DTypeLike
    limit: float

    def steps(self, cohort: Cohort, moves: Sequence[JointMove]) -> list[Steps]:
        """Return the steps of each feature, none of them a group."""
        features = [joint.features[0] for joint in moves]
        codes = self._codes(cohort.rows)
        ranges = self._ranges(features, [joint.moves[0] for joint in moves])
        with_outputs = cohort.truth.comparison is not None
        pieces = profiles(self.ensemble, codes, ranges, self.pool, with_outputs=with_outputs)
        order = np.argsort(pieces.place, kind="stable")
        ends = np.searchsorted(pieces.place[order], np.arange(len(features) + 1))
        return [
            self._of_feature(cohort, _take(pieces, order[ends[i] : ends[i + 1]]), moves[i])
            for i in range(len(features))
        ]

    def _codes(self, rows: Indices) -> Int32Array:
        columns = enumerate(self.columns)
        return np.stack([self.ensemble.codes(j, column[rows]) for j, column in columns])

    def _ranges(self, features: Sequence[int], moves: Sequence[Move]) -> Ranges:
        """Return the first and last cell that each row can reach."""
        ends = [
            np.sort([self.ensemble.codes(j, move.at(w)) for w in (0.0, self.limit)], axis=0)
            for j, move in zip(features, moves, strict=True)
        ]
        low, high = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
        return Ranges(np.array(features), low, high)

    def _of_feature(self, cohort: Cohort, pieces: Pieces, joint: JointMove) -> Steps:
        """Convert pieces by value into steps by weight."""
        feature, move = joint.features[0], joint.moves[0]
        rising = move.slope[pieces.row] >= 0
        before, after = _neighbours(pieces.row)
        previous = np.where(rising, before, after)
        begin = np.zeros(len(pieces))
        moved = np.flatnonzero(previous >= 0)
        # Falling values enter a piece from above, at the lower end of the next one.
        border = np.where(rising, pieces.cell, pieces.cell[after])[moved]
        thresholds = self._values(feature, border)
        own = move.take(pieces.row[moved].astype(np.intp))
        begin[moved] = crossings(own, thresholds, self.limit, self.kind)
        label = self._labels(cohort, pieces, joint, begin)
        loss = self._losses(cohort, pieces)
        return Steps(pieces.row.astype(np.intp), begin, previous, label, loss)

    def _values(self, feature: int, borders: Int32Array) -> Vector:
        """Return the least value of the cell after each border."""
        cuts = self.ensemble.axes[feature].cuts
        return value_of(cuts[borders - self.ensemble.first[feature] - 1])

    def _labels(self, cohort: Cohort, pieces: Pieces, move: JointMove, begin: Vector) -> Indices:
        """Return the label of each piece; doubtful ones are predicted."""
        label = pieces.label.astype(np.intp)
        doubtful = np.flatnonzero(label == DOUBTFUL)
        if len(doubtful):
            rows = pieces.row[doubtful].astype(np.intp)
            values = move.take(rows).at(begin[doubtful])
            predicted = self.predictor.predict(cohort.rows[rows], values)
            label[doubtful] = cohort.truth.labels(predicted)
        return label

    def _losses(self, cohort: Cohort, pieces: Pieces) -> Vector:
        if cohort.truth.comparison is None:
            return np.zeros(len(pieces))
        return cohort.truth.take(pieces.row.astype(np.intp)).losses(self._link(pieces.outputs))

    def _link(self, outputs: Matrix) -> Matrix:
        """Round to float32 like the runtime, so that no probability exceeds 1."""
        rounded: Matrix = outputs.astype(np.float32).astype(np.float64)
        return rounded


def _take(pieces: Pieces, places: Indices) -> Pieces:
    outputs = pieces.outputs[places] if len(pieces.outputs) else pieces.outputs
    return Pieces(
        pieces.row[places], pieces.place[places], pieces.cell[places], pieces.label[places], outputs
    )


def _neighbours(row: Int32Array) -> tuple[Indices, Indices]:
    """Return the positions of the pieces before and after each in the same row, or -1."""
    places = np.arange(len(row))
    same = row[1:] == row[:-1]
    before, after = np.full(len(row), -1), np.full(len(row), -1)
    before[1:][same] = places[:-1][same]
    after[:-1][same] = places[1:][same]
    return before, after
