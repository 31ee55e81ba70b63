"""Stability of vectors: spread over repetitions with other trees, after alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.feature_vectors.geometry import angles, difference, norms


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Spread of vectors over repetitions.

    Attributes
    ----------
    norm_standard_errors, angle_standard_errors_degrees : (n_features,)
        Standard deviations over repetitions.
    rank_correlation : float
        Mean Spearman correlation of the norms in repetitions with those of the result; NaN if
        all norms are equal.
    """

    norm_standard_errors: Vector
    angle_standard_errors_degrees: Vector
    rank_correlation: float


def stability(vectors: Matrix, repeats: Sequence[Matrix]) -> Stability:
    """Compare repetitions with the result, after rotation and reflection onto it.

    Parameters
    ----------
    vectors : (n_features, n_dimensions)
    repeats : sequence of the same, at least 2
    """
    aligned = [align(repeat, vectors) for repeat in repeats]
    lengths = np.array([norms(repeat) for repeat in aligned])
    moved = np.array([difference(angles(repeat), angles(vectors)) for repeat in aligned])
    ranks = [_rank_correlation(norms(vectors), length) for length in lengths]
    # Around the mean direction of the repetitions, not the result's.
    spread = difference(moved, _mean_direction(moved))
    return Stability(
        lengths.std(axis=0, ddof=1),
        np.sqrt((spread**2).sum(axis=0) / (len(aligned) - 1)),
        float(np.mean(ranks)),
    )


def align(vectors: Matrix, reference: Matrix) -> Matrix:
    """Rotate and reflect vectors onto a reference: orthogonal Procrustes."""
    rotation, _ = linalg.orthogonal_procrustes(vectors, reference)
    aligned: Matrix = vectors @ rotation
    return aligned


def _rank_correlation(first: Vector, second: Vector) -> float:
    """Return Spearman's correlation; NaN if either is constant."""
    ranks = [_ranks(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Vector) -> Vector:
    """Return the ranks from 1; equal values share the mean of theirs."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Vector = (np.cumsum(counts) - (counts - 1) / 2)[position]
    return ranks


def _mean_direction(degrees: Matrix) -> Vector:
    turns = np.exp(1j * np.radians(degrees)).mean(axis=0)
    mean: Vector = np.degrees(np.angle(turns))
    return mean
