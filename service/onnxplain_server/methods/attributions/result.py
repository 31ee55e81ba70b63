"""Result of attributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.resampling import ReplicatedStatistic, RowUnits, bootstrap


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Values of rows; see `AttributionsResult` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        Features of each player.
    row_indices : (n_rows,)
        Rows of the table; empty where rows were given by their values.
    base_values : (n_outputs,)
    predictions : (n_rows, n_outputs)
    values : (n_rows, n_players, n_outputs)
    standard_errors : (n_rows, n_players, n_outputs)
        No rows where values are exact.
    additivity_errors : (n_outputs,)
        None where values add up to no known sum.
    interactions : (n_rows, n_pairs, n_outputs)
        No pairs for order 1.
    mean_absolute_values, mean_absolute_standard_errors : (n_players, n_outputs)
    names : tuple of str
        Features of the model.
    feature_values : tuple of (n_rows,)
        Values of each of them, as the table has them.
    weighted_row_count : int
        Rows of a weight above 0, which mean absolute values are over.
    are_drawn : bool
        Whether the rows were drawn, and not named or given.
    notes : tuple of Note
    replicates : tuple of ReplicatedStatistic
        Of mean absolute values, where they are kept.
    """

    output_names: tuple[str, ...]
    features: tuple[tuple[str, ...], ...]
    row_indices: Indices
    base_values: Vector
    predictions: Matrix
    values: Cube
    standard_errors: Cube
    additivity_errors: Vector
    interactions: Cube
    mean_absolute_values: Matrix
    mean_absolute_standard_errors: Matrix
    names: tuple[str, ...]
    feature_values: tuple[Array, ...]
    weighted_row_count: int
    are_drawn: bool
    notes: tuple[Note, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()

    @property
    def are_estimated(self) -> bool:
        """Return whether values have standard errors."""
        return len(self.standard_errors) > 0

    @property
    def explained_row_count(self) -> int:
        """Number of rows explained."""
        return len(self.values)

    @property
    def largest_standard_errors(self) -> Vector:
        """Largest standard error of a value: (n_outputs,); none where values are exact."""
        if not self.are_estimated:
            return np.zeros(0)
        largest: Vector = self.standard_errors.max(axis=(0, 1))
        return largest

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions in `features` of the pairs of `interactions`."""
        return list(combinations(range(len(self.features)), 2)) if self.interactions.size else []


def with_replicates(
    result: Result, weights: Vector, units: RowUnits, seed: int, repeat_count: int
) -> Result:
    """Keep replicates of mean absolute values: other weighted means of the same rows.

    Parameters
    ----------
    weights : (n_rows,)
        Case weights of the rows explained.
    units : RowUnits
        Of these rows.
    """
    if not weights.any():
        return result
    drawn = bootstrap(weights, units, seed, range(repeat_count))
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    count = units.effective_count(weights)
    kept = []
    for player, features in enumerate(result.features):
        means = shares @ np.abs(result.values[:, player])
        numbers = np.concatenate([result.mean_absolute_values[player][None], means])
        kind = "MEAN_ABSOLUTE_ATTRIBUTION"
        kept.append(ReplicatedStatistic.of_numbers(kind, features, numbers, count))
    return replace(result, replicates=tuple(kept))


def mean_absolute(values: Cube, weights: Vector) -> tuple[Matrix, Matrix]:
    """Average absolute values over rows by weight, with standard errors as of drawn rows.

    The standard error of a weighted mean of independent rows, sqrt(Σ w² (|φ| - mean)²) over Σ w,
    with the factor n / (n - 1) of the effective number of rows. NaN for a single row, and both
    where all weights are 0.

    Parameters
    ----------
    values : (n_rows, n_players, n_outputs)
    weights : (n_rows,)

    Returns
    -------
    means, standard_errors : (n_players, n_outputs)
    """
    total = weights.sum()
    if total == 0:
        unknown = np.full(values.shape[1:], np.nan)
        return unknown, unknown
    shares = weights / total
    count = 1 / (shares**2).sum()
    means, squares = np.empty(values.shape[1:]), np.empty(values.shape[1:])
    # Of all players at once, a million rows would take three times the memory of the values.
    for player in range(values.shape[1]):
        sizes = np.abs(values[:, player])
        means[player] = shares @ sizes
        squares[player] = shares**2 @ (sizes - means[player]) ** 2
    if count < 1 + 1e-9:
        return means, np.full_like(means, np.nan)
    return means, np.sqrt(squares * count / (count - 1))
