"""Scores under one weighting of the rows: the data, or a bootstrap replicate of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.firm.bins import Bins, weight_totals
from onnxplain_server.methods.firm.covariance import Covariance, covariance
from onnxplain_server.methods.firm.scores import (
    BinStatistics,
    bin_statistics,
    spread,
    sum_of_squares,
)

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Deviations up to this share of the largest score count as rounding of constant scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Inputs of the closed forms: rows, gradient, and covariance estimator.

    Attributes
    ----------
    names : tuple of str
        Columns of the model, then others that features need.
    rows : (n, n_columns)
    gradient : (n_columns, n_outputs)
        Gradient of the score; 0 for columns the model does not take.
    kind : Covariance
    units : (n_columns,) or None
        What the columns were divided by; None: nothing.
    """

    names: tuple[str, ...]
    rows: Matrix
    gradient: Matrix
    kind: Covariance
    units: Vector | None = None

    def coefficients(self, by_name: dict[str, float]) -> Vector:
        """Arrange coefficients of the rows in column order: (n_columns,)."""
        coefficients = np.array([by_name.get(name, 0.0) for name in self.names])
        return coefficients if self.units is None else coefficients * self.units


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Centred scores with weights, and statistics cached for the data (not for replicates).

    Attributes
    ----------
    centered : (n, n_outputs)
        Scores minus their means.
    weights : (n,)
        Not negative.
    moments : Moments or None
        None unless an estimator needs them.
    is_replicate : bool
    """

    centered: Matrix
    weights: Vector
    moments: Moments | None
    is_replicate: bool = False

    def bin_statistics(self, bins: Bins) -> BinStatistics:
        """Average the scores by bin; memoized unless this is a replicate."""
        if self.is_replicate:
            return self._bin_statistics(bins, weight_totals(bins.codes, bins.count, self.weights))
        if bins not in self._statistics:
            self._statistics[bins] = self._bin_statistics(bins, bins.totals)
        return self._statistics[bins]

    def _bin_statistics(self, bins: Bins, totals: Array) -> BinStatistics:
        return bin_statistics(bins.codes, totals, self.centered, self.weights, self._square)

    @cached_property
    def _square(self) -> Vector:
        """Weighted sum of the squared scores: (n_outputs,)."""
        return sum_of_squares(self.centered, self.weights)

    @cached_property
    def _statistics(self) -> dict[Bins, BinStatistics]:
        return {}

    @cached_property
    def deviations(self) -> Vector:
        """Standard deviations of the scores: (n_outputs,)."""
        return spread(self.centered, self.weights)

    @cached_property
    def mean(self) -> Vector:
        """Means of the columns: (n_columns,)."""
        return np.average(self._moments.rows, axis=0, weights=self.weights)

    @cached_property
    def covariance(self) -> Matrix:
        """Covariances of the columns: (n_columns, n_columns)."""
        return covariance(self._moments.kind, self._moments.rows, self.weights)

    @property
    def _moments(self) -> Moments:
        if self.moments is None:
            raise ValueError("closed forms need moments")
        return self.moments
