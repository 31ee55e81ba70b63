"""Counts of grown forests, cached by everything that they depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.background import fingerprint
from onnxplain_server.methods.feature_vectors.cooccurrence import (
    Cooccurrence,
    Rule,
    count,
    counted_paths,
)
from onnxplain_server.methods.feature_vectors.encoding import Encoded
from onnxplain_server.methods.feature_vectors.growing import (
    Fit,
    LearningTask,
    Run,
    fit,
    grow,
    grow_trees,
)
from onnxplain_server.methods.feature_vectors.interchange import split_pairs
from onnxplain_server.methods.feature_vectors.options import Growth

_COMPARED_DEPTH = 6
_COMPARED_TREES = 320
"""Trees for comparing features: many shallow ones, since a few deep ones agree too little on the
splits near the root, through which most paths go."""
_MAX_CACHED_FEATURES = 256
"""Largest number of features whose counts are cached: half a megabyte."""


Cache: TypeAlias = Callable[[bytes, tuple[int, ...], Callable[[], Matrix]], Matrix]
"""Function from a cache key, a shape and a computation to numbers of that shape."""


def uncached(_cache_key: bytes, _shape: tuple[int, ...], compute: Callable[[], Matrix]) -> Matrix:
    """Compute without a cache."""
    return compute()


@dataclass(frozen=True, slots=True, eq=False)
class ForestCounts:
    """Co-occurrence counts of a forest.

    Attributes
    ----------
    sentence_count, tree_count : int
        Number of counted paths, and of their trees.
    """

    counted: Cooccurrence
    sentence_count: int
    tree_count: int


@dataclass(frozen=True, slots=True, eq=False)
class ForestGrower:
    """Grower of forests for one task, with cached counts.

    Attributes
    ----------
    task : LearningTask
    selected : Encoded or None
        Selected rows, whose paths count.
    """

    task: LearningTask
    selected: Encoded | None
    growth: Growth
    rule: Rule
    run: Run
    cache: Cache = uncached

    def fit(self) -> Fit:
        """Choose a depth, and measure the fidelity of such forests."""

        def compute() -> Vector:
            fitted = fit(self.task, self.growth, self.run)
            return np.array([fitted.depth, fitted.fidelity])

        depth, fidelity = self.cache(self._cache_key("fit"), (2,), compute)
        return Fit(int(depth), float(fidelity))

    def forest(self, depth: int, seed: int) -> ForestCounts:
        """Grow a forest and count its paths."""
        size = self.task.feature_count
        if size > _MAX_CACHED_FEATURES:
            return self._grown(depth, seed)
        cache_key = self._cache_key(f"forest, paths that counted {depth} {seed} {self.rule}")
        flat = self.cache(cache_key, (size * size + 2,), lambda: _flat(self._grown(depth, seed)))
        counted = sparse.csr_array(flat[:-2].reshape(size, size).astype(np.int64))
        return ForestCounts(counted, int(flat[-2]), int(flat[-1]))

    def split_pairs(self, depth: int, seed: int) -> Cooccurrence:
        """Grow many shallow trees and count the pairs of splits for comparing features."""
        size, depth = self.task.feature_count, min(depth, _COMPARED_DEPTH)
        if size > _MAX_CACHED_FEATURES:
            return self._split_pairs(depth, seed)
        cache_key = self._cache_key(f"split pairs {_COMPARED_TREES} {depth} {seed} {self.rule}")
        flat = self.cache(
            cache_key, (size * size,), lambda: self._split_pairs(depth, seed).toarray().ravel()
        )
        return sparse.csr_array(flat.reshape(size, size).astype(np.int64))

    def _split_pairs(self, depth: int, seed: int) -> Cooccurrence:
        grown = grow_trees(self.task, depth, _COMPARED_TREES, seed, self.run, self.selected)
        return split_pairs(grown.paths, self.rule, grown.visits)

    def _grown(self, depth: int, seed: int) -> ForestCounts:
        sentence_count = self.growth.sentence_count
        grown = grow(self.task, depth, sentence_count, seed, self.run, self.selected)
        counted = count(grown.paths, self.rule, grown.visits)
        return ForestCounts(counted, *counted_paths(grown.paths, self.rule, grown.visits))

    def _cache_key(self, subject: str) -> bytes:
        """Return the digest of all that the numbers depend on, scikit-learn's version included."""
        import sklearn  # noqa: PLC0415 - only some workers have it

        text = f"{subject} {self.growth} {self.task.is_classes} scikit-learn {sklearn.__version__}"
        digest = hashlib.sha256(text.encode())
        rows = (self.task.rows, *(() if self.selected is None else (self.selected,)))
        arrays: list[Array] = [self.task.target, self.task.weights]
        arrays += [array for encoded in rows for array in (encoded.column_of, encoded.values)]
        for array in arrays:
            digest.update(repr(array.shape).encode() + fingerprint(array))
        return digest.digest()


def _flat(counts: ForestCounts) -> Vector:
    """Flatten counts for the cache: row by row, then the numbers of paths and trees."""
    matrix = counts.counted.toarray().ravel()
    return np.array([*matrix, counts.sentence_count, counts.tree_count], dtype=np.float64)
