"""Co-occurrence counts: pairs of features within a window of splits on decision paths.

All paths through a split share the window that ends there, so it is counted once, times the
number of paths. Time is linear in the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.contract_limits import FeatureVectorsOptions
from onnxplain_server.methods.feature_vectors.paths import Counts, Paths
from onnxplain_server.trees.kernels.compile import kernel

Cooccurrence: TypeAlias = Any
"""Sparse symmetric (n_features, n_features) of int64; scipy has no type stubs."""


class CountingUnit(Enum):
    """Unit in which pairs are counted once."""

    PER_WINDOW = "PER_WINDOW"
    PER_PATH = "PER_PATH"


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
    counting: CountingUnit = CountingUnit[FeatureVectorsOptions.counting.default]
    fill_diagonal: bool = FeatureVectorsOptions.fill_diagonal.default
    min_split_count: int = FeatureVectorsOptions.min_split_count.default


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
    per_window = rule.counting is CountingUnit.PER_WINDOW
    ends, lengths = _ends(
        paths.parent, paths.leaf, weights, rule.window, rule.min_split_count, per_window
    )
    size = int((lengths * (lengths - 1) // 2 if per_window else lengths - 1)[ends > 0].sum())
    first, second = (np.empty(size, dtype=np.int32) for _ in range(2))
    times = np.empty(size, dtype=np.int64)
    pair_count = _pairs(
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


@kernel
def _ends(  # noqa: PLR0917 - compiled functions take no keywords
    parent: Array, leaf: Array, weights: Array, window: int, shortest: int, whole: bool
) -> tuple[Array, Array]:
    """Return, for each split, the number of windows ending there, and their length.

    With `whole`, a window shorter than `window` is counted at the end of its path only.
    """
    ends = np.zeros(len(parent), dtype=np.int64)
    lengths = np.zeros(len(parent), dtype=np.int64)
    for k in range(len(leaf)):
        node, length = parent[leaf[k]], 0
        while node >= 0:
            node, length = parent[node], length + 1
        if length < shortest or weights[k] == 0:
            continue
        node, depth = parent[leaf[k]], length
        while node >= 0:
            lengths[node] = min(depth, window)
            if depth >= window or not whole or depth == length:
                ends[node] += weights[k]
            node, depth = parent[node], depth - 1
    return ends, lengths


@kernel
def _pairs(  # noqa: PLR0917 - likewise
    feature: Array, parent: Array, ends: Array, lengths: Array, per_window: bool, diagonal: bool,
    first: Array, second: Array, times: Array,
) -> int:  # fmt: skip
    """Write the pairs of each window, lower feature first; return the number of pairs."""
    pair_count = 0
    for end in range(len(ends)):
        if ends[end] == 0:
            continue
        start, a = pair_count, end
        for i in range(lengths[end] if per_window else 1):
            b = a
            for _ in range(i, lengths[end] - 1):
                b = parent[b]
                low, high = min(feature[a], feature[b]), max(feature[a], feature[b])
                if low < 0 or (low == high and not diagonal):
                    continue
                is_new = True
                if per_window:
                    for k in range(start, pair_count):
                        if first[k] == low and second[k] == high:
                            is_new = False
                if is_new:
                    first[pair_count], second[pair_count], times[pair_count] = low, high, ends[end]
                    pair_count += 1
            a = parent[a]
    return pair_count
