"""What was predicted for weights already tried: none is predicted twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.arrays import Array, Indices, Vector
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import Curve, tried
from onnxplain_server.methods.swarm.judging import Tally
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.predicting import Oracle, Task


class Notebook:
    """Weights tried on some features of a cohort, and what was predicted.

    Parameters
    ----------
    oracle : Oracle
    cohort : Cohort
    features : sequence of int
    moves : sequence of Move
        One per feature.
    neutral : float
        The weight that changes nothing: known from the start.
    """

    def __init__(
        self,
        oracle: Oracle,
        cohort: Cohort,
        features: Sequence[int],
        moves: Sequence[Move],
        neutral: float,
    ) -> None:
        self._oracle = oracle
        self._cohort = cohort
        self._features = features
        self._moves = moves
        self._pages = [_Page(neutral, cohort.unmoved, cohort.score) for _ in features]

    def scores(self, places: Indices, weights: Array) -> Vector:
        """Score weights, predicting only those that are new: (n,).

        Parameters
        ----------
        places : (n,)
            Positions among the features.
        weights : (n,)
        """
        new = dict.fromkeys(
            (place, weight)
            for place, weight in zip(places.tolist(), weights.tolist(), strict=True)
            if weight not in self._pages[place].lines
        )
        if new:
            tasks = [Task(self._features[p], self._moves[p], weight) for p, weight in new]
            tally = self._oracle.tallies(self._cohort, tasks)
            scores = self._cohort.judge.scores(tally)
            for line, (place, weight) in enumerate(new):
                self._pages[place].write(weight, tally.take(np.array([line])), scores[line])
        known = zip(places.tolist(), weights.tolist(), strict=True)
        return np.array([self._score(place, weight) for place, weight in known], dtype=np.float64)

    def curve(self, place: int) -> Curve:
        """All that was tried on a feature."""
        page = self._pages[place]
        tally = Tally.join(page.tallies)
        weights = np.array(list(page.lines), dtype=np.float64)
        return tried(weights, self._cohort.judge.scores(tally), tally)

    def _score(self, place: int, weight: float) -> float:
        page = self._pages[place]
        return page.scores[page.lines[weight]]


class _Page:
    """Weights of one feature, in the order in which they were tried."""

    def __init__(self, neutral: float, unmoved: Tally, score: float) -> None:
        self.lines: dict[float, int] = {neutral: 0}
        self.tallies = [unmoved]
        self.scores = [score]

    def write(self, weight: float, tally: Tally, score: float) -> None:
        self.lines[weight] = len(self.tallies)
        self.tallies.append(tally)
        self.scores.append(float(score))
