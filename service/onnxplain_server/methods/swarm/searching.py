"""Searches by trying weights: the published swarm, and differential evolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import differential_evolution

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve
from onnxplain_server.methods.swarm.options import Motion, SearchSettings
from onnxplain_server.methods.swarm.particles import Particles, better
from onnxplain_server.methods.swarm.prediction_memo import PredictionMemo


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """A range of weights in which the score is the same.

    Attributes
    ----------
    weight : float
        The one closest to no change.
    score : float
    low, high : float
        First and last weight.
    """

    weight: float
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search has found for a feature of a cohort; see `SwarmEffect` in the contract.

    Attributes
    ----------
    distance, drop : float
        σ_w and σ_s.
    optimum, stable_optimum : Optimum or None
    agreement : float or None
        Share of the searches that found as much harm as the best one.
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


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """What is searched, and how.

    Attributes
    ----------
    cohort : Cohort
    features : sequence of int
        Positions in the table: part of the seeds, so that a feature's numbers do not depend on
        which others are asked for.
    notebook : PredictionMemo
    precision : numpy dtype
        Of weights.
    seed : int
    """

    cohort: Cohort
    features: Sequence[int]
    notebook: PredictionMemo
    motion: Motion
    settings: SearchSettings
    precision: npt.DTypeLike
    seed: int

    def random(self, feature: int, restart: int) -> np.random.Generator:
        """Make the random generator of one search."""
        alone = 0 if self.cohort.row_index is None else self.cohort.row_index + 1
        key = [self.seed, 8, self.cohort.number + 1, alone, feature, restart]
        return np.random.default_rng(key)


def by_swarm(field: SearchSpace) -> list[SearchResult]:
    """Let swarms fly, those of all features and restarts together; one result per feature."""
    m, restarts = len(field.features), field.settings.restart_count
    randoms = [field.random(j, r) for j in field.features for r in range(restarts)]
    swarms = Particles.begin(field.motion, field.settings, randoms, field.precision)
    places = np.repeat(np.arange(m), restarts * field.settings.particle_count)
    for _ in range(field.settings.iteration_count):
        scores = field.notebook.scores(places, swarms.position.ravel())
        field.notebook.looked(swarms.position.size)
        damage = field.cohort.judge.damage(scores)
        swarms.step(damage.reshape(swarms.position.shape))
    best = swarms.best.reshape(m, restarts, -1).astype(np.float64)
    return [_found(field, place, best[place]) for place in range(m)]


def by_evolution(field: SearchSpace) -> list[SearchResult]:
    """Let populations evolve, by scipy; one result per feature."""
    found = []
    for place, feature in enumerate(field.features):
        best = [_evolve(field, place, feature, r) for r in range(field.settings.restart_count)]
        found.append(_found(field, place, np.array(best)[:, None]))
    return found


def _evolve(field: SearchSpace, place: int, feature: int, restart: int) -> float:
    """Find the weight that does most harm, the closest one to no change among equals."""
    settings, limit = field.settings, field.motion.weight_limit
    cost = _cost(field, place)
    random = field.random(feature, restart)
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
        x0=[field.motion.perturbation.neutral],
    )
    return float(np.asarray(result.x[0], dtype=field.precision))


def _cost(field: SearchSpace, place: int) -> Callable[[Matrix], Vector]:
    """Make what evolution lowers: damage first, and distance where that is the same."""
    neutral, limit = field.motion.perturbation.neutral, field.motion.weight_limit
    base = field.cohort.judge.damage(np.array([field.cohort.score]))[0]

    def cost(weights: Matrix) -> Vector:
        tried = weights[0].astype(field.precision)
        scores = field.notebook.scores(np.full(len(tried), place), tried)
        field.notebook.looked(len(tried))
        damage = field.cohort.judge.damage(scores)
        distance = np.abs(tried.astype(np.float64) - neutral) / limit
        # Far below any step of a score, so that it decides between equals only.
        total: Vector = -damage + 1e-9 * max(abs(base), 1e-3) * distance
        return total

    return cost


def _found(field: SearchSpace, place: int, best: Array) -> SearchResult:
    """Choose the best search: (n_restarts, n_particles) best weights."""
    neutral, judge = field.motion.perturbation.neutral, field.cohort.judge
    scores = field.notebook.scores(np.full(best.size, place), best.ravel().astype(field.precision))
    scores = scores.reshape(best.shape)
    damage = judge.damage(scores)
    tops = [_top(damage[r], best[r], neutral) for r in range(len(best))]
    top_damage = np.array([damage[r, p] for r, p in enumerate(tops)])
    top_weight = np.array([best[r, p] for r, p in enumerate(tops)])
    r = _top(top_damage, top_weight, neutral)
    p = tops[r]
    return SearchResult(
        best_weight=float(best[r, p]),
        best_score=float(scores[r, p]),
        distance=float(np.abs(best[r] - neutral).mean()),
        drop=float(np.abs(scores[r] - field.cohort.score).mean()),
        curve=field.notebook.curve(place),
        agreement=float(np.isclose(top_damage, top_damage[r], rtol=1e-12, atol=0).mean()),
        particle_weights=tuple(best[r].tolist()) if best.shape[1] > 1 else (),
    )


def _top(damage: Array, weights: Array, neutral: float) -> int:
    """Place of the best of some positions, the first among equals."""
    top = 0
    for i in range(1, len(damage)):
        if better(damage[i], weights[i], damage[top], weights[top], neutral):
            top = i
    return top
