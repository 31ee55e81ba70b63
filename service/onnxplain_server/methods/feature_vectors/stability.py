"""How far vectors would move with other trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.feature_vectors.geometry import angles, difference, norms


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Spread over repetitions.

    Attributes
    ----------
    norm_standard_errors, angle_standard_errors_degrees : (n_features,)
        Standard deviations over repetitions.
    rank_correlation : float
        Spearman's, of norms in a repetition with those of the result; the mean. NaN where
        all norms are equal.
    """

    norm_standard_errors: Vector
    angle_standard_errors_degrees: Vector
    rank_correlation: float


def stability(vectors: Matrix, repeats: Sequence[Matrix]) -> Stability:
    """Compare repetitions with the result: turned and mirrored onto it, never stretched.

    Parameters
    ----------
    vectors : (n_features, n_dimensions)
    repeats : sequence of the same, at least 2
    """
    turned = [align(repeat, vectors) for repeat in repeats]
    lengths = np.array([norms(repeat) for repeat in turned])
    moved = np.array([difference(angles(repeat), angles(vectors)) for repeat in turned])
    ranks = [_rank_correlation(norms(vectors), length) for length in lengths]
    # Around the mean direction, which the result need not be.
    spread = difference(moved, _mean_direction(moved))
    return Stability(
        lengths.std(axis=0, ddof=1),
        np.sqrt((spread**2).sum(axis=0) / (len(turned) - 1)),
        float(np.mean(ranks)),
    )


def align(vectors: Matrix, reference: Matrix) -> Matrix:
    """Turn and mirror vectors so that they are nearest to others: orthogonal Procrustes."""
    turn, _ = linalg.orthogonal_procrustes(vectors, reference)
    aligned: Matrix = vectors @ turn
    return aligned


def _rank_correlation(first: Vector, second: Vector) -> float:
    """Spearman's; NaN where all of one are equal, so that there is no order."""
    ranks = [stats.rankdata(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


def _mean_direction(degrees: Matrix) -> Vector:
    turns = np.exp(1j * np.radians(degrees)).mean(axis=0)
    mean: Vector = np.degrees(np.angle(turns))
    return mean
