"""The conditional expectation as a smooth curve: a cubic regression spline.

Its knots lie at quantiles of the feature, so that each stretch holds as many rows.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.firm.scores import BinStatistics

_STRETCHES = 6
_DEGREE = 3
FEWEST_VALUES = 12
"""Distinct values below which there is no curve."""


class Spline:
    """A basis of cubic splines over a feature.

    Parameters
    ----------
    values : (n,)
        At least `FEWEST_VALUES` distinct ones, none missing.
    """

    def __init__(self, values: Vector) -> None:
        self._low, self._span = float(values.min()), float(np.ptp(values))
        places = (values - self._low) / self._span
        inner = np.unique(np.quantile(places, np.linspace(0, 1, _STRETCHES + 1)))
        self._knots: Vector = np.concatenate([np.zeros(_DEGREE), inner, np.ones(_DEGREE)])
        self.basis = self.at(values)

    def at(self, values: Vector) -> Matrix:
        """Evaluate the basis: (n, n_basis)."""
        places = np.clip((values - self._low) / self._span, 0.0, 1.0)
        design: Matrix = BSpline.design_matrix(places, self._knots, _DEGREE).toarray()
        return design

    def fit(self, scores: Matrix, weights: Vector) -> Matrix:
        """Fit by least squares: coefficients, (n_basis, n_outputs)."""
        crossed = (self.basis * weights[:, None]).T
        fitted = np.linalg.lstsq(crossed @ self.basis, crossed @ scores, rcond=1e-12)[0]
        return fitted.astype(np.float64)

    def measure(self, scores: Matrix, weights: Vector) -> BinStatistics:
        """Tell the spread of the curve, as `by_bin` does of bins; `means` are those of rows.

        With H the projection and S the squared weights, the variance of the curve is too
        large by σ² (Σ w_i Var(fit_i) / ΣW - ΣS / (ΣW)²).
        """
        fitted = self.basis @ self.fit(scores, weights)
        shares = weights / weights.sum()
        middle = shares @ fitted
        between = shares @ (fitted - middle) ** 2
        gram = (self.basis * shares[:, None]).T @ self.basis
        squared = (self.basis * (shares**2)[:, None]).T @ self.basis
        taken = float(np.trace(np.linalg.lstsq(gram, squared, rcond=1e-12)[0]))
        freedom = 1.0 - taken
        within = shares @ (scores - fitted) ** 2 / freedom
        noise = within * (taken - float(shares @ shares))
        return BinStatistics(shares, fitted - middle, between, noise, within)
