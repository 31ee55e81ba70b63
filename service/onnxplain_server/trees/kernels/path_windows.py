"""Path windows: runs of consecutive splits on decision paths, and the pairs of features in them."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Counts, Indices, Int32Vector
from onnxplain_server.trees.kernels.compile import kernel


@kernel
def count_windows(
    parent: Int32Vector, leaf: Indices, weights: Counts, window: int, shortest: int, whole: bool
) -> tuple[Counts, Counts]:
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
def list_pairs(
    feature: Int32Vector, parent: Int32Vector, ends: Counts, lengths: Counts, per_window: bool,
    diagonal: bool, first: Int32Vector, second: Int32Vector, times: Counts,
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
