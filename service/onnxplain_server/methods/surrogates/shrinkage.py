"""Shrinkage of corrections that are small beside their own variance: empirical Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Vector
from onnxplain_server.methods.surrogates.corrected import CorrectedBlocks, expected_variance

PRIOR_FREEDOM = 4
"""Degrees of freedom that the variances of like statistics add to a statistic's own."""
_ROUNDS = 20
_FEWEST = 3
"""Statistics that tell how much corrections differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates of like statistics; NaN errors where no block was predicted.

    Attributes
    ----------
    values : (n_statistics,)
        Shrunk towards the surrogate, by one standard error at most.
    unbiased : (n_statistics,)
        Not shrunk; may be negative.
    errors : (n_statistics,)
        Standard errors of the unbiased estimates.
    freedom : (n_statistics,)
        Degrees of freedom of the errors.
    """

    values: Vector
    unbiased: Vector
    errors: Vector
    freedom: Vector


def estimate(statistics: Sequence[CorrectedBlocks]) -> Estimates:
    """Estimate like statistics, such as the numerators of all pairs of one output."""
    counts = np.array([len(own.numerators) for own in statistics])
    is_sampled = counts > 1
    surrogate = np.array([own.surrogate for own in statistics])
    unbiased = np.array([_mean(own.numerators, own.surrogate) for own in statistics])
    variances = _variances(statistics, counts, is_sampled)
    corrections = unbiased - surrogate
    spread = _spread(corrections[is_sampled], variances[is_sampled])
    share = np.zeros(len(counts))
    share[is_sampled] = _ratio(spread, spread + variances[is_sampled])
    shrunk, errors = surrogate + share * corrections, np.sqrt(variances)
    limited = np.where(is_sampled, np.clip(shrunk, unbiased - errors, unbiased + errors), shrunk)
    freedom = np.where(is_sampled, counts - 1 + PRIOR_FREEDOM, np.nan)
    return Estimates(np.maximum(limited, 0.0), unbiased, errors, freedom)


def _mean(values: Vector, without: float) -> float:
    return float(values.mean()) if len(values) else without


def _ratio(part: Array | float, whole: Array) -> Array:
    shares: Array = np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)
    return shares


def _variances(statistics: Sequence[CorrectedBlocks], counts: Array, is_sampled: Flags) -> Vector:
    """Return variances of the mean corrections: their own, steadied by those of the others."""
    own, expected = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    for place in np.flatnonzero(is_sampled).tolist():
        blocks = statistics[place]
        own[place] = np.var(blocks.corrections, ddof=1) / counts[place]
        expected[place] = expected_variance(blocks)
    total = expected[is_sampled].sum()
    factor = own[is_sampled].sum() / total if total > 0 else 0.0
    freedom = counts - 1
    variances: Vector = freedom * own + PRIOR_FREEDOM * factor * expected
    variances /= freedom + PRIOR_FREEDOM
    return variances


def _spread(corrections: Vector, variances: Vector) -> float:
    """Return the mean square of the true corrections of like statistics.

    By moments with weights 1 / (variance + mean square), as Paule and Mandel's for meta-analyses.
    """
    if len(corrections) < _FEWEST:  # each by itself, which the limit then decides
        return max(float((corrections**2 - variances).mean()), 0.0) if len(corrections) else 0.0
    least = 1e-12 * max(float(variances.max()), float((corrections**2).max()))
    if least == 0:
        return 0.0
    spread = 0.0
    for _ in range(_ROUNDS):
        weights = 1 / (variances + spread + least)
        spread = max(float(np.average(corrections**2 - variances, weights=weights)), 0.0)
    return spread
