"""Embedding of co-occurrence: truncated singular value decomposition with fixed signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.feature_vectors.cooccurrence import Cooccurrence

_DENSE = 300
"""Number of features up to which a dense solver is faster than a sparse one."""
_MIN_VALUES = 6
"""Least number of singular values computed, to show their decay."""
_EQUAL = 1e-9
"""Relative difference of singular values due to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Embedding of features.

    Attributes
    ----------
    vectors : (n_features, n_dimensions)
        U S. The first component is non-negative as far as possible; the sum of cubes of each
        further one is positive. Exactly 0 for features without co-occurrence.
    singular_values : (n_found,)
        Descending; at least one more than dimensions, if there is one.
    variance_ratio : float
        Variance of the columns of `vectors` over that of the columns of counts.
    energy_ratio : float
        The same without centring: squared singular values over the sum of all.
    """

    vectors: Matrix
    singular_values: Vector
    variance_ratio: float
    energy_ratio: float

    @property
    def gap(self) -> float:
        """Last used singular value over the next one; infinite if that is 0."""
        count = self.vectors.shape[1]
        if len(self.singular_values) == count:
            return np.inf
        last, next_value = self.singular_values[count - 1 : count + 1]
        return float(last / next_value) if next_value > _EQUAL * last else np.inf


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
    values, columns = _leading(counted[used][:, used], max(dimension_count + 1, _MIN_VALUES))
    rank = min(dimension_count, len(values))
    vectors = np.zeros((counted.shape[0], dimension_count))
    vectors[used, :rank] = _signed(columns[:, :rank]) * np.abs(values[:rank])
    value_count = min(counted.shape[0], max(dimension_count + 1, _MIN_VALUES))
    singular = np.zeros(value_count)
    singular[: len(values)] = np.abs(values)[:value_count]
    squares = np.asarray(counted.multiply(counted).sum(axis=0)).ravel()
    means = np.asarray(counted.sum(axis=0)).ravel() / len(vectors)
    spread = (squares / len(vectors) - means**2).sum()
    return Embedding(
        vectors,
        singular,
        float(vectors.var(axis=0).sum() / spread) if spread > 0 else np.nan,
        float((singular[:rank] ** 2).sum() / squares.sum()),
    )


def _leading(counted: Cooccurrence, count: int) -> tuple[Vector, Matrix]:
    """Return the eigenvalues of largest magnitude and their vectors: (n,), (n_features, n)."""
    size = counted.shape[0]
    if size <= _DENSE:
        values, columns = linalg.eigh(counted.toarray())
    else:
        # A fixed start vector, not orthogonal to any leading eigenvector, for reproducibility.
        start = 1 + np.cos(np.arange(size)) / 2
        values, columns = eigsh(counted, k=count, which="LM", v0=start)
    # Of equal singular values, the one with the positive eigenvalue comes first.
    sizes = np.abs(values) + np.where(values > 0, _EQUAL * np.abs(values).max(), 0.0)
    order = np.argsort(-sizes, kind="stable")[:count]
    return values[order], columns[:, order]


def _signed(columns: Matrix) -> Matrix:
    """Fix the signs of orthonormal columns by their sums of cubes; near 0, by the largest entry."""
    cubes = (columns**3).sum(axis=0)
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0)[0]
    signs = np.sign(np.where(np.abs(cubes) > _EQUAL, cubes, largest))
    signed: Matrix = columns * signs
    return signed
