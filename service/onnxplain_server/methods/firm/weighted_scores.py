"""One weighting of the rows: the data themselves, or a replicate of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.firm.bins import Bins
from onnxplain_server.methods.firm.covariance import Covariance, covariance
from onnxplain_server.methods.firm.scores import BinStatistics, bin_statistics, spread


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What closed forms are made of.

    Attributes
    ----------
    names : tuple of str
        Columns: those of the model, then others that features need.
    rows : (n, n_columns)
    gradient : (n_columns, n_outputs)
        Of the score; 0 for columns that the model does not take.
    kind : Covariance
    """

    names: tuple[str, ...]
    rows: Matrix
    gradient: Matrix
    kind: Covariance

    def coefficients(self, of: dict[str, float]) -> Vector:
        """Put coefficients by name into the order of the columns: (n_columns,)."""
        return np.array([of.get(name, 0.0) for name in self.names])


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores under some weights.

    Attributes
    ----------
    scores : (n, n_outputs)
        Centered.
    weights : (n,)
        Not negative.
    moments : Moments or None
        None where no feature needs them.
    is_replicate : bool
    """

    scores: Matrix
    weights: Vector
    moments: Moments | None
    is_replicate: bool = False

    def bin_statistics(self, bins: Bins) -> BinStatistics:
        """Average the scores by bins; of the data themselves once only."""
        if self.is_replicate:
            return bin_statistics(bins.codes, bins.count, self.scores, self.weights)
        if bins not in self._known:
            self._known[bins] = bin_statistics(bins.codes, bins.count, self.scores, self.weights)
        return self._known[bins]

    @cached_property
    def _known(self) -> dict[Bins, BinStatistics]:
        return {}

    @cached_property
    def deviations(self) -> Vector:
        """Standard deviations of the scores: (n_outputs,)."""
        return spread(self.scores, self.weights)

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
