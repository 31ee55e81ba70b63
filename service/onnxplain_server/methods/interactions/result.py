"""Result of interactions: ratios of mean squares, with intervals and p-values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.resampling import (
    Conclusion,
    ReplicatedStatistic,
    ReplicateSpread,
    Resampling,
)


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """Statistic of some features, stored as numerator and denominator.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators, denominators : (n_outputs,)
        Mean squares; output unit squared.
    spread : ReplicateSpread or None
        Spread of the values; None without resampling.
    p_values : (n_outputs,) or None
        Of the term whose mean square is the numerator; None if not tested.
    numerator_errors : (n_outputs,) or None
        Estimated interpolation errors; None without interpolation.
    numerator_spread : ReplicateSpread or None
        Spread of the numerators; None without resampling.
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector
    spread: ReplicateSpread | None = None
    p_values: Vector | None = None
    numerator_errors: Vector | None = None
    numerator_spread: ReplicateSpread | None = None

    @property
    def values(self) -> Vector:
        """Ratio of numerators and denominators; 0 if both are 0."""
        return ratio(self.numerators, self.denominators)


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
    resampling : Resampling
    notes : tuple of Note
    conclusions : tuple of Conclusion
        Ranks of features by importance, and the strongest pair; empty without bootstrap replicates.
    replicates : tuple of ReplicatedStatistic
        Where they are kept.
    """

    output_names: tuple[str, ...]
    mean_squares: Vector
    total: Statistic
    overall: tuple[Statistic, ...]
    pairwise: tuple[Statistic, ...]
    threeway: tuple[Statistic, ...]
    importance: tuple[Statistic, ...]
    resampling: Resampling = field(default_factory=Resampling)
    notes: tuple[Note, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()


def ratio(numerators: Array, denominators: Array) -> Array:
    """Divide; 0 for a denominator of 0, even if interpolation leaves a numerator. NaN is kept."""
    is_defined = (denominators != 0) | np.isnan(numerators)
    with np.errstate(invalid="ignore"):  # infinite parts, told by SQUARES_OUT_OF_RANGE
        return np.divide(numerators, denominators, out=np.zeros_like(numerators), where=is_defined)
