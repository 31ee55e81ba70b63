"""Knockoff test (section 3.3): permutation test of angles between features and knockoffs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.methods.feature_vectors.geometry import angles, difference, norms

_BLOCK = 1_000
_BINS = 40


@dataclass(frozen=True, slots=True, eq=False)
class KnockoffCheck:
    """Angles of features and their knockoffs, in a forest grown on both.

    Attributes
    ----------
    vectors, knockoff_vectors : (n_features, n_dimensions)
    mean_angle_degrees : float
        Mean over pairs of a feature and its knockoff that both have a vector.
    permuted_mean_angles_degrees : (n_permutations,)
        The same for random pairs of features and knockoffs.
    p_value : float
        Share of permutations, the identity included, with a mean at most as large.
    """

    vectors: Matrix
    knockoff_vectors: Matrix
    mean_angle_degrees: float
    permuted_mean_angles_degrees: Vector
    p_value: float

    @property
    def norms(self) -> Vector:
        """Lengths of the features' vectors."""
        return norms(self.vectors)

    @property
    def knockoff_norms(self) -> Vector:
        """Lengths of the knockoffs' vectors."""
        return norms(self.knockoff_vectors)

    def histogram(self) -> tuple[Indices, Vector]:
        """Return counts of permutations by mean angle, (n_bins,), and borders, (n_bins + 1,)."""
        counts, borders = np.histogram(self.permuted_mean_angles_degrees, _BINS)
        return counts.astype(np.intp), borders


def check(
    vectors: Matrix, knockoff_vectors: Matrix, permutation_count: int, seed: int
) -> KnockoffCheck:
    """Test the angles of pairs against those of random pairs.

    Parameters
    ----------
    vectors, knockoff_vectors : (n_features, n_dimensions)
    """
    real, copies = angles(vectors), angles(knockoff_vectors)
    have_angles = np.isfinite(real) & np.isfinite(copies)
    real, copies = real[have_angles], copies[have_angles]
    pool = np.concatenate([real, copies])
    observed = _mean_difference(real, copies)
    random = np.random.default_rng([seed, 4])
    permuted = np.concatenate(
        [
            _permuted(pool, min(_BLOCK, permutation_count - start), random)
            for start in range(0, permutation_count, _BLOCK)
        ]
    )
    # The margin counts means that are equal up to rounding.
    at_most_count = (permuted <= observed + 1e-9).sum()
    return KnockoffCheck(
        vectors,
        knockoff_vectors,
        float(observed),
        permuted,
        float((1 + at_most_count) / (1 + permutation_count)),
    )


def _permuted(pool: Vector, count: int, random: np.random.Generator) -> Vector:
    """Return the mean difference of each of `count` random pairings."""
    shuffled = random.permuted(np.broadcast_to(pool, (count, len(pool))), axis=1)
    half = len(pool) // 2
    means: Vector = _mean_difference(shuffled[:, :half], shuffled[:, half:])
    return means


def _mean_difference(first: Vector, second: Vector) -> Vector:
    means: Vector = np.abs(difference(first, second)).mean(axis=-1)
    return means
