"""How far numbers would move with other rows: resampling by weights.

Rows are taken as an independent sample of what they stand for. Where they come
in clusters (several rows of one patient, neighbours of one street), the true
spread is larger than what resampling single rows shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import stats

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.option_checks import within

MIN_ROWS = 100
"""Rows from which intervals are told without a warning; of 50, few hold where tails are heavy."""
_MOST_SHARE = 0.75
"""Bound of reach over value, beyond which the upper end would run away."""


class Scheme(Enum):
    """How replicates are made."""

    BOOTSTRAP = "BOOTSTRAP"
    JACKKNIFE = "JACKKNIFE"


@dataclass(frozen=True, slots=True)
class Resampling:
    """See `Resampling` in the contract.

    Attributes
    ----------
    repeat_count : int
        Number of replicates; 0: none.
    confidence_level : float
        In (0, 1).
    """

    repeat_count: int = 0
    scheme: Scheme = Scheme.BOOTSTRAP
    confidence_level: float = 0.95

    def check(self, path: str) -> None:
        """Refuse what is impossible."""
        if self.repeat_count:
            within(self.repeat_count, 10, 10_000, f"{path}.repeat_count")
        within(self.confidence_level, 0.5, 0.999, f"{path}.confidence_level")


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateSpread:
    """What replicates tell of a number.

    Attributes
    ----------
    standard_errors, lower, upper : (n_outputs,)
        Interval of the confidence level, corrected for the bias.
    biases : (n_outputs,)
        By how much the number is too large on average, because it is a mean
        of squares over a finite number of rows.
    """

    standard_errors: Vector
    lower: Vector
    upper: Vector
    biases: Vector


def replicate(resampling: Resampling, weights: Vector, seed: int) -> Matrix:
    """Make replicates of the rows, as weights: (n_replicates, n_rows).

    A bootstrap replicate draws rows with replacement; a jackknife replicate
    leaves a random group of rows out, each row once, from background and
    evaluation alike.
    """
    n = len(weights)
    random = np.random.default_rng([seed, 1])
    if resampling.scheme is Scheme.BOOTSTRAP:
        drawn = random.multinomial(n, np.full(n, 1 / n), resampling.repeat_count)
        counted: Matrix = drawn.astype(np.float64) * weights
        return counted
    group_count = min(resampling.repeat_count, n)
    group = random.permutation(np.arange(n) % group_count)
    stays: Matrix = (group != np.arange(group_count)[:, None]).astype(np.float64)
    return stays * weights


def spread(
    resampling: Resampling, value: Vector, replicates: Matrix, row_count: float
) -> ReplicateSpread:
    """Tell the spread of a number that cannot be negative.

    Parameters
    ----------
    value : (n_outputs,)
    replicates : (n_replicates, n_outputs)
    row_count : float
        As `effective_row_count` counts them.
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
    """Tell how many standard errors an interval reaches: of Student's t.

    The standard error is estimated from so many rows, by so many replicates; the fewer of
    both, the less it is known.
    """
    return float(stats.t.ppf((1 + level) / 2, max(min(row_count, repeat_count) - 1, 1)))


def mean_square_interval(value: Vector, corrected: Vector, reach: Vector) -> tuple[Vector, Vector]:
    """Bound a mean square, whose standard error grows with it.

    Samples that lack the few rows of large squares have a small value and a small standard
    error at once, so that symmetric intervals end too low. The upper end is therefore the
    largest truth that the value is not too far below, where the standard error is a constant
    share of the truth: the corrected value over 1 - reach / value. It is at most 4 times the
    corrected value, and at least as far away as the lower end.

    Parameters
    ----------
    value : (n_outputs,)
        At least 0.
    corrected : (n_outputs,)
        The same, freed of its bias.
    reach : (n_outputs,)
        Quantile times standard error.
    """
    share = np.divide(reach, value, out=np.zeros_like(reach), where=value > 0)
    stretched = corrected / (1 - np.minimum(share, _MOST_SHARE))
    lower, upper = corrected - reach, np.maximum(corrected + reach, stretched)
    return np.maximum(lower, 0), np.maximum(upper, 0)


def effective_row_count(weights: Vector) -> float:
    """Count rows, those of unequal weights as fewer equal ones of the same precision (Kish)."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def few_rows_notes(resampling: Resampling, weights: Vector) -> tuple[Note, ...]:
    """Say where rows are too few for the intervals."""
    count = effective_row_count(weights)
    if not resampling.repeat_count or count >= MIN_ROWS:
        return ()
    message = (
        f"Standard errors and intervals are from {count:.4g} rows, counted as of equal weight; "
        f"below {MIN_ROWS} intervals may hold less often than their level says where "
        "predictions have heavy tails, and standard errors may be far off. Give more rows, or "
        "raise row_count."
    )
    return (Note("FEW_ROWS", message),)
