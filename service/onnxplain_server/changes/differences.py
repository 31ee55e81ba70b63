"""Differences of statistics, by replicates of both sides: standard errors, intervals and p-values.

Replicates of paired sides have each row equally often, so that their differences hold what the
chance of the rows does to the difference. Those of independent sides are put together at random:
replicate r of one side with r + 1 of the other, whose rows are drawn anew.

A mean square over n rows is too large by about 1 / n of the spread of its terms. The bias of a
difference is the difference of both biases, which replicates estimate by their mean less the value.

Differences of mean squares and losses are skewed, and large ones have large standard errors.
Intervals and p-values take the skewness g of the replicates off by Hall's transformation of the
ratio T of a difference and its standard error, T + g T²/3 + g² T³/27 + g/6, which rises with T.

Hall (1992), "On the Removal of Skewness by Transformation", Journal of the Royal Statistical
Society B 54(1), 221-228. doi:10.1111/j.2517-6161.1992.tb01876.x
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.resampling import t_quantile

ROUNDING = 1e-12
"""Differences up to this share of the larger value are roundings of equal numbers."""


_MOST_SKEWED = 2.0
"""Bound of the skewness, which few replicates tell badly."""
_FARTHEST = 3.0
"""Standard errors beyond which the transformation, which rests on a skewness that is estimated,
shifts a ratio no further."""
_STRAIGHT = 1e-6
"""Skewness up to which nothing is transformed."""


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
    skewness : (n_points, n_outputs)
        Of the differences, as samples of rows would make them; 0 without any spread.
    unit_count : float
        Effective number of rows, or clusters, of the side that has fewer.
    magnitude : (n_outputs,)
        Largest absolute value of each output, in whose roundings nothing is seen.
    """

    values: Matrix
    deviations: Array
    standard_errors: Matrix
    biases: Matrix
    skewness: Matrix
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
        return ReplicatedDifference(values, none, unknown, nothing, nothing, unit_count, magnitude)
    drawn = after - before
    around = drawn.mean(axis=0)
    errors = _errors(before, after, is_paired=is_paired)
    errors[errors <= ROUNDING * magnitude] = 0.0
    biases = around - values if is_square else np.zeros_like(values)
    biases[np.abs(biases) <= ROUNDING * magnitude] = 0.0
    skewness = _skewness(before, after, errors, is_paired=is_paired)
    deviations = drawn - around
    return ReplicatedDifference(values, deviations, errors, biases, skewness, unit_count, magnitude)


def _errors(before: Array, after: Array, *, is_paired: bool) -> Matrix:
    """Return standard errors of differences of replicates: (n_points, n_outputs)."""
    if is_paired:
        paired: Matrix = (after - before).std(axis=0, ddof=1)
        return paired
    independent: Matrix = np.hypot(before.std(axis=0, ddof=1), after.std(axis=0, ddof=1))
    return independent


def _skewness(before: Array, after: Array, errors: Matrix, *, is_paired: bool) -> Matrix:
    """Return the skewness of differences; of independent sides, third moments are subtracted."""
    sides = [after - before] if is_paired else [after, before]
    thirds = [((side - side.mean(axis=0)) ** 3).mean(axis=0) for side in sides]
    third = thirds[0] if is_paired else thirds[0] - thirds[1]
    skewness: Matrix = (
        np.divide(np.cbrt(third), errors, out=np.zeros_like(errors), where=errors > 0) ** 3
    )
    return np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)


def intervals(found: ReplicatedDifference, level: float) -> tuple[Matrix, Matrix]:
    """Return the ends of the intervals around corrected differences: (n_points, n_outputs)."""
    quantile = t_quantile(level, found.unit_count, len(found.deviations))
    ends = [_skewed(np.array(end), found.skewness) for end in (quantile, -quantile)]
    lower, upper = (found.corrected - end * found.standard_errors for end in ends)
    return lower, upper


def p_values(found: ReplicatedDifference) -> Matrix:
    """Return two-sided p-values of no difference: (n_points, n_outputs), NaN where unknown.

    One is less than 1 - level where the interval at the level leaves 0 out, and only there, up to
    ratios of 3.
    """
    sizes = ratios(found)
    signed = np.where(np.isfinite(sizes), sizes, 0.0) * np.sign(found.corrected)
    near = np.clip(signed, -_FARTHEST, _FARTHEST)
    settled = np.abs(signed + _unskewed(near, found.skewness) - near)
    is_varied = np.isfinite(sizes) & (found.standard_errors > 0)
    return tail(np.where(is_varied, settled, sizes), found.degrees)


def _unskewed(ratio: Array, skewness: Matrix) -> Matrix:
    """Transform ratios of differences and standard errors to ones without skewness."""
    transformed: Matrix = (
        ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / 6
    )
    return transformed


def _skewed(ratio: Array, skewness: Matrix) -> Matrix:
    """Invert `_unskewed`."""
    few = np.abs(skewness) < _STRAIGHT
    own = np.where(few, 1.0, skewness)
    inverse = 3 * (np.cbrt(1 + own * (ratio - own / 6)) - 1) / own
    inverted: Matrix = np.where(few, ratio, inverse)
    return inverted


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
