"""Computation of accumulated local effects: rows moved to the ends of their steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import sample_values
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.accumulated_local_effects.accumulation import (
    AccumulatedReplicates,
    Differences,
    LocalDifferences,
    with_intervals,
)
from onnxplain_server.methods.accumulated_local_effects.options import Options
from onnxplain_server.methods.accumulated_local_effects.result import (
    AccumulatedLocalEffect,
    Result,
)
from onnxplain_server.methods.accumulated_local_effects.steps import LocalSteps, lay_steps
from onnxplain_server.methods.accumulated_local_effects.surface import SurfaceDifferences
from onnxplain_server.methods.resampling import (
    Resampling,
    RowUnits,
    few_rows_notes,
)

_MAX_MOVED_ROWS = 1 << 16
"""Rows moved at once, which bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Moves of the rows of one group along the features of one entry.

    Attributes
    ----------
    features : tuple of str
        One or two.
    group : str
        Group of rows; empty if rows are not grouped.
    background : Background
        The rows of the group, one by one.
    known : (n,)
        Positions of those with a value of each feature.
    steps : tuple of LocalSteps
        Of each feature, over these; empty without any.
    units : RowUnits
        What replicates draw, of all rows of the group.
    """

    features: tuple[str, ...]
    group: str
    background: Background
    known: Indices
    steps: tuple[LocalSteps, ...]
    units: RowUnits

    @property
    def weights(self) -> Vector:
        """Weights of the rows with a value."""
        return self.background.weights[self.known]

    @property
    def positions(self) -> list[int]:
        """Positions of the features."""
        return [self.background.features.index(name) for name in self.features]

    @property
    def grid(self) -> tuple[Array, ...]:
        """All points, one array per feature; the first one varies fastest."""
        return tuple(own.points[at] for own, at in zip(self.steps, self._points(), strict=True))

    def sources(self) -> Background:
        """Return rows that have the values of the points, which are those of rows."""
        rows = [
            self.known[own.sources[at]] for own, at in zip(self.steps, self._points(), strict=True)
        ]
        columns = list(self.background.take(rows[0]).columns)
        for position, own in zip(self.positions, rows, strict=True):
            columns[position] = self.background.columns[position][own]
        return replace(self.background.take(rows[0]), columns=tuple(columns))

    def _points(self) -> list[Indices]:
        """Number the points of each feature at all points together."""
        shape = [len(own.points) for own in reversed(self.steps)]
        return [at.ravel() for at in reversed(np.indices(shape))]

    def corners(self) -> Iterator[Corner]:
        """Yield the ends of each step that rows are moved to, or the corners of each cell."""
        if len(self.steps) == 1:
            rows, bins = self.steps[0].moved()
            own = [bins]
        else:
            has_cells = all(steps.count for steps in self.steps)
            rows = np.arange(len(self.known) if has_cells else 0)
            own = [steps.bins[: len(rows)] for steps in self.steps]
        for ends in product((0, 1), repeat=len(self.steps)):
            points = [at + end for at, end in zip(own, ends, strict=True)]
            pairs = zip(self.steps, points, strict=True)
            is_there = np.all([steps.places[rows] == at for steps, at in pairs], axis=0)
            number = points[0]
            for steps, at in zip(self.steps[:-1], points[1:], strict=True):
                number = number + len(steps.points) * at
            yield Corner((-1) ** ends.count(0), rows, number, np.flatnonzero(~is_there))

    def cost(self) -> int:
        """Count the rows to predict beside the unchanged ones."""
        return sum(len(corner.away) for corner in self.corners()) if self.steps else 0


class Corner(NamedTuple):
    """Points that rows are moved to.

    Attributes
    ----------
    sign : int
        Of their predictions in differences: 1 or -1.
    rows : (n_moved,)
        Of those with a value.
    points : (n_moved,)
        Point of each, as `Moves.grid` numbers them.
    away : (n_away,)
        Which of these are not there already.
    """

    sign: int
    rows: Indices
    points: Indices
    away: Indices


def moves(
    options: Options, groups: Sequence[tuple[str, Background, RowUnits]]
) -> Iterator[tuple[Moves, ...]]:
    """Lay the steps of each entry of `options.features`, by groups of rows with their units."""
    for names in options.features:
        yield tuple(_moves(names, *group, options.bin_count) for group in groups)


def _moves(
    names: tuple[str, ...], group: str, rows: Background, units: RowUnits, bin_count: int
) -> Moves:
    columns = [rows.features.columns[rows.features.index(name)] for name in names]
    known = np.flatnonzero(~np.any([is_missing(values) for values in columns], axis=0))
    count = bin_count if len(names) == 1 else math.isqrt(bin_count - 1) + 1  # root, rounded up
    if not len(known):
        return Moves(names, group, rows, known, (), units)
    steps = tuple(lay_steps(values[known], rows.weights[known], count) for values in columns)
    return Moves(names, group, rows, known, steps, units)


def compute(
    effects: Effects, options: Options, entries: Sequence[tuple[Moves, ...]], seed: int
) -> Result:
    """Compute the effects along each entry, for each group of rows.

    Parameters
    ----------
    entries : one per entry of `options.features`
    """
    engines = [effects.restrict(moves.background) for moves in entries[0]]
    found = [
        _accumulated(engine, moves, options.resampling, seed)
        for same_entry in entries
        for engine, moves in zip(engines, same_entry, strict=True)
    ]
    varied = {name for names in options.features for name in names}
    level = options.resampling.confidence_level if options.resampling.repeat_count else 0.0
    lightest = min(entries[0], key=lambda each: each.units.effective_count(each.background.weights))
    return Result(
        effects.output_names,
        tuple(each.curve for each in found),
        level,
        sample_values(effects.background.features, varied),
        options.group_column,
        few_rows_notes(options.resampling, lightest.background.weights, lightest.units),
        tuple(one for each in found for one in each.conclusions),
        tuple(one for each in found for one in each.kept),
    )


def _accumulated(
    engine: Effects, moves: Moves, resampling: Resampling, seed: int
) -> AccumulatedReplicates:
    background, missing = moves.background, np.ones(len(moves.background), np.bool_)
    missing[moves.known] = False
    left_out = background.weight(np.flatnonzero(missing))
    if not moves.steps:
        return AccumulatedReplicates(_without_values(engine, moves, left_out))
    moved, weights = _differences(engine, moves), moves.weights
    differences: Differences = LocalDifferences(moves.steps[0], moved)
    if len(moves.steps) > 1:
        differences = SurfaceDifferences(moves.steps[0], moves.steps[1], moved)
    means = differences.filled(differences.means(weights))
    curve = AccumulatedLocalEffect(
        moves.features,
        moves.group,
        moves.grid,
        differences.accumulate(means, weights),
        mean(engine.outputs()[moves.known], weights),
        background.weight(moves.known),
        left_out,
        background.case_weights(differences.step_weights(weights)),
        background.case_weights(differences.point_weights(weights)),
    )
    if not resampling.repeat_count:
        return AccumulatedReplicates(curve)
    units = moves.units.take(moves.known)
    return with_intervals(differences, curve, weights, units, resampling, seed, engine.output_names)


def _differences(engine: Effects, moves: Moves) -> Matrix:
    """Predict rows at the ends of their steps: upper minus lower, (n_moved, n_outputs)."""
    unmoved = engine.outputs()[moves.known]
    ends = []
    for corner in moves.corners():
        predicted = unmoved[corner.rows]
        predicted[corner.away] = _moved(engine, moves, corner)
        ends.append(corner.sign * predicted)
    difference: Matrix = np.sum(ends, axis=0)
    return difference


def _moved(engine: Effects, moves: Moves, corner: Corner) -> Matrix:
    """Predict the rows of a corner that are not there: (n_away, n_outputs)."""
    rows, points = corner.rows[corner.away], corner.points[corner.away]
    sources = moves.sources()
    is_own = np.zeros(len(moves.background.columns), np.bool_)
    is_own[moves.positions] = True
    shape = len(rows), len(engine.output_names)
    asked = moves.positions, sources.digest, moves.known[rows].tobytes(), points.tobytes()

    def predict() -> Matrix:
        predicted = np.empty(shape)
        for start in range(0, len(rows), _MAX_MOVED_ROWS):
            part = slice(start, start + _MAX_MOVED_ROWS)
            others = moves.known[rows[part]]
            own = np.broadcast_to(is_own, (len(others), len(is_own)))
            predicted[part] = engine.mixed(sources, RowMixture(points[part], others, own))
        return predicted

    return engine.cached(f"moved to points {asked}".encode(), shape, len(rows), predict)


def _without_values(engine: Effects, moves: Moves, left_out: float) -> AccumulatedLocalEffect:
    """Return the effect of features that no row has a value of: none, at a row's values."""
    nothing = np.zeros((1, len(engine.output_names)))
    unknown = np.full(nothing.shape[1], np.nan)
    columns = moves.background.features.columns
    first = np.flatnonzero(np.any([is_missing(columns[j]) for j in moves.positions], axis=0))[:1]
    grid = tuple(columns[j][first] for j in moves.positions)
    none = np.zeros(1)
    return AccumulatedLocalEffect(
        moves.features, moves.group, grid, nothing, unknown, 0.0, left_out, none[1:], none
    )
