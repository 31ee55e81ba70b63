"""Co-occurrence counts: pairs of features within a window of splits on decision paths.

All paths through a split share the window that ends there, so it is counted once, times the
number of paths. Time is linear in the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from onnxplain_server.core.arrays import Counts
from onnxplain_server.core.contract_limits import FeatureVectorsOptions
from onnxplain_server.methods.feature_vectors.paths import Paths
from onnxplain_server.trees.kernels.path_windows import count_windows, list_pairs

Cooccurrence: TypeAlias = Any
"""Sparse symmetric (n_features, n_features) of int64; scipy has no type stubs."""


CountingUnit: TypeAlias = FeatureVectorsOptions.Counting
"""Unit in which pairs are counted once."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Counting rule of co-occurrence; see `FeatureVectorsOptions` in the contract.

    Attributes
    ----------
    window : int
        Number of consecutive splits in a window.
    counting : CountingUnit
        Each pair of different features once per window, or each pair of positions once per path.
    fill_diagonal : bool
        Whether a feature co-occurs with itself, counted twice.
    min_split_count : int
        Paths with fewer splits are ignored. Others shorter than the window are one window.
    """

    window: int = FeatureVectorsOptions.window.default
    counting: CountingUnit = FeatureVectorsOptions.counting.default
    fill_diagonal: bool = FeatureVectorsOptions.fill_diagonal.default
    min_split_count: int = FeatureVectorsOptions.min_split_count.default

    @property
    def per_window(self) -> bool:
        """Return whether pairs are counted by window, and not by path."""
        match self.counting:
            case CountingUnit.PER_WINDOW:
                return True
            case CountingUnit.PER_PATH:
                return False


def count(paths: Paths, rule: Rule, weights: Counts | None = None) -> Cooccurrence:
    """Count co-occurrences.

    Parameters
    ----------
    weights : (n_paths,) or None
        Count of each path; None: 1.

    Returns
    -------
    sparse (n_features, n_features)
        Symmetric.
    """
    if weights is None:
        weights = np.ones(len(paths), dtype=np.int64)
    per_window = rule.per_window
    ends, lengths = count_windows(
        paths.parent, paths.leaf, weights, rule.window, rule.min_split_count, per_window
    )
    size = int((lengths * (lengths - 1) // 2 if per_window else lengths - 1)[ends > 0].sum())
    first, second = (np.empty(size, dtype=np.int32) for _ in range(2))
    times = np.empty(size, dtype=np.int64)
    pair_count = list_pairs(
        paths.feature, paths.parent, ends, lengths, per_window, rule.fill_diagonal,
        first, second, times,
    )  # fmt: skip
    shape = (paths.feature_count, paths.feature_count)
    pairs = (times[:pair_count], (first[:pair_count], second[:pair_count]))
    above = sparse.coo_array(pairs, shape=shape).tocsr()
    return above + above.T


def counted_paths(paths: Paths, rule: Rule, weights: Counts | None = None) -> tuple[int, int]:
    """Return the number of paths that `count` uses, by their weights, and of their trees."""
    if weights is None:
        weights = np.ones(len(paths), dtype=np.int64)
    counts = (weights > 0) & (paths.split_counts() >= rule.min_split_count)
    return int(weights[counts].sum()), len(np.unique(paths.tree[counts]))
