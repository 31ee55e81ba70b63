"""Whether features point where their knockoffs point: the permutation test of section 3.3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.methods.feature_vectors.geometry import angles, difference, norms

_AT_ONCE = 1_000
_BINS = 40


@dataclass(frozen=True, slots=True, eq=False)
class KnockoffCheck:
    """Features beside their knockoffs, in a forest grown on both.

    Attributes
    ----------
    vectors, knockoff_vectors : (n_features, n_dimensions)
    mean_angle_degrees : float
        Between features and their knockoffs, those aside of which one has no vector.
    permuted_mean_angles_degrees : (n_permutations,)
        The same for random pairs among features and knockoffs.
    p_value : float
        Share of the permutations, and the pairs themselves, with as small a mean.
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
        """Count permutations by their mean angles: (n_bins,) and borders (n_bins + 1,)."""
        counts, borders = np.histogram(self.permuted_mean_angles_degrees, _BINS)
        return counts.astype(np.intp), borders


def check(
    vectors: Matrix, knockoff_vectors: Matrix, permutation_count: int, seed: int
) -> KnockoffCheck:
    """Compare the angles of pairs with those of random pairs.

    Parameters
    ----------
    vectors, knockoff_vectors : (n_features, n_dimensions)
    """
    own, fake = angles(vectors), angles(knockoff_vectors)
    both = np.isfinite(own) & np.isfinite(fake)
    pool = np.concatenate([own[both], fake[both]])
    found = _mean_difference(own[both], fake[both])
    random = np.random.default_rng([seed, 4])
    permuted = np.concatenate(
        [
            _permuted(pool, min(_AT_ONCE, permutation_count - start), random)
            for start in range(0, permutation_count, _AT_ONCE)
        ]
    )
    # Rounding must not make pairs smaller than themselves.
    as_small = (permuted <= found + 1e-9).sum()
    return KnockoffCheck(
        vectors,
        knockoff_vectors,
        float(found),
        permuted,
        float((1 + as_small) / (1 + permutation_count)),
    )


def _permuted(pool: Vector, count: int, random: np.random.Generator) -> Vector:
    """Pair at random, several times: the mean of each pairing."""
    shuffled = random.permuted(np.broadcast_to(pool, (count, len(pool))), axis=1)
    half = len(pool) // 2
    means: Vector = _mean_difference(shuffled[:, :half], shuffled[:, half:])
    return means


def _mean_difference(first: Vector, second: Vector) -> Vector:
    means: Vector = np.abs(difference(first, second)).mean(axis=-1)
    return means
