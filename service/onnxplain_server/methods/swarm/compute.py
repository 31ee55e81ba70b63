"""Swarm computation: cohorts, the search of each, and the effects of moving each feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.background import Background
from onnxplain_server.methods.infinite_losses import check_finite_baseline, infinite_loss_notes
from onnxplain_server.methods.swarm.cohorts import Cohort, cohorts
from onnxplain_server.methods.swarm.effect_summaries import summarize, window_borders
from onnxplain_server.methods.swarm.importance import over_classes
from onnxplain_server.methods.swarm.options import Options, Search, SearchSettings
from onnxplain_server.methods.swarm.perturbation import JointMove, moves, widest
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.prediction_memo import PredictionMemo
from onnxplain_server.methods.swarm.reach import extrapolation
from onnxplain_server.methods.swarm.result import Effect, Result
from onnxplain_server.methods.swarm.scoring import GroundTruth
from onnxplain_server.methods.swarm.searching import (
    SearchResult,
    SearchSpace,
    by_evolution,
    by_swarm,
)
from onnxplain_server.methods.swarm.steps import (
    CONFIRMED_ROWS,
    Steps,
    disagreements,
    exact_optimum,
    score_curve,
)

_MIN_POPULATION = 5
"""Smallest population of scipy's differential evolution."""
_SEARCHES: dict[Search, Callable[[SearchSpace], list[SearchResult]]] = {
    Search.PUBLISHED: by_swarm,
    Search.DIFFERENTIAL_EVOLUTION: by_evolution,
}


class StepReader(Protocol):
    """Reader of steps: the predictions of rows for every weight, from the model itself."""

    def steps(self, cohort: Cohort, moves: Sequence[JointMove]) -> list[Steps]:
        """Return the steps of each feature or group; moves are of the cohort's rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Rows, model and true values to explain.

    Attributes
    ----------
    background : Background
        All rows used, without merging duplicates.
    predictor : MovedRowPredictor
    truth : GroundTruth
        True values of these rows.
    class_names : tuple of str
        Names of all outputs; empty without classes.
    moved_classes : tuple of int
        Classes whose rows are moved.
    single_rows : (n_single_rows,)
        Rows of the background each explained by itself.
    reader : StepReader or None
        None unless the steps can be read from the model.
    """

    background: Background
    predictor: MovedRowPredictor
    truth: GroundTruth
    class_names: tuple[str, ...]
    moved_classes: tuple[int, ...]
    single_rows: Indices
    reader: StepReader | None

    def moves(self, options: Options, rows: Indices, seed: int) -> list[JointMove]:
        """Prepare the move of each feature or group in some rows."""
        return [
            self._joint_move(options, tuple(map(self.background.features.index, names)), rows, seed)
            for names in options.players.values()
        ]

    def _joint_move(
        self, options: Options, features: tuple[int, ...], rows: Indices, seed: int
    ) -> JointMove:
        own = (
            moves(
                options.motion,
                self.background.columns[j],
                rows,
                np.random.default_rng([seed, 9, j]),
            )
            for j in features
        )
        return JointMove(features, tuple(own))

    def cohorts(self, predicted: Matrix, single_rows: Indices) -> Iterator[Cohort]:
        """Divide the rows into cohorts, given the predictions before any move."""
        return cohorts(self.truth, predicted, self.class_names, self.moved_classes, single_rows)


def cost(options: Options, problem: Problem) -> int:
    """Return an upper bound of the rows to predict, without those that confirm exact steps."""
    rows, settings = len(problem.background), options.search_settings
    if problem.reader is not None:
        return rows
    evaluations = _evaluations(options.search, settings) * settings.restart_count
    return rows + (len(problem.single_rows) or rows) * len(options.players) * evaluations


def _evaluations(search: Search | None, settings: SearchSettings) -> int:
    """Return the weights that a search tries for a feature, from one start."""
    match search:
        case Search.PUBLISHED:
            return settings.particle_count * (settings.iteration_count - settings.starts_neutral)
        case Search.DIFFERENTIAL_EVOLUTION | Search.EXACT | None:
            population = max(settings.particle_count, _MIN_POPULATION)
            return population * (settings.iteration_count + 1)  # and the first generation


def confirmation_cost(options: Options, problem: Problem) -> int:
    """Return an upper bound of the rows that confirm exact steps, which `cost` leaves out."""
    classes = problem.truth.classes
    if options.search is not Search.EXACT or classes is None:
        return 0
    sizes = np.bincount(classes, minlength=problem.truth.class_count)[list(problem.moved_classes)]
    if len(problem.single_rows):
        sizes = np.ones(len(problem.single_rows), dtype=sizes.dtype)
    per_optimum = int(np.minimum(sizes, CONFIRMED_ROWS).sum())
    return 2 * len(options.players) * per_optimum  # the optimum, and the stable one


