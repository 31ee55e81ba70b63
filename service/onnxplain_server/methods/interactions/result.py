"""Interaction statistics as ratios of mean squares, with their intervals and p-values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.resampling import ReplicateSpread, Resampling


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A statistic of some features, kept as the two parts of its ratio.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators, denominators : (n_outputs,)
        Mean squares; output unit squared.
    spread : ReplicateSpread or None
        Of the values; None where rows are not resampled.
    p_values : (n_outputs,) or None
        Of the term whose mean square is the numerator; None where it is not tested.
    numerator_errors : (n_outputs,) or None
        Estimated, of interpolation; None where effects are not interpolated.
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector
    spread: ReplicateSpread | None = None
    p_values: Vector | None = None
    numerator_errors: Vector | None = None

    @property
    def values(self) -> Vector:
        """Their ratio; 0 where both are 0."""
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


def ratio(numerators: Array, denominators: Array) -> Array:
    """Divide; 0 where nothing varies, whatever interpolation leaves of a numerator there."""
    divided = (denominators != 0) | np.isnan(numerators)
    return np.divide(numerators, denominators, out=np.zeros_like(numerators), where=divided)
