"""What a grown forest is read for: its counts, taken from the cache where they are known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import sklearn
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
"""Features are compared by many shallow trees: a few deep ones agree too little on the splits near
the root, through which most paths go."""
_MOST_KEPT = 256
"""Features up to which counts are kept: squared, they are half a megabyte."""


Cache: TypeAlias = Callable[[bytes, tuple[int, ...], Callable[[], Matrix]], Matrix]
"""Gives numbers, from the cache or computed: takes a question, which is all that they depend on,
their shape, and what computes them."""


def uncached(_question: bytes, _shape: tuple[int, ...], compute: Callable[[], Matrix]) -> Matrix:
    """Compute without a cache."""
    return compute()


@dataclass(frozen=True, slots=True, eq=False)
class ForestCounts:
    """Counts of a forest.

    Attributes
    ----------
    sentence_count, tree_count : int
        Paths that counted, and trees they are from.
    """

    counted: Cooccurrence
    sentence_count: int
    tree_count: int


@dataclass(frozen=True, slots=True, eq=False)
class ForestGrower:
    """Where forests of one kind are grown.

    Attributes
    ----------
    task : LearningTask
    asked : Encoded or None
        Rows of which the paths are wanted.
    """

    task: LearningTask
    asked: Encoded | None
    growth: Growth
    rule: Rule
    run: Run
    keep: Cache = uncached

    def fit(self) -> Fit:
        """Choose a depth, and tell how well such forests do."""

        def compute() -> Vector:
            found = fit(self.task, self.growth, self.run)
            return np.array([found.depth, found.fidelity])

        depth, fidelity = self.keep(self._question("fit"), (2,), compute)
        return Fit(int(depth), float(fidelity))

    def forest(self, depth: int, seed: int) -> ForestCounts:
        """Grow a forest, and count its paths."""
        size = self.task.feature_count
        if size > _MOST_KEPT:
            return self._grown(depth, seed)
        question = self._question(f"forest, paths that counted {depth} {seed} {self.rule}")
        flat = self.keep(question, (size * size + 2,), lambda: _flat(self._grown(depth, seed)))
        counted = sparse.csr_array(flat[:-2].reshape(size, size).astype(np.int64))
        return ForestCounts(counted, int(flat[-2]), int(flat[-1]))

    def split_pairs(self, depth: int, seed: int) -> Cooccurrence:
        """Grow many shallow trees, and count the pairs of splits by which features compare."""
        size, depth = self.task.feature_count, min(depth, _COMPARED_DEPTH)
        if size > _MOST_KEPT:
            return self._near(depth, seed)
        question = self._question(f"split pairs {_COMPARED_TREES} {depth} {seed} {self.rule}")
        flat = self.keep(
            question, (size * size,), lambda: self._near(depth, seed).toarray().ravel()
        )
        return sparse.csr_array(flat.reshape(size, size).astype(np.int64))

    def _near(self, depth: int, seed: int) -> Cooccurrence:
        grown = grow_trees(self.task, depth, _COMPARED_TREES, seed, self.run, self.asked)
        return split_pairs(grown.paths, self.rule, grown.visits)

    def _grown(self, depth: int, seed: int) -> ForestCounts:
        wanted = self.growth.sentence_count
        grown = grow(self.task, depth, wanted, seed, self.run, self.asked)
        counted = count(grown.paths, self.rule, grown.visits)
        return ForestCounts(counted, *counted_paths(grown.paths, self.rule, grown.visits))

    def _question(self, what: str) -> bytes:
        """Write down all that the numbers depend on; trees are those of a version."""
        told = f"{what} {self.growth} {self.task.is_classes} scikit-learn {sklearn.__version__}"
        digest = hashlib.sha256(told.encode())
        rows = (self.task.rows, *(() if self.asked is None else (self.asked,)))
        arrays: list[Array] = [self.task.target, self.task.weights]
        arrays += [array for encoded in rows for array in (encoded.column_of, encoded.values)]
        for array in arrays:
            digest.update(repr(array.shape).encode() + fingerprint(array))
        return digest.digest()


def _flat(found: ForestCounts) -> Vector:
    """Write a harvest as numbers: counts, row by row, then how many paths and trees."""
    counts = found.counted.toarray().ravel()
    return np.array([*counts, found.sentence_count, found.tree_count], dtype=np.float64)
