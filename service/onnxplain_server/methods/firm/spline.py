"""Cubic regression spline: a smooth estimate of the conditional expectation.

Knots are quantiles of the feature, so that each interval holds as many rows; or where these
coincide, quantiles of its distinct values, since one value of most rows would leave no others.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline

from onnxplain_server.core.arrays import Matrix, Vector, unit_of_squares
from onnxplain_server.methods.firm.scores import BinStatistics, mean_and_variance

_INTERVALS = 6
_DEGREE = 3
MIN_VALUES = 12
"""Least number of distinct values for a spline."""


class Spline:
    """B-spline basis over a feature.

    Parameters
    ----------
    values : (n,)
        At least `MIN_VALUES` distinct ones, none missing.
    """

    def __init__(self, values: Vector) -> None:
        self._unit = float(unit_of_squares(values))
        scaled = values / self._unit
        self._low, self._span = float(scaled.min()), float(np.ptp(scaled))
        places = (scaled - self._low) / self._span
        shares = np.linspace(0, 1, _INTERVALS + 1)
        inner = np.unique(np.quantile(places, shares))
        if len(inner) < len(shares):
            inner = np.unique(np.quantile(np.unique(places), shares))
        self._knots: Vector = np.concatenate([np.zeros(_DEGREE), inner, np.ones(_DEGREE)])
        self.basis = self.at(values)

    def at(self, values: Vector) -> Matrix:
        """Evaluate the basis: (n, n_basis)."""
        places = np.clip((values / self._unit - self._low) / self._span, 0.0, 1.0)
        design: Matrix = BSpline.design_matrix(places, self._knots, _DEGREE).toarray()
        return design

    def fit(self, scores: Matrix, weights: Vector) -> Matrix:
        """Fit by least squares: coefficients, (n_basis, n_outputs)."""
        crossed = (self.basis * weights[:, None]).T
        fitted = np.linalg.lstsq(crossed @ self.basis, crossed @ scores, rcond=1e-12)[0]
        return fitted.astype(np.float64)

    def measure(self, scores: Matrix, weights: Vector) -> BinStatistics:
        """Measure the spread of the curve, as `bin_statistics` that of bins; `means` are per row.

        With H the projection and S the squared weights, the variance of the curve is too
        large by σ² (Σ w_i Var(fit_i) / ΣW - ΣS / (ΣW)²). `noise` is NaN where the spline passes
        through the few rows that hold nearly all the weight, which leaves no residuals.
        """
        fitted = self.basis @ self.fit(scores, weights)
        shares = weights / weights.sum()
        mean, between = mean_and_variance(fitted, shares)
        gram = (self.basis * shares[:, None]).T @ self.basis
        squared = (self.basis * (shares**2)[:, None]).T @ self.basis
        used = float(np.trace(np.linalg.lstsq(gram, squared, rcond=1e-12)[0]))
        freedom = 1.0 - used
        with np.errstate(divide="ignore", invalid="ignore"):
            within = shares @ (scores - fitted) ** 2 / freedom
            noise = within * (used - float(shares @ shares))
        return BinStatistics(shares, fitted - mean, between, noise, within)
