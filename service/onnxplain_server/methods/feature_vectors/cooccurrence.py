"""How often features stand near each other on decision paths.

Paths are not walked one by one: a window that ends at a split is shared by all paths through
that split, so it is counted once, with their number. Time is linear in the number of splits.
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
"""Sparse symmetric (n_features, n_features) of int64; scipy tells no types."""


class CountingUnit(Enum):
    """What counts once."""

    PER_WINDOW = "PER_WINDOW"
    PER_PATH = "PER_PATH"


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as standing near; see `FeatureVectorsOptions` in the contract.

    Attributes
    ----------
    window : int
        Number of consecutive splits that are near each other.
    counting : CountingUnit
        Each pair of different features once per window, or each pair of positions once per path.
    fill_diagonal : bool
        Whether a feature that stands near itself counts, by 2.
    min_split_count : int
        Shorter paths add nothing. Those shorter than the window are one window otherwise.
    """

    window: int = FeatureVectorsOptions.window.default
    counting: CountingUnit = CountingUnit[FeatureVectorsOptions.counting.default]
    fill_diagonal: bool = FeatureVectorsOptions.fill_diagonal.default
    min_split_count: int = FeatureVectorsOptions.min_split_count.default


def count(paths: Paths, rule: Rule, weights: Counts | None = None) -> Cooccurrence:
    """Count neighbours.

    Parameters
    ----------
    weights : (n_paths,) or None
        How often each path counts; None: once.

    Returns
    -------
    sparse (n_features, n_features)
        Symmetric.
    """
    if weights is None:
        weights = np.ones(len(paths), dtype=np.int64)
    per_window = rule.counting is CountingUnit.PER_WINDOW
    ends, near = _ends(
        paths.parent, paths.leaf, weights, rule.window, rule.min_split_count, per_window
    )
    size = int((near * (near - 1) // 2 if per_window else near - 1)[ends > 0].sum())
    first, second = (np.empty(size, dtype=np.int32) for _ in range(2))
    times = np.empty(size, dtype=np.int64)
    found = _pairs(
        paths.feature, paths.parent, ends, near, per_window, rule.fill_diagonal,
        first, second, times,
    )  # fmt: skip
    shape = (paths.feature_count, paths.feature_count)
    pairs = (times[:found], (first[:found], second[:found]))
    above = sparse.coo_array(pairs, shape=shape).tocsr()
    return above + above.T


def counted_paths(paths: Paths, rule: Rule, weights: Counts | None = None) -> tuple[int, int]:
    """Count the paths that `count` counts, each as often as it counts there, and their trees."""
    if weights is None:
        weights = np.ones(len(paths), dtype=np.int64)
    counts = (weights > 0) & (paths.split_counts() >= rule.min_split_count)
    return int(weights[counts].sum()), len(np.unique(paths.tree[counts]))


@kernel
def _ends(  # noqa: PLR0917 - compiled functions take no keywords
    parent: Array, leaf: Array, weights: Array, window: int, shortest: int, whole: bool
) -> tuple[Array, Array]:
    """For each split, tell how many windows end there, and of how many splits they are.

    With `whole`, a window of fewer splits than asked for ends only where its path does.
    """
    ends = np.zeros(len(parent), dtype=np.int64)
    near = np.zeros(len(parent), dtype=np.int64)
    for k in range(len(leaf)):
        node, length = parent[leaf[k]], 0
        while node >= 0:
            node, length = parent[node], length + 1
        if length < shortest or weights[k] == 0:
            continue
        node, depth = parent[leaf[k]], length
        while node >= 0:
            near[node] = min(depth, window)
            if depth >= window or not whole or depth == length:
                ends[node] += weights[k]
            node, depth = parent[node], depth - 1
    return ends, near


@kernel
def _pairs(  # noqa: PLR0917 - likewise
    feature: Array, parent: Array, ends: Array, near: Array, per_window: bool, diagonal: bool,
    first: Array, second: Array, times: Array,
) -> int:  # fmt: skip
    """Write the pairs in each window, the lower feature first; return their number."""
    found = 0
    for end in range(len(ends)):
        if ends[end] == 0:
            continue
        start, a = found, end
        for i in range(near[end] if per_window else 1):
            b = a
            for _ in range(i, near[end] - 1):
                b = parent[b]
                low, high = min(feature[a], feature[b]), max(feature[a], feature[b])
                if low < 0 or (low == high and not diagonal):
                    continue
                is_new = True
                if per_window:
                    for known in range(start, found):
                        if first[known] == low and second[known] == high:
                            is_new = False
                if is_new:
                    first[found], second[found], times[found] = low, high, ends[end]
                    found += 1
            a = parent[a]
    return found
