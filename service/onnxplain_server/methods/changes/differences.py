"""Differences of statistics, by replicates of both sides: standard errors, intervals and p-values.

Replicates of paired sides have each row equally often, so that their differences hold what the
chance of the rows does to the difference. Those of independent sides are put together at random:
replicate r of one side with r + 1 of the other, whose rows are drawn anew.

A mean square over n rows is too large by about 1 / n of the spread of its terms. The bias of a
difference is the difference of both biases, which replicates estimate by their mean less the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.resampling import t_quantile

ROUNDING = 1e-12
"""Differences up to this share of the larger value are roundings of equal numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedDifference:
    """Difference of two statistics, and its deviations in replicates.

    Attributes
    ----------
    values : (n_points, n_outputs)
        Answer less reference.
    deviations : (n_replicates, n_points, n_outputs)
        From their mean.
    standard_errors : (n_points, n_outputs)
        NaN below two replicates.
    biases : (n_points, n_outputs)
        Of mean squares; 0 for others.
    unit_count : float
        Effective number of rows, or clusters, of the side that has fewer.
    magnitude : (n_outputs,)
        Largest absolute value of each output, in whose roundings nothing is seen.
    """

    values: Matrix
    deviations: Array
    standard_errors: Matrix
    biases: Matrix
    unit_count: float
    magnitude: Vector

    @property
    def corrected(self) -> Matrix:
        """Differences less their biases: (n_points, n_outputs)."""
        return self.values - self.biases

    @property
    def degrees(self) -> float:
        """Degrees of freedom of Student's t, as of `t_quantile`."""
        return max(min(self.unit_count, len(self.deviations)) - 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedSide:
    """Values of one side, and those of its replicates.

    Attributes
    ----------
    values : (n_points, n_outputs)
    replicates : (n_replicates, n_points, n_outputs)
    unit_count : float
    """

    values: Matrix
    replicates: Array
    unit_count: float


def difference(
    reference: ReplicatedSide, answer: ReplicatedSide, *, is_paired: bool, is_square: bool
) -> ReplicatedDifference:
    """Compare two sides of equal points and outputs.

    Parameters
    ----------
    is_paired : bool
        Whether replicates belong together by their numbers.
    is_square : bool
        Whether the statistic is a mean square, whose bias is corrected.
    """
    count = min(len(reference.replicates), len(answer.replicates))
    before, after = reference.replicates[:count], answer.replicates[:count]
    if not is_paired:
        before = np.roll(before, 1, axis=0)
    known = np.isfinite(before).all(axis=(1, 2)) & np.isfinite(after).all(axis=(1, 2))
    before, after = before[known], after[known]
    values = answer.values - reference.values
    magnitude = np.maximum(np.abs(reference.values).max(axis=0), np.abs(answer.values).max(axis=0))
    unit_count = min(reference.unit_count, answer.unit_count)
    if len(before) < 2:
        unknown = np.full_like(values, np.nan)
        nothing = np.zeros_like(values)
        none = np.zeros((0, *values.shape))
        return ReplicatedDifference(values, none, unknown, nothing, unit_count, magnitude)
    drawn = after - before
    around = drawn.mean(axis=0)
    errors = _errors(before, after, is_paired=is_paired)
    errors[errors <= ROUNDING * magnitude] = 0.0
    biases = around - values if is_square else np.zeros_like(values)
    biases[np.abs(biases) <= ROUNDING * magnitude] = 0.0
    return ReplicatedDifference(values, drawn - around, errors, biases, unit_count, magnitude)


def _errors(before: Array, after: Array, *, is_paired: bool) -> Matrix:
    """Return standard errors of differences of replicates: (n_points, n_outputs)."""
    if is_paired:
        paired: Matrix = (after - before).std(axis=0, ddof=1)
        return paired
    independent: Matrix = np.hypot(before.std(axis=0, ddof=1), after.std(axis=0, ddof=1))
    return independent


def intervals(found: ReplicatedDifference, level: float) -> tuple[Matrix, Matrix]:
    """Return the ends of the intervals around corrected differences: (n_points, n_outputs)."""
    count = len(found.deviations)
    reach = t_quantile(level, found.unit_count, count) * found.standard_errors
    return found.corrected - reach, found.corrected + reach


def p_values(found: ReplicatedDifference) -> Matrix:
    """Return two-sided p-values of no difference: (n_points, n_outputs), NaN where unknown."""
    return tail(ratios(found), found.degrees)


def ratios(found: ReplicatedDifference) -> Matrix:
    """Return corrected differences in standard errors, without sign: (n_points, n_outputs).

    Without any standard error, 0 for equal numbers, up to rounding, and infinity for others.
    """
    sizes = np.abs(found.corrected)
    exact = np.where(sizes <= ROUNDING * found.magnitude, 0.0, np.inf)
    result: Matrix = np.divide(
        sizes, found.standard_errors, out=exact, where=found.standard_errors > 0
    )
    result[np.isnan(found.standard_errors) | np.isnan(sizes)] = np.nan
    return result


def tail(sizes: Array, degrees: float) -> Array:
    """Return two-sided tail probabilities of Student's t beyond sizes."""
    from scipy.special import stdtr

    probabilities: Array = 2 * stdtr(degrees, -sizes)
    return probabilities
