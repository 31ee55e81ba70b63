"""Computation of accumulated local effects: rows moved to the ends of their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import sample_values
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.accumulated_local_effects.accumulation import LocalDifferences
from onnxplain_server.methods.accumulated_local_effects.options import Options
from onnxplain_server.methods.accumulated_local_effects.result import (
    AccumulatedLocalEffect,
    Result,
)
from onnxplain_server.methods.accumulated_local_effects.steps import Steps, lay_steps
from onnxplain_server.methods.resampling import Resampling, effective_row_count, few_rows_notes

_MAX_MOVED_ROWS = 1 << 16
"""Rows moved at once, which bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Moves of the rows of one group along the feature of one entry.

    Attributes
    ----------
    features : tuple of str
    group : str
        Group of rows; empty if rows are not grouped.
    background : Background
        The rows of the group, one by one.
    known : (n,)
        Positions of those with a value.
    steps : Steps or None
        Over these; None without any.
    """

    features: tuple[str, ...]
    group: str
    background: Background
    known: Indices
    steps: Steps | None

    @property
    def weights(self) -> Vector:
        """Weights of the rows with a value."""
        return self.background.weights[self.known]

    @property
    def positions(self) -> list[int]:
        """Positions of the features."""
        return [self.background.features.index(name) for name in self.features]

    def cost(self) -> int:
        """Count the rows to predict beside the unchanged ones."""
        if self.steps is None:
            return 0
        rows, steps = self.steps.moved()
        return sum(int((self.steps.places[rows] != steps + end).sum()) for end in (0, 1))


def moves(
    options: Options, groups: Sequence[tuple[str, Background]]
) -> Iterator[tuple[Moves, ...]]:
    """Lay the steps of each entry of `options.features`, by groups of rows."""
    for names in options.features:
        yield tuple(_moves(names, group, rows, options.bin_count) for group, rows in groups)


def _moves(names: tuple[str, ...], group: str, rows: Background, bin_count: int) -> Moves:
    values = rows.features.columns[rows.features.index(names[0])]
    known = np.flatnonzero(~is_missing(values))
    steps = lay_steps(values[known], rows.weights[known], bin_count) if len(known) else None
    return Moves(names, group, rows, known, steps)


def compute(
    effects: Effects, options: Options, entries: Sequence[tuple[Moves, ...]], seed: int
) -> Result:
    """Compute the effects along each entry, for each group of rows.

    Parameters
    ----------
    entries : one per entry of `options.features`
    """
    engines = [effects.restrict(moves.background) for moves in entries[0]]
    curves = [
        _accumulated(engine, moves, options.resampling, seed)
        for same_entry in entries
        for engine, moves in zip(engines, same_entry, strict=True)
    ]
    varied = {name for names in options.features for name in names}
    level = options.resampling.confidence_level if options.resampling.repeat_count else 0.0
    lightest = min((each.background.weights for each in entries[0]), key=effective_row_count)
    return Result(
        effects.output_names,
        tuple(curves),
        level,
        sample_values(effects.background.features, varied),
        options.group_column,
        few_rows_notes(options.resampling, lightest),
    )


def _accumulated(
    engine: Effects, moves: Moves, resampling: Resampling, seed: int
) -> AccumulatedLocalEffect:
    background, missing = moves.background, np.ones(len(moves.background), np.bool_)
    missing[moves.known] = False
    left_out = background.weight(np.flatnonzero(missing))
    if moves.steps is None:
        return _without_values(engine, moves, left_out)
    differences = LocalDifferences(moves.steps, _differences(engine, moves, moves.steps))
    weights = moves.weights
    values = differences.accumulate(differences.means(weights), weights)
    curve = AccumulatedLocalEffect(
        moves.features,
        moves.group,
        (moves.steps.points,),
        values,
        mean(engine.outputs()[moves.known], weights),
        background.weight(moves.known),
        left_out,
        background.case_weights(differences.step_weights(weights)),
        background.case_weights(moves.steps.point_weights(weights)),
    )
    if not resampling.repeat_count:
        return curve
    numbers = background.source[moves.known]
    return differences.with_intervals(curve, weights, numbers, resampling, seed)


def _differences(engine: Effects, moves: Moves, steps: Steps) -> Matrix:
    """Predict rows at both ends of their steps: upper minus lower, (n_moved, n_outputs)."""
    rows, bins = steps.moved()
    ends = []
    for end in (0, 1):
        points = bins + end
        predicted = engine.outputs()[moves.known[rows]]
        away = np.flatnonzero(steps.places[rows] != points)
        predicted[away] = _moved(engine, moves, rows[away], points[away])
        ends.append(predicted)
    difference: Matrix = ends[1] - ends[0]
    return difference


def _moved(engine: Effects, moves: Moves, rows: Indices, points: Indices) -> Matrix:
    """Predict rows with the feature at points: (n, n_outputs)."""
    assert moves.steps is not None  # noqa: S101 - there are rows to move
    sources = moves.background.take(moves.known[moves.steps.sources])
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
    """Return the effect of a feature without any value: none, at its missing value."""
    position = moves.positions[0]
    nothing = np.zeros((1, len(engine.output_names)))
    unknown = np.full(nothing.shape[1], np.nan)
    grid = (moves.background.features.columns[position][:1],)
    none = np.zeros(1)
    return AccumulatedLocalEffect(
        moves.features, moves.group, grid, nothing, unknown, 0.0, left_out, none[1:], none
    )
