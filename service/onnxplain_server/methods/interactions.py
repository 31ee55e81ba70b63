"""Interaction statistics of Friedman and Popescu: which features act together, how strongly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Vector


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute; see `InteractionsOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        At least two; resolved, never empty.
    pairwise_feature_count, threeway_feature_count : int
        How many of the features that interact most enter pairs and triples.
    quantile_bin_count : int
        0, or the number of quantile bins that replace dense features.
    absolute_threshold : float or None
        Numerators below it count as 0; None: relative to the predictions.
    """

    features: tuple[str, ...]
    pairwise_feature_count: int = 5
    threeway_feature_count: int = 0
    quantile_bin_count: int = 0
    absolute_threshold: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A statistic of some features, kept as the two parts of its ratio.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators, denominators : (n_outputs,)
        Mean squares; output unit squared.
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector

    @property
    def values(self) -> Vector:
        """Their ratio; 0 where both are 0."""
        share = np.zeros_like(self.numerators)
        nothing = (self.numerators == 0) & (self.denominators == 0)
        with np.errstate(divide="ignore"):
            return np.divide(self.numerators, self.denominators, out=share, where=~nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Statistics of every order, in table order; see `InteractionsResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
    mean_squares : (n_outputs,)
        Mean squares of the centred predictions; output unit squared.
    total : Statistic
    overall, pairwise, threeway, importance : tuple of Statistic
    """

    output_names: tuple[str, ...]
    mean_squares: Vector
    total: Statistic
    overall: tuple[Statistic, ...]
    pairwise: tuple[Statistic, ...]
    threeway: tuple[Statistic, ...]
    importance: tuple[Statistic, ...]
