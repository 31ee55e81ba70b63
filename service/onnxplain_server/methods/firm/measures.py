"""The estimators: each bound to a feature, ready for any weights of the rows.

A measure gives `raw` numbers whose average over replicates is that of the data:
importances where these are signed, else their squares, since a square can be freed of
its bias, and its root cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.firm import gaussian
from onnxplain_server.methods.firm.bins import Bins
from onnxplain_server.methods.firm.language import Linear, Threshold
from onnxplain_server.methods.firm.options import Estimator
from onnxplain_server.methods.firm.scores import BinStatistics, slope
from onnxplain_server.methods.firm.spline import Spline
from onnxplain_server.methods.firm.weighted_scores import Moments, WeightedScores


class BoundEstimator(Protocol):
    """An estimator bound to a feature."""

    @property
    def estimator(self) -> Estimator:
        """Its name."""

    @property
    def is_signed(self) -> bool:
        """Whether `raw` gives importances, and not their squares."""

    def raw(self, draw: WeightedScores) -> Vector:
        """Measure under some weights: (n_outputs,)."""

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:
        """Expected scores, minus that of all rows, at values: (n_levels, n_outputs)."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoValued:
    """Difference of two means times the root of p (1 - p): Equation 10; exact."""

    bins: Bins
    estimator = Estimator.TWO_VALUED
    is_signed = True

    def raw(self, draw: WeightedScores) -> Vector:
        """See `BoundEstimator.raw`; positive where the larger value has the larger score."""
        found = draw.bin_statistics(self.bins)
        low, high = found.shares
        if not low * high:
            return np.zeros(draw.scores.shape[1])
        difference: Vector = (found.means[1] - found.means[0]) * np.sqrt(low * high)
        return difference

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:  # noqa: ARG002 - those of the bins
        """See `BoundEstimator.curve`."""
        return draw.bin_statistics(self.bins).means


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """Spread of the means of bins, freed of what means of few rows scatter."""

    bins: Bins
    keep_bias: bool
    estimator = Estimator.BINNED
    is_signed = False

    def raw(self, draw: WeightedScores) -> Vector:
        """See `BoundEstimator.raw`."""
        return _unbiased(draw.bin_statistics(self.bins), draw, keep_bias=self.keep_bias)

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:  # noqa: ARG002 - those of the bins
        """See `BoundEstimator.curve`."""
        return draw.bin_statistics(self.bins).means


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """Spread of a regression spline, freed of what it follows the noise."""

    spline: Spline
    keep_bias: bool
    estimator = Estimator.SMOOTH
    is_signed = False

    def raw(self, draw: WeightedScores) -> Vector:
        """See `BoundEstimator.raw`."""
        found = self.spline.measure(draw.scores, draw.weights)
        return _unbiased(found, draw, keep_bias=self.keep_bias)

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:
        """See `BoundEstimator.curve`."""
        fitted = self.spline.at(levels) @ self.spline.fit(draw.scores, draw.weights)
        return fitted - np.average(draw.scores, axis=0, weights=draw.weights)


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """Rise of the regression line over one standard deviation of the feature."""

    values: Vector
    estimator = Estimator.SLOPE
    is_signed = True

    def raw(self, draw: WeightedScores) -> Vector:
        """See `BoundEstimator.raw`."""
        return slope(self.values, draw.scores, draw.weights)

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:
        """See `BoundEstimator.curve`."""
        shares = draw.weights / draw.weights.sum()
        unit = np.abs(self.values).max() or 1.0  # so that no square overflows
        values = self.values / unit
        mean = shares @ values
        deviation = np.sqrt(shares @ (values - mean) ** 2)
        return _line(levels / unit, mean, deviation, self.raw(draw))


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """The closed form for Gaussian columns, of a sum of columns or a threshold of one."""

    form: Linear | Threshold
    moments: Moments
    estimator: Estimator

    @property
    def is_signed(self) -> bool:
        """Equation 9 has no sign."""
        return self.estimator is Estimator.GAUSSIAN

    def raw(self, draw: WeightedScores) -> Vector:
        """See `BoundEstimator.raw`."""
        signed = self._signed(draw)
        return signed if self.is_signed else signed**2

    def _signed(self, draw: WeightedScores) -> Vector:
        linear = self.form.linear if isinstance(self.form, Threshold) else self.form
        coefficients = self.moments.coefficients(dict(linear.coefficients))
        gradient = self.moments.gradient
        if isinstance(self.form, Linear):
            return gaussian.of_sum(coefficients, draw.covariance, gradient)
        above = gaussian.of_threshold(
            coefficients, linear.constant, draw.mean, draw.covariance, gradient
        )
        return above if self.form.is_above else -above

    def curve(self, draw: WeightedScores, levels: Array) -> Matrix:
        """See `BoundEstimator.curve`."""
        linear = self.form.linear if isinstance(self.form, Threshold) else self.form
        coefficients = self.moments.coefficients(dict(linear.coefficients))
        deviation = float(np.sqrt(coefficients @ draw.covariance @ coefficients))
        mean = float(coefficients @ draw.mean) + linear.constant
        if isinstance(self.form, Linear):
            return _line(levels, mean, deviation, self._signed(draw))
        rising = gaussian.of_sum(coefficients, draw.covariance, self.moments.gradient)
        above = gaussian.mean_above(-mean / deviation if deviation else 0.0)
        below = -gaussian.mean_above(mean / deviation if deviation else 0.0)
        holds, fails = (above, below) if self.form.is_above else (below, above)
        return np.where(levels[:, None] == 1, holds * rising, fails * rising)


def _line(levels: Array, mean: float, deviation: float, rise: Vector) -> Matrix:
    """Evaluate a line through 0 at the mean, with its rise over one standard deviation."""
    places = (levels - mean) / deviation if deviation > 0 else np.zeros(len(levels))
    line: Matrix = places[:, None] * rise
    return line


def _unbiased(found: BinStatistics, draw: WeightedScores, *, keep_bias: bool) -> Vector:
    """Take the noise from a spread.

    Where the bias is to stay, a replicate still loses the part of its own that it has on top
    of the data's, which is half of it.
    """
    if not keep_bias:
        return found.between - found.noise
    return found.between - (found.noise / 2 if draw.is_replicate else 0.0)
