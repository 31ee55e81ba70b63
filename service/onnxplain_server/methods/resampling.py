"""How far numbers would move with other rows: resampling by weights.

Rows are taken as an independent sample of what they stand for. Where they come
in clusters (several rows of one patient, neighbours of one street), the true
spread is larger than what resampling single rows shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist

import numpy as np

from onnxplain_server.arrays import Matrix, Vector
from onnxplain_server.methods.options import within


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
class Spread:
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


def spread(resampling: Resampling, value: Vector, replicates: Matrix) -> Spread:
    """Tell the spread of a number that cannot be negative.

    Parameters
    ----------
    value : (n_outputs,)
    replicates : (n_replicates, n_outputs)
    """
    if resampling.scheme is Scheme.BOOTSTRAP:
        return _bootstrap(resampling, value, replicates)
    return _jackknife(resampling, value, replicates)


def _bootstrap(resampling: Resampling, value: Vector, replicates: Matrix) -> Spread:
    """Percentiles of the replicates, shifted by twice their bias.

    Replicates are biased against the value as the value is against the truth;
    so they must be shifted back once for each.
    """
    tail = (1 - resampling.confidence_level) / 2
    biases = replicates.mean(axis=0) - value
    lower, upper = np.quantile(replicates, [tail, 1 - tail], axis=0) - 2 * biases
    errors = replicates.std(axis=0, ddof=1)
    return Spread(errors, np.maximum(lower, 0), np.maximum(upper, 0), biases)


def _jackknife(resampling: Resampling, value: Vector, replicates: Matrix) -> Spread:
    """Normal interval around the corrected value; Efron and Tibshirani (1993), chapter 11."""
    count = len(replicates)
    center = replicates.mean(axis=0)
    errors = np.sqrt((count - 1) / count * ((replicates - center) ** 2).sum(axis=0))
    biases = (count - 1) * (center - value)
    reach = NormalDist().inv_cdf((1 + resampling.confidence_level) / 2) * errors
    middle = value - biases
    return Spread(errors, np.maximum(middle - reach, 0), np.maximum(middle + reach, 0), biases)
