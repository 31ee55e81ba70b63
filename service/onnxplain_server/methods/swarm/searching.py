"""Searches by trial: the published particle swarm, and differential evolution by scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import differential_evolution

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.number_texts import text_within
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve
from onnxplain_server.methods.swarm.options import Motion, SearchSettings
from onnxplain_server.methods.swarm.particles import Particles, better
from onnxplain_server.methods.swarm.prediction_memo import PredictionMemo


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Optimum: a range of weights with the same score.

    Attributes
    ----------
    weight : float
        Weight of the range nearest to neutral.
    score : float
    low, high : float
        Ends of the range.
    """

    weight: float
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """Result of a search for one feature of a cohort; see `SwarmEffect` in the contract.

    Attributes
    ----------
    distance, drop : float
        σ_w and σ_s.
    optimum, stable_optimum : Optimum or None
    agreement : float or None
        Share of the restarts with as much damage as the best one.
    particle_weights : (n_particles,)
    """

    best_weight: float
    best_score: float
    distance: float
    drop: float
    curve: ScoreCurve
    optimum: Optimum | None = None
    stable_optimum: Optimum | None = None
    agreement: float | None = None
    particle_weights: tuple[float, ...] = ()

    @property
    def best_weight_text(self) -> str:
        """The best weight as a text that has the same score; by trial, the very one tried."""
        ends = (self.optimum.low, self.optimum.high) if self.optimum else ()
        return text_within(self.best_weight, *ends)


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """Search space and settings of a cohort.

    Attributes
    ----------
    cohort : Cohort
    features : sequence of int
        Positions in the table, of a group that of its first feature; they seed the searches, so
        that a feature's result does not depend on the other requested features.
    memo : PredictionMemo
    precision : numpy dtype
        Type of weights.
    seed : int
    """

    cohort: Cohort
    features: Sequence[int]
    memo: PredictionMemo
    motion: Motion
    settings: SearchSettings
    precision: npt.DTypeLike
    seed: int

    def random(self, feature: int, restart: int) -> np.random.Generator:
        """Return the random generator of one search."""
        row = 0 if self.cohort.row_index is None else self.cohort.row_index + 1
        key = [self.seed, 8, self.cohort.number + 1, row, feature, restart]
        return np.random.default_rng(key)


def by_swarm(space: SearchSpace) -> list[SearchResult]:
    """Run the particle swarms of all features and restarts together; one result per feature."""
    m, restarts = len(space.features), space.settings.restart_count
    randoms = [space.random(j, r) for j in space.features for r in range(restarts)]
    swarms = Particles.begin(space.motion, space.settings, randoms, space.precision)
    places = np.repeat(np.arange(m), restarts * space.settings.particle_count)
    for iteration in range(space.settings.iteration_count):
        scores = space.memo.scores(places, swarms.position.ravel())
        if iteration or not space.settings.starts_neutral:
            space.memo.evaluated(swarms.position.size)
        damage = space.cohort.scorer.damage(scores)
        swarms.step(damage.reshape(swarms.position.shape))
    best = swarms.best.reshape(m, restarts, -1).astype(np.float64)
    return [_best_search(space, place, best[place]) for place in range(m)]


def by_evolution(space: SearchSpace) -> list[SearchResult]:
    """Run scipy's differential evolution; one result per feature."""
    results = []
    for place, feature in enumerate(space.features):
        best = [_evolve(space, place, feature, r) for r in range(space.settings.restart_count)]
        results.append(_best_search(space, place, np.array(best)[:, None]))
    return results


def _evolve(space: SearchSpace, place: int, feature: int, restart: int) -> float:
    """Return the weight with most damage, the nearest to neutral among equals."""
    settings, limit = space.settings, space.motion.weight_limit
    cost = _cost(space, place)
    random = space.random(feature, restart)
    result = differential_evolution(
        cost,
        [(0.0, limit)],
        maxiter=settings.iteration_count,
        popsize=settings.particle_count,
        rng=random,
        vectorized=True,
        updating="deferred",
        polish=False,
        tol=0.0,
        x0=[space.motion.neutral],
    )
    return float(np.asarray(result.x[0], dtype=space.precision))


def _cost(space: SearchSpace, place: int) -> Callable[[Matrix], Vector]:
    """Return the cost to minimize: negative damage, with distance to neutral as tie-breaker."""
    neutral, limit = space.motion.neutral, space.motion.weight_limit
    base = space.cohort.scorer.damage(np.array([space.cohort.score]))[0]

    def cost(weights: Matrix) -> Vector:
        trials = weights[0].astype(space.precision)
        scores = space.memo.scores(np.full(len(trials), place), trials)
        space.memo.evaluated(len(trials))
        damage = space.cohort.scorer.damage(scores)
        distance = np.abs(trials.astype(np.float64) - neutral) / limit
        # Far below any step of a score, so that distance only breaks ties.
        total: Vector = -damage + 1e-9 * max(abs(base), 1e-3) * distance
        return total

    return cost


def _best_search(space: SearchSpace, place: int, best: Array) -> SearchResult:
    """Summarize the best of the restarts, given their best weights: (n_restarts, n_particles)."""
    neutral, scorer = space.motion.neutral, space.cohort.scorer
    scores = space.memo.scores(np.full(best.size, place), best.ravel().astype(space.precision))
    scores = scores.reshape(best.shape)
    damage = scorer.damage(scores)
    tops = [_top(damage[r], best[r], neutral) for r in range(len(best))]
    top_damage = np.array([damage[r, p] for r, p in enumerate(tops)])
    top_weight = np.array([best[r, p] for r, p in enumerate(tops)])
    r = _top(top_damage, top_weight, neutral)
    p = tops[r]
    return SearchResult(
        best_weight=float(best[r, p]),
        best_score=float(scores[r, p]),
        distance=float(np.abs(best[r] - neutral).mean()),
        drop=float(np.abs(scores[r] - space.cohort.score).mean()),
        curve=space.memo.curve(place),
        agreement=float(np.isclose(top_damage, top_damage[r], rtol=1e-12, atol=0).mean()),
        particle_weights=tuple(best[r].tolist()) if best.shape[1] > 1 else (),
    )


def _top(damage: Array, weights: Array, neutral: float) -> int:
    """Return the index of the best position, the first among equals."""
    top = 0
    for i in range(1, len(damage)):
        if better(damage[i], weights[i], damage[top], weights[top], neutral):
            top = i
    return top
