"""From features and scores to importances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.firm import checks
from onnxplain_server.methods.firm.binding import BoundFeature, bind
from onnxplain_server.methods.firm.language import ColumnValues, Expression, evaluate
from onnxplain_server.methods.firm.options import Options
from onnxplain_server.methods.firm.result import (
    ConditionalExpectation,
    ContrastImportance,
    FirmImportance,
    ImportanceSpread,
    PairGrid,
    Result,
    ScatterSample,
)
from onnxplain_server.methods.firm.weighted_scores import Moments, WeightedScores
from onnxplain_server.methods.resampling import (
    Resampling,
    effective_row_count,
    few_rows_notes,
    replicate,
    t_quantile,
)

Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
"""Runs a function on parts, side by side; results in the order of the parts."""

_SAME = 4 * np.finfo(np.float64).eps
"""Share of the largest score up to which all scores are the same."""
_REPLICATE_NUMBERS = 4_000_000
"""Weights of replicates that are held at once."""
_SHOWN_ROWS = 400
_SHOWN_FEATURES = 12


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows to learn from.

    Attributes
    ----------
    columns : ColumnValues
    weights : (n,)
        All positive.
    scores : (n, n_outputs)
    output_names : tuple of str
    """

    columns: ColumnValues
    weights: Vector
    scores: Matrix
    output_names: tuple[str, ...]


def compute(  # noqa: PLR0917 - all that the numbers depend on, and what runs it
    expressions: Sequence[Expression],
    sheet: ScoredRows,
    options: Options,
    moments: Moments | None,
    seed: int,
    run: Run,
) -> Result:
    """Measure features; see `Result`.

    Parameters
    ----------
    expressions : sequence of Expression
    options : Options
        Resolved.
    moments : Moments or None
        For the estimators GAUSSIAN and TAYLOR.
    """
    means = np.average(sheet.scores, axis=0, weights=sheet.weights)
    draw = WeightedScores(_centered(sheet.scores, means), sheet.weights, moments)

    def one(expression: Expression) -> BoundFeature:
        return bind(expression, sheet.columns, sheet.weights, options, moments)

    bounds = run(one, expressions)
    raws = np.array([_raw(bound, draw, options) for bound in bounds])
    spreads = _spreads(bounds, draw, options, seed, run)
    importances = [
        FirmImportance(
            bound.expression.text,
            bound.measure.estimator,
            _finish(bound, raw),
            spread,
            _curve(bound, draw, means),
        )
        for bound, raw, spread in zip(bounds, raws, spreads, strict=True)
    ]
    told = (
        *checks.notes(bounds, draw),
        *checks.constant_notes(bounds),
        *checks.unmeasured_notes(bounds, raws),
        *few_rows_notes(options.resampling, sheet.weights),
        *checks.rare_notes(bounds, is_resampled=options.resampling.repeat_count > 0),
    )
    return Result(
        sheet.output_names,
        tuple(importances),
        (),
        means,
        draw.deviations,
        options.standardize,
        options.resampling.confidence_level if options.resampling.repeat_count else 0.0,
        _cloud(expressions, importances, sheet),
        (),
        told,
    )


def complete(
    result: Result, contrasts: tuple[ContrastImportance, ...], pair_grids: tuple[PairGrid, ...]
) -> Result:
    """Add what is not computed from rows and scores alone."""
    return replace(result, contrasts=contrasts, pair_grids=pair_grids)


def _centered(scores: Matrix, means: Vector) -> Matrix:
    """Take the means from scores; exactly 0 where scores are the same but for rounding."""
    centered = scores - means
    largest = np.abs(scores).max(axis=0)
    centered[:, np.abs(centered).max(axis=0) <= _SAME * largest] = 0.0
    return centered


