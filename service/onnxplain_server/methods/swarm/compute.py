"""From rows and a model to what moving each feature does, class by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.effects.background import Background
from onnxplain_server.methods.infinite_losses import check_finite_baseline, infinite_loss_notes
from onnxplain_server.methods.swarm.cohorts import Cohort, cohorts
from onnxplain_server.methods.swarm.importance import importance, over_classes
from onnxplain_server.methods.swarm.options import Options, Search
from onnxplain_server.methods.swarm.perturbation import Move, moves, widest
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.prediction_memo import PredictionMemo
from onnxplain_server.methods.swarm.reach import extrapolation, reach
from onnxplain_server.methods.swarm.result import Effect, Result, histogram
from onnxplain_server.methods.swarm.scoring import GroundTruth
from onnxplain_server.methods.swarm.searching import (
    SearchResult,
    SearchSpace,
    by_evolution,
    by_swarm,
)
from onnxplain_server.methods.swarm.steps import Steps, disagreements, exact_optimum, score_curve

_LEAST_POPULATION = 5
_SEARCHES: dict[Search, Callable[[SearchSpace], list[SearchResult]]] = {
    Search.PUBLISHED: by_swarm,
    Search.DIFFERENTIAL_EVOLUTION: by_evolution,
}


class StepReader(Protocol):
    """Reads what rows are predicted as, for every weight."""

    def steps(self, cohort: Cohort, features: Sequence[int], moves: Sequence[Move]) -> list[Steps]:
        """Find the steps of several features; moves are of the cohort's rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is explained.

    Attributes
    ----------
    background : Background
        All rows that are used, each kept.
    predictor : MovedRowPredictor
    truth : GroundTruth
        Of these rows.
    class_names : tuple of str
        Of all outputs; empty without classes.
    moved_classes : tuple of int
        Classes whose rows are moved.
    single_rows : (n_single_rows,)
        Rows of the background that are explained each by itself.
    reader : StepReader or None
        Where what is predicted with any weight can be read from the model.
    """

    background: Background
    predictor: MovedRowPredictor
    truth: GroundTruth
    class_names: tuple[str, ...]
    moved_classes: tuple[int, ...]
    single_rows: Indices
    reader: StepReader | None

    def move(self, options: Options, feature: int, rows: Indices, seed: int) -> Move:
        """Prepare a feature to be moved in some rows."""
        random = np.random.default_rng([seed, 9, feature])
        return moves(options.motion, self.background.columns[feature], rows, random)


def cost(options: Options, subject: Problem) -> int:
    """Return the rows to predict, at most; those that check what is read are not planned."""
    rows, settings = len(subject.background), options.search_settings
    if subject.reader is not None:
        return rows
    if options.search is Search.PUBLISHED:
        looks = settings.particle_count * settings.iteration_count
    else:
        # The first generation, and a population that scipy does not take any smaller.
        looks = max(settings.particle_count, _LEAST_POPULATION) * (settings.iteration_count + 1)
    looks *= settings.restart_count
    return rows + (len(subject.single_rows) or rows) * len(options.features) * looks


def compute(subject: Problem, options: Options, seed: int, notes: Sequence[Note]) -> Result:
    """Search each cohort, and put together what was found.

    Parameters
    ----------
    notes : sequence of Note
        What is known already to temper the trust in the result.
    """
    places = [subject.background.features.index(name) for name in options.features]
    predicted = subject.predictor.unmoved()
    _check_finite(subject, predicted)
    parties = list(
        cohorts(
            subject.truth,
            predicted,
            subject.class_names,
            subject.moved_classes,
            subject.single_rows,
        )
    )
    if options.search is not Search.EXACT:
        found = [_try(subject, options, cohort, places, seed) for cohort in parties]
        subject.predictor.settle(cost(options, subject))
        return _result(subject, options, parties, found, places, tuple(notes), predicted, seed)
    exact = [_read(subject, options, cohort, places, seed) for cohort in parties]
    doubts = sum(doubt for _, doubt in exact)
    notes = [*notes, *((_doubted(doubts),) if doubts else ())]
    return _result(
        subject, options, parties, [row for row, _ in exact], places, tuple(notes), predicted, seed
    )


def _check_finite(subject: Problem, predicted: Matrix) -> None:
    """Refuse a loss that is infinite before anything is moved: it cannot get worse."""
    comparison, weights = subject.truth.comparison, subject.truth.weights
    if comparison is None:
        return
    losses = comparison.losses(subject.truth.actual, predicted).sum(axis=1, keepdims=True)
    counted = np.flatnonzero(weights if not len(subject.single_rows) else weights + 1)
    total = losses[counted].sum(axis=0)
    background = subject.background.take(counted)
    check_finite_baseline(comparison.loss, losses[counted], total, ("total",), background)


def _doubted(count: int) -> Note:
    return Note(
        "TREES_DISAGREE",
        f"{count:,} of the predictions that confirm best weights are not as the model was read; "
        "take search PUBLISHED beside EXACT.",
    )


def _read(
    subject: Problem, options: Options, cohort: Cohort, places: Sequence[int], seed: int
) -> tuple[list[SearchResult], int]:
    """Read the features of a cohort exactly, and count predictions that say otherwise."""
    prepared = [subject.move(options, j, cohort.rows, seed) for j in places]
    kind = widest(prepared)
    assert subject.reader is not None  # noqa: S101 - nothing else makes a search exact
    steps = subject.reader.steps(cohort, places, prepared)
    found, doubts = [], 0
    for j, move, own in zip(places, prepared, steps, strict=True):
        curve = score_curve(own, cohort, options.motion.weight_limit)
        one = exact_optimum(curve, cohort, options.motion, options.resolution, kind)
        doubts += disagreements(subject.predictor, cohort, j, move, own, one)
        found.append(one)
    return found, doubts


def _try(
    subject: Problem, options: Options, cohort: Cohort, places: Sequence[int], seed: int
) -> list[SearchResult]:
    """Search the features of a cohort by trying weights."""
    prepared = [subject.move(options, j, cohort.rows, seed) for j in places]
    known = None
    if subject.reader is not None:
        limit = options.motion.weight_limit
        steps = subject.reader.steps(cohort, places, prepared)
        known = [score_curve(own, cohort, limit) for own in steps]
    neutral = options.motion.perturbation.neutral
    notebook = PredictionMemo(subject.predictor, cohort, places, prepared, neutral, known)
    field = SearchSpace(
        cohort, places, notebook, options.motion, options.search_settings, widest(prepared), seed
    )
    return _SEARCHES[options.search or Search.PUBLISHED](field)


def _result(  # noqa: PLR0917 - all that it is made of
    subject: Problem,
    options: Options,
    parties: Sequence[Cohort],
    found: Sequence[Sequence[SearchResult]],
    places: Sequence[int],
    notes: tuple[Note, ...],
    predicted: Matrix,
    seed: int,
) -> Result:
    limit, report = options.motion.weight_limit, options.resolution
    borders = np.linspace(0, limit, report.window_count + 1)
    importances = np.array(
        [
            importance(
                np.array([one.distance for one in row]), np.array([one.drop for one in row]), limit
            )
            for row in found
        ]
    )
    effects = []
    for c, cohort in enumerate(parties):
        for f, place in enumerate(places):
            one = found[c][f]
            scores, shares = one.curve.windows(borders)
            background = subject.background
            column = background.features.columns[place]
            moved = subject.move(options, place, cohort.rows, seed).at(one.best_weight)
            effects.append(
                Effect(
                    cohort.name,
                    options.features[f],
                    None
                    if cohort.row_index is None
                    else int(subject.background.source[cohort.row_index]),
                    len(cohort),
                    float(importances[c, f]),
                    one,
                    scores,
                    shares,
                    one.curve.similarities(limit),
                    histogram(
                        column[cohort.rows], background.weights[cohort.rows], background.unit
                    ),
                    reach(column, moved, cohort.truth.weights),
                )
            )
    total, relative = over_classes(importances)
    if options.loss is not None:
        names = [(name,) for name in options.features]
        notes = (*notes, *infinite_loss_notes(options.loss, importances.T, names, "moves"))
    assert options.search is not None  # noqa: S101
    harmful = [
        (
            f"{e.feature} of {e.class_name}" if e.class_name else e.feature,
            e.search_result.best_weight,
            e.reach,
        )
        for e in effects
        if e.importance > 0
    ]
    return Result(
        subject.class_names,
        options.features,
        tuple(effects),
        _baseline(subject, predicted),
        total,
        relative,
        _similarity(subject, parties, effects, len(places)),
        borders,
        options.search,
        options.score,
        options.loss,
        options.motion,
        report,
        (*notes, *extrapolation(harmful)),
    )


def _baseline(subject: Problem, predicted: Matrix) -> float:
    """Score, or average loss, of all rows as they are."""
    none = np.zeros(0, dtype=np.intp)
    together = cohorts(subject.truth, predicted, subject.class_names, subject.moved_classes, none)
    return next(together).score


def _similarity(
    subject: Problem, parties: Sequence[Cohort], effects: Sequence[Effect], count: int
) -> Matrix:
    """Average similarities over features (Equation 5): a row per class."""
    if not subject.class_names or len(subject.single_rows):
        return np.zeros((0, 0))
    similarity = np.full((len(subject.class_names),) * 2, np.nan)
    for c, cohort in enumerate(parties):
        rows = [effect.similarities for effect in effects[c * count : (c + 1) * count]]
        similarity[cohort.number] = np.mean(rows, axis=0)
    return similarity
