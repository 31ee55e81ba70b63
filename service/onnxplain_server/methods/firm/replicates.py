"""Replicates of FIRM: importances under other weights, without further predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.firm import checks
from onnxplain_server.methods.firm.binding import BoundFeature
from onnxplain_server.methods.firm.options import Options
from onnxplain_server.methods.firm.result import ImportanceSpread
from onnxplain_server.methods.firm.weighted_scores import WeightedScores
from onnxplain_server.methods.resampling import (
    Conclusion,
    ReplicatedStatistic,
    Resampling,
    RowUnits,
    Sizes,
    bootstrap,
    bootstrap_errors,
    ranks,
    t_quantile,
)

Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
"""Parallel map: applies a function to parts; results in the order of the parts."""

_MAX_REPLICATE_WEIGHTS = 4_000_000
"""Largest number of replicate weights in memory at once."""


class Replicated(NamedTuple):
    """Spreads and conclusions by replicates; nothing without these.

    Attributes
    ----------
    spreads : list of ImportanceSpread or None
        One per feature.
    conclusions : tuple of Conclusion
        Ranks of features.
    kept : tuple of ReplicatedStatistic
        Of features that have a spread, where replicates are kept.
    """

    spreads: list[ImportanceSpread | None]
    conclusions: tuple[Conclusion, ...] = ()
    kept: tuple[ReplicatedStatistic, ...] = ()


def measure_raw(bound: BoundFeature, scores: WeightedScores, options: Options) -> Vector:
    """Measure in units of the score or of its standard deviation; squared if unsigned."""
    if bound.bins.count == 1:
        return np.zeros(scores.centered.shape[1])
    raw = bound.measure.raw(scores)
    if not options.standardize:
        return raw
    unit = scores.deviations if bound.measure.is_signed else scores.deviations**2
    return np.divide(raw, unit, out=np.zeros_like(raw), where=unit > 0)


def finish(bound: BoundFeature, raw: Array) -> Array:
    """Convert raw measurements, (..., n_outputs), to importances."""
    return raw if bound.measure.is_signed else np.sqrt(np.maximum(raw, 0.0))


def replicate(  # noqa: PLR0917 - all that replicates depend on, and the parallel map
    bounds: Sequence[BoundFeature],
    measured: Matrix,
    scores: WeightedScores,
    units: RowUnits,
    options: Options,
    output_names: Sequence[str],
    seed: int,
    run: Run,
) -> Replicated:
    """Measure under replicates of the rows; `measured` is raw, (n_features, n_outputs)."""
    resampling = options.resampling
    if not resampling.repeat_count:
        return Replicated([None] * len(bounds))
    size = max(1, _MAX_REPLICATE_WEIGHTS // len(scores.weights))

    def replicated(start: int) -> list[list[Vector]]:
        repeats = range(start, min(start + size, resampling.repeat_count))
        weights = bootstrap(scores.weights, units, seed, repeats)
        draws = [
            WeightedScores(scores.centered, w, scores.moments, is_replicate=True) for w in weights
        ]
        return [[measure_raw(bound, replica, options) for bound in bounds] for replica in draws]

    parts = run(replicated, range(0, resampling.repeat_count, size))
    counts = _unit_counts(bounds, scores.weights, units)
    raws = np.array([values for part in parts for values in part]).reshape(-1, *measured.shape)
    spreads: list[ImportanceSpread | None] = [
        _spread(bound, measured[i], raws[:, i], resampling, counts[i])
        for i, bound in enumerate(bounds)
    ]
    sizes = _sizes(bounds, measured, raws, output_names)
    whole = units.effective_count(scores.weights)
    kept = [
        _kept(bound, np.concatenate([measured[i : i + 1], raws[:, i]]), counts[i])
        for i, bound in enumerate(bounds)
        if resampling.is_kept and counts[i] >= checks.MIN_ROWS_PER_VALUE
    ]
    conclusions = tuple(ranks(sizes, resampling.confidence_level, whole))
    return Replicated(spreads, conclusions, tuple(kept))


def _sizes(
    bounds: Sequence[BoundFeature], measured: Matrix, raws: Array, output_names: Sequence[str]
) -> Sizes:
    """Return the sizes of importances, and those of their replicates."""
    finished = [np.abs(finish(bound, raws[:, i])) for i, bound in enumerate(bounds)]
    values = [np.abs(finish(bound, raw)) for bound, raw in zip(bounds, measured, strict=True)]
    names = [(bound.expression.text,) for bound in bounds]
    return Sizes(names, np.array(values), np.stack(finished, axis=1), output_names)


def _kept(bound: BoundFeature, raws: Matrix, count: float) -> ReplicatedStatistic:
    """Return raw numbers, (1 + n_replicates, n_outputs), as a kept statistic."""
    kind = "FIRM_IMPORTANCE" if bound.measure.is_signed else "FIRM_IMPORTANCE_SQUARE"
    return ReplicatedStatistic.of_numbers(kind, (bound.expression.text,), raws, count)


def _spread(
    bound: BoundFeature, raw: Vector, raws: Matrix, resampling: Resampling, count: float
) -> ImportanceSpread:
    """Estimate the spread of a measurement from its replicates, (n_replicates, n_outputs).

    The interval is that of the raw, bias-corrected number. It is NaN for fewer than two replicates,
    and for a feature with two values of which one has fewer than `checks.MIN_ROWS_PER_VALUE` rows.
    """
    if len(raws) < 2 or count < checks.MIN_ROWS_PER_VALUE:
        unknown = np.full_like(raw, np.nan)
        return ImportanceSpread(unknown, unknown, unknown)
    reach = t_quantile(resampling.confidence_level, count, len(raws)) * bootstrap_errors(raws)
    errors = bootstrap_errors(finish(bound, raws))
    return ImportanceSpread(errors, finish(bound, raw - reach), finish(bound, raw + reach))


def _unit_counts(bounds: Sequence[BoundFeature], weights: Vector, units: RowUnits) -> list[float]:
    """Return the effective count of units for each feature; for two values, of the rarer one."""
    whole = units.effective_count(weights)
    return [
        min(whole, checks.rarer_count(bound, units)) if bound.bins.is_two_valued else whole
        for bound in bounds
    ]
