"""Moments of series over weighted rows: means and squares about them, added up by blocks.

Each block is centred by itself, and blocks are combined by the differences of their means, so no
large squares are subtracted. Chan, Golub and LeVeque (1983), "Algorithms for Computing the Sample
Variance", The American Statistician 37(3), 242-247. doi:10.1080/00031305.1983.10483115
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.weighted_mean import center, mean


@dataclass(slots=True, eq=False)
class SeriesMoments:
    """Weight, means and squares of series over some rows.

    Attributes
    ----------
    weight : float
    means, squares : (n_series, n_outputs)
        Weighted means, and weighted sums of the squared differences from them.
    """

    weight: float
    means: Matrix
    squares: Matrix

    @classmethod
    def of(cls, series: Sequence[Matrix], weights: Vector) -> SeriesMoments:
        """Compute the moments of series, (n, n_outputs) each, over rows with weights (n,)."""
        weight = float(weights.sum())
        centered = [center(values, weights) for values in series]
        # A mean as the difference that centring has made, which is exact for a constant.
        means = [values[0] - shifted[0] for values, shifted in zip(series, centered, strict=True)]
        squares = [weight * mean(np.square(shifted), weights) for shifted in centered]
        return cls(weight, np.array(means), np.array(squares))

    def add(self, later: SeriesMoments) -> None:
        """Add the moments of the same series over later rows, in place."""
        weight = self.weight + later.weight
        change = later.means - self.means
        self.squares += later.squares + change**2 * (self.weight * (later.weight / weight))
        self.means += change * (later.weight / weight)
        self.weight = weight

    @property
    def mean_squares(self) -> Matrix:
        """Weighted means of the squared differences from the means: (n_series, n_outputs)."""
        return self.squares / self.weight
