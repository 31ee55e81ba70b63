"""Spread of a statistic over replicates: standard errors, biases and intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.resampling.replicates import Resampling, Scheme

_MAX_RELATIVE_REACH = 0.75
"""Bound of reach over value; the upper end diverges as the ratio approaches 1."""
_CHANCE_SHARE = 0.05
"""Share of a denominator that is chance, from which intervals of a ratio allow for it."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateSpread:
    """Spread of a statistic over replicates.

    Attributes
    ----------
    standard_errors, lower, upper : (n_outputs,)
        Standard errors, and bias-corrected interval at the confidence level.
    biases : (n_outputs,)
        Expected excess of the statistic, a mean of squares over finitely many rows.
    """

    standard_errors: Vector
    lower: Vector
    upper: Vector
    biases: Vector


def spread(
    resampling: Resampling, value: Vector, values: Matrix, omitted: Vector, row_count: float
) -> ReplicateSpread:
    """Estimate standard error, bias and interval of a statistic that is never negative.

    All are NaN if there are fewer than two replicates.

    Parameters
    ----------
    value : (n_outputs,)
    values : (n_replicates, n_outputs)
        Statistic of each replicate.
    omitted : (n_replicates,)
        See `Replicates`.
    row_count : float
        As returned by `effective_row_count`.
    """
    if len(values) < 2:
        unknown = np.full_like(value, np.nan)
        return ReplicateSpread(unknown, unknown, unknown, unknown)
    errors, biases = _errors(resampling.scheme, value, values, omitted[:, None])
    reach = t_quantile(resampling.confidence_level, row_count, len(values)) * errors
    lower, upper = mean_square_interval(value, value - biases, reach)
    return ReplicateSpread(errors, lower, upper, biases)


def chance_shares(
    resampling: Resampling, squares: Vector, values: Matrix, omitted: Vector
) -> Vector:
    """Return which part of a mean square is the chance of the rows drawn, where it matters.

    A mean square of an effect that is estimated from rows is too large by the variance of the
    estimate. Of weak effects, that is much of it.

    Parameters
    ----------
    squares : (n_outputs,)
    values : (n_replicates, n_outputs)
        Of each replicate.
    omitted : (n_replicates,)

    Returns
    -------
    (n_outputs,)
        0 where the part is small, or not known from so few replicates.
    """
    if len(values) < 2:
        return np.zeros_like(squares)
    own = spread(resampling, squares, values, omitted, len(values))
    noise = _bias_noise(resampling.scheme, own.standard_errors, len(values))
    is_chance = own.biases > np.maximum(_CHANCE_SHARE * squares, noise)
    shares: Vector = np.divide(
        own.biases, squares, out=np.zeros_like(squares), where=is_chance & (squares > 0)
    )
    return np.minimum(shares, 1)


def allow_for_chance(
    usual: ReplicateSpread, numerators: Vector, denominators: ReplicateSpread, shares: Vector
) -> ReplicateSpread:
    """Widen the interval of a ratio whose denominator is partly chance.

    A ratio is no longer about linear in such a denominator, and its standard error and bias tell
    little. The interval then also holds the ratios to the ends of the denominator's interval, up to
    1, which the ratio of two effects hardly exceeds.

    Parameters
    ----------
    usual : ReplicateSpread
        Of the ratio.
    numerators : (n_outputs,)
    denominators : ReplicateSpread
    shares : (n_outputs,)
        As of `chance_shares`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = numerators / denominators.upper, numerators / denominators.lower
    lower = np.where(shares > 0, np.fmin(usual.lower, low), usual.lower)
    most = np.fmax(usual.upper, np.fmin(high, 1))
    return replace(usual, lower=lower, upper=np.where(shares > 0, most, usual.upper))


def _errors(
    scheme: Scheme, value: Vector, values: Matrix, omitted: Matrix
) -> tuple[Vector, Vector]:
    """Return standard errors and biases."""
    match scheme:
        case Scheme.BOOTSTRAP:
            return bootstrap_errors(values), values.mean(axis=0) - value
        case Scheme.JACKKNIFE:
            return _jackknife_errors(value, values, omitted)


def _bias_noise(scheme: Scheme, errors: Vector, count: int) -> Vector:
    """Return the standard errors of biases by the draw of replicates, `count` of them."""
    match scheme:
        case Scheme.BOOTSTRAP:
            noise: Vector = errors / np.sqrt(count)
            return noise
        case Scheme.JACKKNIFE:
            return np.zeros_like(errors)


def bootstrap_errors(values: Matrix) -> Vector:
    """Return the standard errors of statistics, from replicates: (n_replicates, n_outputs).

    Efron (1979), "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7(1),
    1-26. doi:10.1214/aos/1176344552
    """
    errors: Vector = values.std(axis=0, ddof=1)
    return errors


def _jackknife_errors(value: Vector, values: Matrix, omitted: Matrix) -> tuple[Vector, Vector]:
    """Return standard errors and biases from groups of unequal sizes.

    Busing, Meijer and van der Leeden (1999), "Delete-m Jackknife for Unequal m", Statistics and
    Computing 9, 3-8. doi:10.1023/A:1008800423698
    """
    kept = 1 - omitted
    biases = (kept * (values - value)).sum(axis=0)
    pseudovalues = (value - kept * values) / omitted
    squares = (pseudovalues - (value - biases)) ** 2 * omitted / kept
    return np.sqrt(squares.mean(axis=0)), biases


def t_quantile(level: float, row_count: float, repeat_count: int) -> float:
    """Return the quantile of Student's t: half an interval's width in standard errors.

    Its degrees of freedom are the smaller of row and replicate counts, less 1.
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(min(row_count, repeat_count) - 1, 1), (1 + level) / 2))


def mean_square_interval(value: Vector, corrected: Vector, reach: Vector) -> tuple[Vector, Vector]:
    """Return the interval of a mean square, whose standard error grows with its value.

    A sample without the few rows of large squares has both a small value and a small standard
    error, so that a symmetric interval ends too low. The upper end therefore assumes a standard
    error proportional to the true value: corrected / (1 - reach / value). It is at most 4 times
    the corrected value, and at least as far from it as the lower end.

    Parameters
    ----------
    value : (n_outputs,)
        At least 0.
    corrected : (n_outputs,)
        Value minus its bias.
    reach : (n_outputs,)
        Quantile times standard error.
    """
    share = np.divide(reach, value, out=np.zeros_like(reach), where=value > 0)
    proportional = corrected / (1 - np.minimum(share, _MAX_RELATIVE_REACH))
    lower, upper = corrected - reach, np.maximum(corrected + reach, proportional)
    return np.maximum(lower, 0), np.maximum(upper, 0)
