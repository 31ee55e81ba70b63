"""What is predicted for weights that were tried: none is predicted twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve, as_shares, from_trials
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.predicting import MovedFeature, MovedRowPredictor

Tried = list[tuple[int, float]]
"""Weights: each with the position of its feature among those searched."""


class PredictionMemo:
    """Weights tried on some features of a cohort, and what was predicted.

    Parameters
    ----------
    predictor : MovedRowPredictor
    cohort : Cohort
    features : sequence of int
    moves : sequence of Move
        One per feature.
    neutral : float
        The weight that changes nothing: known from the start.
    known : sequence of ScoreCurve or None
        All there is to know of each feature, where it could be read from the model: then nothing
        has to be predicted.
    """

    def __init__(  # noqa: PLR0917 - all that it is made of
        self,
        predictor: MovedRowPredictor,
        cohort: Cohort,
        features: Sequence[int],
        moves: Sequence[Move],
        neutral: float,
        known: Sequence[ScoreCurve] | None,
    ) -> None:
        self._predictor = predictor
        self._cohort = cohort
        self._features = features
        self._moves = moves
        self._known = known
        unmoved = as_shares(cohort.unmoved.counts)[0]
        self._pages = [_FeatureMemo(neutral, cohort.score, unmoved) for _ in features]

    def scores(self, places: Indices, weights: Array) -> Vector:
        """Score weights, predicting only those that are new: (n,).

        Parameters
        ----------
        places : (n,)
            Positions among the features.
        weights : (n,)
        """
        asked = list(zip(places.tolist(), weights.tolist(), strict=True))
        new = list(dict.fromkeys(one for one in asked if one[1] not in self._pages[one[0]].lines))
        if new:
            scores, shares = self._predicted(new) if self._known is None else self._read(new)
            for line, (place, weight) in enumerate(new):
                self._pages[place].write(weight, float(scores[line]), shares[line])
        return np.array([self._pages[place].score(weight) for place, weight in asked])

    def looked(self, count: int) -> None:
        """Tell that so many planned looks at all rows of the cohort are over."""
        self._predictor.looked(count * len(self._cohort))

    def curve(self, place: int) -> ScoreCurve:
        """All that was tried on a feature."""
        page = self._pages[place]
        weights = np.array(list(page.lines), dtype=np.float64)
        return from_trials(weights, np.array(page.scores), np.stack(page.shares))

    def _predicted(self, new: Tried) -> tuple[Vector, Matrix]:
        tasks = [MovedFeature(self._features[p], self._moves[p], weight) for p, weight in new]
        tally = self._predictor.tallies(self._cohort, tasks)
        return self._cohort.judge.scores(tally), as_shares(tally.counts)

    def _read(self, new: Tried) -> tuple[Vector, Matrix]:
        assert self._known is not None  # noqa: S101 - else they are predicted
        found = [self._known[place].at(np.array([weight])) for place, weight in new]
        scores, shares = zip(*found, strict=True)
        return np.concatenate(scores), np.concatenate(shares)


class _FeatureMemo:
    """Weights of one feature, in the order in which they were tried."""

    def __init__(self, neutral: float, score: float, shares: Vector) -> None:
        self.lines: dict[float, int] = {neutral: 0}
        self.scores = [score]
        self.shares = [shares]

    def write(self, weight: float, score: float, shares: Vector) -> None:
        self.lines[weight] = len(self.scores)
        self.scores.append(score)
        self.shares.append(shares)

    def score(self, weight: float) -> float:
        return self.scores[self.lines[weight]]
