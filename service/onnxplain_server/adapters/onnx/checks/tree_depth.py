"""Depth of trees, counted level by level: recursion is what kills onnxruntime."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices


def tree_depth(children: Indices, limit: int) -> int | None:
    """Count the levels of the deepest tree.

    Parameters
    ----------
    children : (n_nodes, 2)
        Indices of nodes; -1 for none. Several nodes may share a child, as LightGBM's sets of
        categories have it: the longest way counts.
    limit : int
        Where to stop: `limit` + 1 stands for anything deeper.

    Returns
    -------
    int or None
        None where nodes lie on a cycle. Cost: O(n_nodes), and a step per level.
    """
    parent_count = np.bincount(children[children >= 0], minlength=len(children))
    level: Indices = np.flatnonzero(parent_count == 0)
    seen = depth = 0
    while len(level) and depth <= limit:
        seen, depth = seen + len(level), depth + 1
        level = _next(children[level], parent_count)
    return depth if seen == len(children) or depth > limit else None


def _next(below: Array, parent_count: Array) -> Indices:
    """Children of which all parents have been seen."""
    reached, times = np.unique(below[below >= 0], return_counts=True)
    parent_count[reached] -= times
    following: Indices = reached[parent_count[reached] == 0]
    return following
