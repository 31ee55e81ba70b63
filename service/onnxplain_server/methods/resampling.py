"""Resampling: bootstrap and jackknife standard errors and intervals, by reweighting rows.

A row's weight in a replicate depends on its number and on the seed only: see `core.row_draws`.

Rows are assumed to be independent. For clustered rows (several of one patient, neighbours in
one street), the true spread is larger than resampling of single rows shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.model import Note
from onnxplain_server.core.row_draws import jackknife_groups, poisson_counts
from onnxplain_server.core.warnings import MethodWarning

MIN_ROWS = 100
"""Rows from which intervals carry no warning; with 50 and heavy tails, few have their coverage."""
_MAX_RELATIVE_REACH = 0.75
"""Bound of reach over value; the upper end diverges as the ratio approaches 1."""
_CHANCE_SHARE = 0.05
"""Share of a denominator that is chance, from which intervals of a ratio allow for it."""


Scheme: TypeAlias = InteractionsOptions.Resampling
"""Resampling scheme."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Options of resampling; see `Resampling` in the contract.

    Attributes
    ----------
    repeat_count : int
        Number of replicates; 0: no resampling.
    confidence_level : float
        In (0, 1).
    """

    repeat_count: int = InteractionsOptions.repeat_count.default
    scheme: Scheme = InteractionsOptions.resampling.default
    confidence_level: float = InteractionsOptions.confidence_level.default


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Replicates of the rows, as weights.

    Attributes
    ----------
    weights : (n_replicates, n_rows)
        Not all 0 in any replicate.
    omitted : (n_replicates,)
        Share of the rows that a jackknife replicate omits; 0 for the bootstrap.
    """

    weights: Matrix
    omitted: Vector


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


def replicate(resampling: Resampling, weights: Vector, rows: Indices, seed: int) -> Replicates:
    """Draw replicates of rows with their case weights, and their numbers: (n_rows,) each."""
    match resampling.scheme:
        case Scheme.BOOTSTRAP:
            replicates = bootstrap(weights, rows, seed, range(resampling.repeat_count))
            return Replicates(replicates, np.zeros(len(replicates)))
        case Scheme.JACKKNIFE:
            return _jackknife(weights, rows, seed, resampling.repeat_count)


def bootstrap(weights: Vector, rows: Indices, seed: int, repeats: Sequence[int]) -> Matrix:
    """Draw bootstrap replicates by their numbers: (n_replicates, n_rows).

    Each row is in a replicate as often as a Poisson number of mean 1 says, so that no row's weight
    depends on the others. Replicates without any row, in which nothing has a mean, are left out:
    of n rows, a share of exp(-n).
    """
    replicates = poisson_counts(rows, seed, repeats)
    has_rows = replicates.any(axis=1)
    if not has_rows.all():
        replicates = replicates[has_rows]
    replicates *= weights
    return replicates


def _jackknife(weights: Vector, rows: Indices, seed: int, group_count: int) -> Replicates:
    """Omit one random group of rows per replicate, from background and evaluation alike.

    Each row is in one group. Groups without rows, or with all of them, have no replicate.
    """
    groups = jackknife_groups(rows, group_count, seed)
    sizes = np.bincount(groups, minlength=group_count)
    numbers = np.flatnonzero((sizes > 0) & (sizes < len(rows)))
    return Replicates((groups != numbers[:, None]) * weights, sizes[numbers] / len(rows))


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


def effective_row_count(weights: Vector) -> float:
    """Return Kish's effective sample size: the count of equal weights with the same precision."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def few_rows_notes(resampling: Resampling, weights: Vector) -> tuple[Note, ...]:
    """Warn if rows are too few for the intervals."""
    if not resampling.repeat_count:
        return ()
    count = effective_row_count(weights)
    if count >= MIN_ROWS:
        return ()
    message = (
        f"Standard errors and intervals rest on an effective sample of {count:.4g} rows; below "
        f"{MIN_ROWS}, intervals may cover less often than their level says if predictions have "
        "heavy tails, and standard errors may be far off. Send more rows, or raise row_count."
    )
    return (Note(MethodWarning.FEW_ROWS, message),)
