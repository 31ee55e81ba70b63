"""Resampling: bootstrap and jackknife standard errors and intervals, by reweighting rows.

Rows are assumed to be independent. For clustered rows (several of one patient, neighbours in
one street), the true spread is larger than resampling of single rows shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.model import Note

MIN_ROWS = 100
"""Rows from which intervals carry no warning; with 50 and heavy tails, few have their coverage."""
_MAX_RELATIVE_REACH = 0.75
"""Bound of reach over value; the upper end diverges as the ratio approaches 1."""


class Scheme(Enum):
    """Resampling scheme."""

    BOOTSTRAP = "BOOTSTRAP"
    JACKKNIFE = "JACKKNIFE"


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
    scheme: Scheme = Scheme[InteractionsOptions.resampling.default]
    confidence_level: float = InteractionsOptions.confidence_level.default


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


def replicate(resampling: Resampling, weights: Vector, seed: int) -> Matrix:
    """Draw replicates of the rows, as weights: (n_replicates, n_rows).

    A bootstrap replicate draws rows with replacement. A jackknife replicate omits one random
    group of rows, from background and evaluation alike; each row is in one group.
    """
    n = len(weights)
    random = np.random.default_rng([seed, 1])
    if resampling.scheme is Scheme.BOOTSTRAP:
        counts = random.multinomial(n, np.full(n, 1 / n), resampling.repeat_count)
        replicates: Matrix = counts.astype(np.float64) * weights
        return replicates
    group_count = min(resampling.repeat_count, n)
    group = random.permutation(np.arange(n) % group_count)
    is_kept: Matrix = (group != np.arange(group_count)[:, None]).astype(np.float64)
    return is_kept * weights


def spread(
    resampling: Resampling, value: Vector, replicates: Matrix, row_count: float
) -> ReplicateSpread:
    """Estimate standard error, bias and interval of a statistic that is never negative.

    Parameters
    ----------
    value : (n_outputs,)
    replicates : (n_replicates, n_outputs)
    row_count : float
        As returned by `effective_row_count`.
    """
    count = len(replicates)
    center = replicates.mean(axis=0)
    if resampling.scheme is Scheme.BOOTSTRAP:
        errors, biases = replicates.std(axis=0, ddof=1), center - value
    else:
        # Efron and Tibshirani (1993), chapter 11.
        errors = np.sqrt((count - 1) / count * ((replicates - center) ** 2).sum(axis=0))
        biases = (count - 1) * (center - value)
    reach = t_quantile(resampling.confidence_level, row_count, count) * errors
    lower, upper = mean_square_interval(value, value - biases, reach)
    return ReplicateSpread(errors, lower, upper, biases)


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
    count = effective_row_count(weights)
    if not resampling.repeat_count or count >= MIN_ROWS:
        return ()
    message = (
        f"Standard errors and intervals rest on an effective sample of {count:.4g} rows; below "
        f"{MIN_ROWS}, intervals may cover less often than their level says if predictions have "
        "heavy tails, and standard errors may be far off. Send more rows, or raise row_count."
    )
    return (Note("FEW_ROWS", message),)
