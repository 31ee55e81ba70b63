"""Memo of predictions by weight: no weight of a feature is predicted twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve, as_shares, from_trials
from onnxplain_server.methods.swarm.perturbation import JointMove
from onnxplain_server.methods.swarm.predicting import MovedFeature, MovedRowPredictor

Trials = list[tuple[int, float]]
"""Pairs of a feature's position among those searched, and a weight."""


class PredictionMemo:
    """Memo of the scores of weights tried on features of a cohort.

    Parameters
    ----------
    predictor : MovedRowPredictor
    cohort : Cohort
    moves : sequence of JointMove
        One per feature or group.
    neutral : float
        Weight that changes nothing, memoized from the start.
    exact_curves : sequence of ScoreCurve or None
        Exact curve of each feature, if read from the model; then nothing is predicted.
    """

    def __init__(
        self,
        predictor: MovedRowPredictor,
        cohort: Cohort,
        moves: Sequence[JointMove],
        neutral: float,
        exact_curves: Sequence[ScoreCurve] | None,
    ) -> None:
        self._predictor = predictor
        self._cohort = cohort
        self._moves = moves
        self._exact_curves = exact_curves
        unmoved = as_shares(cohort.unmoved.counts)[0]
        self._memos = [_FeatureMemo(neutral, cohort.score, unmoved) for _ in moves]

    def scores(self, places: Indices, weights: Array) -> Vector:
        """Score weights, predicting only new ones: (n,).

        Parameters
        ----------
        places : (n,)
            Positions among the features.
        weights : (n,)
        """
        trials = list(zip(places.tolist(), weights.tolist(), strict=True))
        new = list(dict.fromkeys((p, w) for p, w in trials if w not in self._memos[p].entries))
        if new:
            predict = self._predict if self._exact_curves is None else self._look_up
            scores, shares = predict(new)
            for entry, (place, weight) in enumerate(new):
                self._memos[place].write(weight, float(scores[entry]), shares[entry])
        return np.array([self._memos[place].score(weight) for place, weight in trials])

    def evaluated(self, count: int) -> None:
        """Report `count` planned evaluations of the cohort as done."""
        self._predictor.evaluated(count * len(self._cohort))

    def curve(self, place: int) -> ScoreCurve:
        """Return the curve of all weights tried on a feature."""
        memo = self._memos[place]
        weights = np.array(list(memo.entries), dtype=np.float64)
        return from_trials(weights, np.array(memo.scores), np.stack(memo.shares))

    def _predict(self, new: Trials) -> tuple[Vector, Matrix]:
        tasks = [MovedFeature(self._moves[p], weight) for p, weight in new]
        tally = self._predictor.tallies(self._cohort, tasks)
        return self._cohort.scorer.scores(tally), as_shares(tally.counts)

    def _look_up(self, new: Trials) -> tuple[Vector, Matrix]:
        assert self._exact_curves is not None  # noqa: S101 - otherwise they are predicted
        values = [self._exact_curves[place].at(np.array([weight])) for place, weight in new]
        scores, shares = zip(*values, strict=True)
        return np.concatenate(scores), np.concatenate(shares)


class _FeatureMemo:
    """Memo of one feature, in order of trial."""

    def __init__(self, neutral: float, score: float, shares: Vector) -> None:
        self.entries: dict[float, int] = {neutral: 0}
        self.scores = [score]
        self.shares = [shares]

    def write(self, weight: float, score: float, shares: Vector) -> None:
        self.entries[weight] = len(self.scores)
        self.scores.append(score)
        self.shares.append(shares)

    def score(self, weight: float) -> float:
        return self.scores[self.entries[weight]]
