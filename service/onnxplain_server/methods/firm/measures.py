"""Estimators of FIRM, each bound to a feature and applicable to any weighting of the rows.

`raw` returns signed importances, or else squared ones: the bias of a square can be subtracted,
that of its root cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.language import Linear, Threshold
from onnxplain_server.methods.firm import gaussian
from onnxplain_server.methods.firm.bins import Bins
from onnxplain_server.methods.firm.options import Estimator
from onnxplain_server.methods.firm.scores import BinStatistics, slope
from onnxplain_server.methods.firm.spline import Spline
from onnxplain_server.methods.firm.weighted_scores import Moments, WeightedScores


class BoundEstimator(Protocol):
    """Estimator bound to a feature."""

    @property
    def estimator(self) -> Estimator:
        """Name of the estimator."""

    @property
    def is_signed(self) -> bool:
        """Return whether `raw` returns importances and not their squares."""

    def raw(self, scores: WeightedScores) -> Vector:
        """Measure the feature under the weights of the scores: (n_outputs,)."""

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:
        """Return expected scores at values, minus the overall mean: (n_levels, n_outputs)."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoValued:
    """Difference of two means times √(p (1 - p)), exactly: Equation 10."""

    bins: Bins
    estimator = Estimator.TWO_VALUED
    is_signed = True

    def raw(self, scores: WeightedScores) -> Vector:
        """Return the signed importance; positive if the larger value has the larger score."""
        bins = scores.bin_statistics(self.bins)
        low, high = bins.shares
        if not low * high:
            return np.zeros(scores.centered.shape[1])
        difference: Vector = (bins.means[1] - bins.means[0]) * np.sqrt(low * high)
        return difference

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:  # noqa: ARG002 - always the levels of the bins
        """Return the means of the bins."""
        return scores.bin_statistics(self.bins).means


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """Spread of bin means, minus their sampling noise."""

    bins: Bins
    keep_bias: bool
    estimator = Estimator.BINNED
    is_signed = False

    def raw(self, scores: WeightedScores) -> Vector:
        """Return the squared importance."""
        return _unbiased(scores.bin_statistics(self.bins), scores, keep_bias=self.keep_bias)

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:  # noqa: ARG002 - always the levels of the bins
        """Return the means of the bins."""
        return scores.bin_statistics(self.bins).means


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """Spread of a regression spline, minus its overfitting of noise."""

    spline: Spline
    keep_bias: bool
    estimator = Estimator.SMOOTH
    is_signed = False

    def raw(self, scores: WeightedScores) -> Vector:
        """Return the squared importance."""
        statistics = self.spline.measure(scores.centered, scores.weights)
        return _unbiased(statistics, scores, keep_bias=self.keep_bias)

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:
        """Evaluate the spline."""
        fitted = self.spline.at(levels) @ self.spline.fit(scores.centered, scores.weights)
        return fitted - np.average(scores.centered, axis=0, weights=scores.weights)


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """Rise of the regression line over one standard deviation of the feature."""

    values: Vector
    estimator = Estimator.SLOPE
    is_signed = True

    def raw(self, scores: WeightedScores) -> Vector:
        """Return the signed importance."""
        return slope(self.values, scores.centered, scores.weights)

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:
        """Evaluate the regression line."""
        shares = scores.weights / scores.weights.sum()
        unit = np.abs(self.values).max() or 1.0  # prevents overflow of squares
        values = self.values / unit
        mean = shares @ values
        deviation = np.sqrt(shares @ (values - mean) ** 2)
        return _line(levels / unit, mean, deviation, self.raw(scores))


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """Closed form for Gaussian columns, of a linear combination or a threshold of one."""

    form: Linear | Threshold
    moments: Moments
    estimator: Estimator

    @property
    def is_signed(self) -> bool:
        """Return whether the estimator is GAUSSIAN; Equation 9 (TAYLOR) has no sign."""
        return self.estimator is Estimator.GAUSSIAN

    def raw(self, scores: WeightedScores) -> Vector:
        """Return the signed importance, or its square for TAYLOR."""
        signed = self._signed(scores)
        return signed if self.is_signed else signed**2

    def _signed(self, scores: WeightedScores) -> Vector:
        linear = self.form.linear if isinstance(self.form, Threshold) else self.form
        coefficients = self.moments.coefficients(dict(linear.coefficients))
        gradient = self.moments.gradient
        if isinstance(self.form, Linear):
            return gaussian.of_sum(coefficients, scores.covariance, gradient)
        above = gaussian.of_threshold(
            coefficients, linear.constant, scores.mean, scores.covariance, gradient
        )
        return above if self.form.is_above else -above

    def curve(self, scores: WeightedScores, levels: Array) -> Matrix:
        """Evaluate the line, or the two means beside a threshold."""
        linear = self.form.linear if isinstance(self.form, Threshold) else self.form
        coefficients = self.moments.coefficients(dict(linear.coefficients))
        deviation = gaussian.deviation_of(coefficients, scores.covariance)
        mean = float(coefficients @ scores.mean) + linear.constant
        if isinstance(self.form, Linear):
            return _line(levels, mean, deviation, self._signed(scores))
        rising = gaussian.of_sum(coefficients, scores.covariance, self.moments.gradient)
        above = gaussian.mean_above(-mean / deviation if deviation else 0.0)
        below = -gaussian.mean_above(mean / deviation if deviation else 0.0)
        holds, fails = (above, below) if self.form.is_above else (below, above)
        return np.where(levels[:, None] == 1, holds * rising, fails * rising)


def _line(levels: Array, mean: float, deviation: float, rise: Vector) -> Matrix:
    """Evaluate the line that is 0 at the mean and rises by `rise` per standard deviation."""
    standardized = (levels - mean) / deviation if deviation > 0 else np.zeros(len(levels))
    line: Matrix = standardized[:, None] * rise
    return line


def _unbiased(statistics: BinStatistics, scores: WeightedScores, *, keep_bias: bool) -> Vector:
    """Subtract the noise from a spread.

    With `keep_bias`, a replicate still loses half of its noise: the part that resampling adds to
    the bias of the data.
    """
    if not keep_bias:
        return statistics.between - statistics.noise
    return statistics.between - (statistics.noise / 2 if scores.is_replicate else 0.0)