def compute(problem: Problem, options: Options, seed: int, notes: Sequence[Note]) -> Result:
    """Search each cohort for the most damaging weights; `notes` are added to the result."""
    predicted = problem.predictor.unmoved()
    _check_finite(problem, predicted)
    groups = list(problem.cohorts(predicted, problem.single_rows))
    if options.search is Search.EXACT:
        exact = [_read_steps(problem, options, cohort, seed) for cohort in groups]
        results = [optima for optima, _ in exact]
        notes = [*notes, *_disagreement_notes(sum(count for _, count in exact))]
    else:
        results = [_search(problem, options, cohort, seed) for cohort in groups]
        problem.predictor.settle(cost(options, problem))
    effects = [
        summarize(
            problem.background, options, cohort, optima, problem.moves(options, cohort.rows, seed)
        )
        for cohort, optima in zip(groups, results, strict=True)
    ]
    importances = np.array([[effect.importance for effect in row] for row in effects])
    total, relative = over_classes(importances)
    assert options.search is not None  # noqa: S101 - chosen by the preparation
    return Result(
        problem.class_names,
        tuple(options.players),
        tuple(effect for row in effects for effect in row),
        _baseline(problem, predicted),
        total,
        relative,
        _similarity(problem, groups, effects),
        window_borders(options),
        options.search,
        options.score,
        options.measure,
        options.motion,
        options.resolution,
        (*notes, *_result_notes(options, effects, importances)),
    )


def _check_finite(problem: Problem, predicted: Matrix) -> None:
    """Reject an infinite baseline loss, which no move can increase."""
    truth, comparison, weights = problem.truth, problem.truth.comparison, problem.truth.weights
    if comparison is None:
        return
    losses = comparison.losses(truth.actual, predicted, truth.expression)
    losses = losses.sum(axis=1, keepdims=True)
    # A single row counts whatever its weight.
    counted = np.flatnonzero(weights if not len(problem.single_rows) else weights + 1)
    with np.errstate(over="ignore"):
        total = losses[counted].sum(axis=0)
    background = problem.background.take(counted)
    check_finite_baseline(comparison.measure, losses[counted], total, ("total",), background)


def _disagreement_notes(count: int) -> tuple[Note, ...]:
    if not count:
        return ()
    message = (
        f"{count:,} of the predictions that confirm best weights differ from the steps read from "
        "the model; compare with search PUBLISHED."
    )
    return (Note(InputWarning.TREES_DISAGREE, message),)


def _read_steps(
    problem: Problem, options: Options, cohort: Cohort, seed: int
) -> tuple[list[SearchResult], int]:
    """Compute the exact optima of a cohort, and count predictions that contradict them."""
    prepared = problem.moves(options, cohort.rows, seed)
    kind = widest(prepared)
    assert problem.reader is not None  # noqa: S101 - nothing else makes a search exact
    results, disagreement_count = [], 0
    for move, steps in zip(prepared, problem.reader.steps(cohort, prepared), strict=True):
        curve = score_curve(steps, cohort, options.motion.weight_limit)
        result = exact_optimum(curve, cohort, options.motion, options.resolution, kind)
        disagreement_count += disagreements(problem.predictor, cohort, move, steps, result)
        results.append(result)
    return results, disagreement_count


def _search(problem: Problem, options: Options, cohort: Cohort, seed: int) -> list[SearchResult]:
    """Search the features of a cohort by trying weights."""
    prepared = problem.moves(options, cohort.rows, seed)
    exact_curves = None
    if problem.reader is not None:
        limit = options.motion.weight_limit
        steps_by_feature = problem.reader.steps(cohort, prepared)
        exact_curves = [score_curve(steps, cohort, limit) for steps in steps_by_feature]
    neutral = options.motion.neutral
    memo = PredictionMemo(problem.predictor, cohort, prepared, neutral, exact_curves)
    positions = [move.features[0] for move in prepared]
    space = SearchSpace(
        cohort, positions, memo, options.motion, options.search_settings, widest(prepared), seed
    )
    return _SEARCHES[options.search or Search.PUBLISHED](space)


def _result_notes(
    options: Options, effects: Sequence[Sequence[Effect]], importances: Matrix
) -> list[Note]:
    """Warn of infinite losses, and of best weights that leave the observed range."""
    notes: list[Note] = []
    if options.measure is not None:
        names = [(name,) for name in options.players]
        notes += infinite_loss_notes(options.measure, importances.T, names, "moves")
    damaging = [
        (
            f"{effect.feature} of {effect.class_name}" if effect.class_name else effect.feature,
            effect.search_result.best_weight_text,
            effect.reach,
        )
        for row in effects
        for effect in row
        if effect.importance > 0
    ]
    return notes + extrapolation(damaging)


def _baseline(problem: Problem, predicted: Matrix) -> float:
    """Return the score, or average loss, of all rows before any move."""
    return next(problem.cohorts(predicted, np.zeros(0, dtype=np.intp))).score


def _similarity(
    problem: Problem, groups: Sequence[Cohort], effects: Sequence[Sequence[Effect]]
) -> Matrix:
    """Average similarities over features (Equation 5): one row per class."""
    if not problem.class_names or len(problem.single_rows):
        return np.zeros((0, 0))
    similarity = np.full((len(problem.class_names),) * 2, np.nan)
    for cohort, row in zip(groups, effects, strict=True):
        similarity[cohort.number] = np.mean([effect.similarities for effect in row], axis=0)
    return similarity
