"""FIRM computation: from features and scores to importances, curves, intervals and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector, unit_of_squares
from onnxplain_server.core.model import Note
from onnxplain_server.language import ColumnValues, Expression, evaluate
from onnxplain_server.methods.firm import checks
from onnxplain_server.methods.firm.binding import BoundFeature, bind, bind_bins
from onnxplain_server.methods.firm.cuts import Cuts
from onnxplain_server.methods.firm.options import Options
from onnxplain_server.methods.firm.replicates import Run, finish, measure_raw, replicate
from onnxplain_server.methods.firm.result import (
    ConditionalExpectation,
    ContrastImportance,
    FirmImportance,
    ImportanceSpread,
    PairGrid,
    Result,
    ScatterSample,
)
from onnxplain_server.methods.firm.scaled import in_units, scaled_moments, scaled_statistics
from onnxplain_server.methods.firm.streamed import FirmPass, FirmSums, scores_and_bins
from onnxplain_server.methods.firm.weighted_scores import ROUNDING, Moments, WeightedScores
from onnxplain_server.methods.resampling import (
    RowUnits,
    few_rows_notes,
)

_SCATTER_ROWS = 400
_SCATTER_FEATURES = 12


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows with weights and scores.

    Attributes
    ----------
    columns : ColumnValues
    weights : (n,)
        All positive.
    scores : (n, n_outputs)
    output_names : tuple of str
    units : RowUnits
        What replicates draw.
    """

    columns: ColumnValues
    weights: Vector
    scores: Matrix
    output_names: tuple[str, ...]
    units: RowUnits


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Feature with its raw measurement, (n_outputs,), and its curve."""

    bound: BoundFeature
    raw: Vector
    curve: ConditionalExpectation


def compute(  # noqa: PLR0917 - all inputs of the numbers, and the parallel map
    expressions: Sequence[Expression],
    rows: ScoredRows,
    options: Options,
    moments: Moments | None,
    seed: int,
    run: Run,
) -> Result:
    """Measure the importance of features; `options` are resolved.

    `moments` are required by the estimators GAUSSIAN and TAYLOR.
    """
    units = unit_of_squares(rows.scores)
    rows = replace(rows, scores=rows.scores / units)
    moments = moments and scaled_moments(moments, units)
    means = np.average(rows.scores, axis=0, weights=rows.weights)
    scores = WeightedScores(_centered(rows.scores, means), rows.weights, moments)

    def measured(expression: Expression) -> _Measured:
        bound = bind(expression, rows.columns, rows.weights, options, moments)
        return _measured(bound, scores, means, options)

    features = run(measured, expressions)
    bounds, raws = [each.bound for each in features], np.array([each.raw for each in features])
    names = rows.output_names
    found = replicate(bounds, raws, scores, rows.units, options, names, seed, run)
    result = _result(features, found.spreads, scores, means, options, rows)
    kept = found.kept if options.standardize else tuple(scaled_statistics(found.kept, units))
    return replace(in_units(result, units), conclusions=found.conclusions, replicates=kept)


def compute_streamed(  # noqa: PLR0917 - all inputs of the numbers, and a sample to draw
    expressions: Sequence[Expression],
    cuts: Sequence[Cuts],
    work: FirmPass,
    sums: FirmSums,
    options: Options,
    sample: ScoredRows,
) -> Result:
    """Measure features on a table that is read block by block, by estimators on bins.

    Parameters
    ----------
    work, sums
        The pass over all rows, and its sums.
    sample : ScoredRows
        Some rows, for scatter plots.
    """
    scores, filled = scores_and_bins(cuts, sums, work.shift)
    features = [
        _measured(bind_bins(expression, bins, options), scores, scores.means, options)
        for expression, bins in zip(expressions, filled, strict=True)
    ]
    return _result(features, [None] * len(features), scores, scores.means, options, sample)


def _measured(
    bound: BoundFeature, scores: WeightedScores, means: Vector, options: Options
) -> _Measured:
    return _Measured(bound, measure_raw(bound, scores, options), _curve(bound, scores, means))


def _result(  # noqa: PLR0917 - all parts of a result
    features: Sequence[_Measured],
    spreads: Sequence[ImportanceSpread | None],
    scores: WeightedScores,
    means: Vector,
    options: Options,
    rows: ScoredRows,
) -> Result:
    """Present the measurements; `rows` are those for scatter plots."""
    bounds, raws = [each.bound for each in features], np.array([each.raw for each in features])
    groups = options.named_groups
    importances = [
        _importance(each, spread, groups) for each, spread in zip(features, spreads, strict=True)
    ]
    resampling = options.resampling
    return Result(
        rows.output_names,
        tuple(importances),
        (),
        means,
        scores.deviations,
        options.standardize,
        resampling.confidence_level if resampling.repeat_count else 0.0,
        _scatter([bound.expression for bound in bounds], importances, rows),
        (),
        _notes(bounds, raws, scores, options, rows),
    )


def _notes(
    bounds: Sequence[BoundFeature],
    raws: Matrix,
    scores: WeightedScores,
    options: Options,
    rows: ScoredRows,
) -> tuple[Note, ...]:
    return (
        *checks.notes(bounds, scores),
        *checks.constant_notes(bounds),
        *checks.text_notes(bounds),
        *checks.unmeasured_notes(bounds, raws, scores),
        *few_rows_notes(options.resampling, scores.weights, rows.units),
        *(checks.rare_notes(bounds, rows.units) if options.resampling.repeat_count else ()),
    )


def _importance(
    feature: _Measured, spread: ImportanceSpread | None, groups: Mapping[str, tuple[str, ...]]
) -> FirmImportance:
    bound = feature.bound
    text, estimator = bound.expression.text, bound.measure.estimator
    values = finish(bound, feature.raw)
    return FirmImportance(text, estimator, values, spread, feature.curve, groups.get(text, ()))


def complete(
    result: Result, contrasts: tuple[ContrastImportance, ...], pair_grids: tuple[PairGrid, ...]
) -> Result:
    """Add the parts of a result that need the engine or the request."""
    return replace(result, contrasts=contrasts, pair_grids=pair_grids)


def _centered(scores: Matrix, means: Vector) -> Matrix:
    """Subtract the means from scores; exactly 0 for scores constant up to rounding."""
    centered = scores - means
    largest = np.abs(scores).max(axis=0)
    centered[:, np.abs(centered).max(axis=0) <= ROUNDING * largest] = 0.0
    return centered


def _curve(bound: BoundFeature, scores: WeightedScores, means: Vector) -> ConditionalExpectation:
    bins = bound.bins
    expected = bound.measure.curve(scores, bins.levels) + means
    shares = scores.bin_statistics(bins).shares
    return ConditionalExpectation(bins.levels, bins.is_by_value, expected, shares)


def _scatter(
    expressions: Sequence[Expression], importances: Sequence[FirmImportance], rows: ScoredRows
) -> ScatterSample:
    """Sample rows evenly over the table, for the most important features."""
    n = len(rows.weights)
    indices = np.unique(np.linspace(0, n - 1, min(n, _SCATTER_ROWS)).astype(np.intp))
    strength = [-np.nan_to_num(np.abs(importance.values)).sum() for importance in importances]
    chosen = np.argsort(strength, kind="stable")[:_SCATTER_FEATURES]
    sample = rows.columns.take(indices)
    values = {expressions[i].text: evaluate(expressions[i], sample) for i in np.sort(chosen)}
    return ScatterSample(values, rows.scores[indices])