def _raw(bound: BoundFeature, draw: WeightedScores, options: Options) -> Vector:
    """Measure in the unit of the score, or of its standard deviation; squared where unsigned."""
    raw = bound.measure.raw(draw)
    if not options.standardize:
        return raw
    unit = draw.deviations if bound.measure.is_signed else draw.deviations**2
    return np.divide(raw, unit, out=np.zeros_like(raw), where=unit > 0)


def _finish(bound: BoundFeature, raw: Array) -> Array:
    """Bring raw numbers, (..., n_outputs), to importances."""
    return raw if bound.measure.is_signed else np.sqrt(np.maximum(raw, 0.0))


def _spreads(
    bounds: Sequence[BoundFeature], draw: WeightedScores, options: Options, seed: int, run: Run
) -> list[ImportanceSpread | None]:
    """Measure under replicates of the rows; no row is predicted again."""
    resampling = options.resampling
    if not resampling.repeat_count:
        return [None] * len(bounds)
    size = max(1, _REPLICATE_NUMBERS // len(draw.weights))

    def some(start: int) -> list[list[Vector]]:
        count = min(size, resampling.repeat_count - start)
        weights = replicate(Resampling(repeat_count=count), draw.weights, seed * 10_007 + start)
        drawn = [WeightedScores(draw.scores, w, draw.moments, is_replicate=True) for w in weights]
        return [[_raw(bound, one, options) for bound in bounds] for one in drawn]

    parts = run(some, range(0, resampling.repeat_count, size))
    raws = np.array([replicated for part in parts for replicated in part])
    own = [_raw(bound, draw, options) for bound in bounds]
    return [
        _spread(bound, own[i], raws[:, i], resampling, draw.weights)
        for i, bound in enumerate(bounds)
    ]


def _spread(
    bound: BoundFeature, raw: Vector, raws: Matrix, resampling: Resampling, weights: Vector
) -> ImportanceSpread:
    """Tell the spread of a number from replicates, (n_replicates, n_outputs), around itself.

    The interval is that of the raw number, which is freed of its bias. Nothing is told of a
    feature of two values of which one is that of a handful of rows.
    """
    count = _row_count(bound, weights)
    if count < checks.MIN_ROWS_PER_VALUE:
        unknown = np.full_like(raw, np.nan)
        return ImportanceSpread(unknown, unknown, unknown)
    reach = t_quantile(resampling.confidence_level, count, len(raws)) * raws.std(axis=0, ddof=1)
    errors = _finish(bound, raws).std(axis=0, ddof=1)
    return ImportanceSpread(errors, _finish(bound, raw - reach), _finish(bound, raw + reach))


def _row_count(bound: BoundFeature, weights: Vector) -> float:
    """Count the rows that a number rests on: of two values, those of the rarer one."""
    return checks.rarer_count(bound) if bound.bins.is_two_valued else effective_row_count(weights)


def _curve(bound: BoundFeature, draw: WeightedScores, means: Vector) -> ConditionalExpectation:
    bins = bound.bins
    shares = np.bincount(bins.codes.astype(np.intp), draw.weights, bins.count)
    return ConditionalExpectation(
        bins.levels,
        bins.is_by_value,
        bound.measure.curve(draw, bins.levels) + means,
        shares / shares.sum(),
    )


def _cloud(
    expressions: Sequence[Expression], importances: Sequence[FirmImportance], sheet: ScoredRows
) -> ScatterSample:
    """Choose some rows, evenly over the table, and the features that show in plots."""
    n = len(sheet.weights)
    rows = np.unique(np.linspace(0, n - 1, min(n, _SHOWN_ROWS)).astype(np.intp))
    strength = [-np.nan_to_num(np.abs(importance.values)).sum() for importance in importances]
    shown = np.argsort(strength, kind="stable")[:_SHOWN_FEATURES]
    some = sheet.columns.take(rows)
    values = {expressions[i].text: evaluate(expressions[i], some) for i in np.sort(shown)}
    return ScatterSample(values, sheet.scores[rows])
