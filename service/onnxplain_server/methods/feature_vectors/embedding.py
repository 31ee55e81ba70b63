"""Co-occurrence to vectors: a truncated singular value decomposition with fixed signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.feature_vectors.cooccurrence import Cooccurrence

_DENSE = 300
"""Up to so many features, all eigenvalues are found sooner than a few."""
_SHOWN = 6
"""Singular values that are always found, where there are so many: how they fall is worth a look."""
_EQUAL = 1e-9
"""Relative difference below which singular values are rounding apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Vectors of features.

    Attributes
    ----------
    vectors : (n_features, n_dimensions)
        U S. The first component is not negative, as far as that can be; the sum of cubes of
        each further one is positive. Exactly 0 for features that stand near no other.
    singular_values : (n_found,)
        Descending, at least one more than dimensions, where there is one.
    variance_ratio : float
        Variance of the columns of `vectors` over that of the columns counted.
    energy_ratio : float
        The same without subtracting means: squared singular values over the sum of all.
    """

    vectors: Matrix
    singular_values: Vector
    variance_ratio: float
    energy_ratio: float

    @property
    def gap(self) -> float:
        """Last singular value that is used over the next one; infinite where that is 0."""
        count = self.vectors.shape[1]
        if len(self.singular_values) == count:
            return np.inf
        last, following = self.singular_values[count - 1 : count + 1]
        return float(last / following) if following > _EQUAL * last else np.inf


def embed(counted: Cooccurrence, dimension_count: int) -> Embedding:
    """Decompose symmetric counts.

    Parameters
    ----------
    counted : sparse (n_features, n_features)
        Not all 0.
    dimension_count : int
        At most n_features.
    """
    counted = counted.astype(np.float64).tocsr()
    used = np.flatnonzero(np.diff(counted.indptr))
    values, columns = _leading(counted[used][:, used], max(dimension_count + 1, _SHOWN))
    kept = min(dimension_count, len(values))
    vectors = np.zeros((counted.shape[0], dimension_count))
    vectors[used, :kept] = _signed(columns[:, :kept]) * np.abs(values[:kept])
    found = min(counted.shape[0], max(dimension_count + 1, _SHOWN))
    singular = np.zeros(found)
    singular[: len(values)] = np.abs(values)[:found]
    squares = np.asarray(counted.multiply(counted).sum(axis=0)).ravel()
    means = np.asarray(counted.sum(axis=0)).ravel() / len(vectors)
    spread = (squares / len(vectors) - means**2).sum()
    return Embedding(
        vectors,
        singular,
        float(vectors.var(axis=0).sum() / spread) if spread > 0 else np.nan,
        float((singular[:kept] ** 2).sum() / squares.sum()),
    )


def _leading(counted: Cooccurrence, most: int) -> tuple[Vector, Matrix]:
    """Find the eigenvalues of largest magnitude, and their vectors, (n,) and (n_features, n)."""
    size = counted.shape[0]
    if size <= _DENSE:
        values, columns = linalg.eigh(counted.toarray())
    else:
        # Any start will do that is near no eigenvector's orthogonal complement.
        start = 1 + np.cos(np.arange(size)) / 2
        values, columns = eigsh(counted, k=most, which="LM", v0=start)
    # Of singular values that are equal, the one with the positive eigenvalue comes first.
    sizes = np.abs(values) + np.where(values > 0, _EQUAL * np.abs(values).max(), 0.0)
    order = np.argsort(-sizes, kind="stable")[:most]
    return values[order], columns[:, order]


def _signed(columns: Matrix) -> Matrix:
    """Fix the signs of orthonormal columns, by all their entries rather than the largest one."""
    cubes = (columns**3).sum(axis=0)
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0)[0]
    signs = np.sign(np.where(np.abs(cubes) > _EQUAL, cubes, largest))
    signed: Matrix = columns * signs
    return signed
