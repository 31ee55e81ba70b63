"""Depth of trees, counted level by level without recursion; deep trees crash onnxruntime."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices


def tree_depth(children: Indices, limit: int) -> int | None:
    """Count the levels of the deepest tree.

    Parameters
    ----------
    children : (n_nodes, 2)
        Indices of nodes; -1 for none. Several nodes may share a child, as in LightGBM's sets of
        categories: the longest path counts.
    limit : int
        Stop beyond this level: `limit` + 1 stands for any deeper tree.

    Returns
    -------
    int or None
        None if nodes lie on a cycle. Cost: O(n_nodes), and a step per level.
    """
    parent_count = np.bincount(children[children >= 0], minlength=len(children))
    level: Indices = np.flatnonzero(parent_count == 0)
    is_shared = parent_count.max(initial=0) > 1
    seen_count = depth = 0
    while len(level) and depth <= limit:
        seen_count, depth = seen_count + len(level), depth + 1
        below = children[level]
        level = _next_level(below, parent_count) if is_shared else below[below >= 0]
    return depth if seen_count == len(children) or depth > limit else None


def _next_level(children: Array, parent_count: Array) -> Indices:
    """Return the children whose parents have all been visited."""
    reached, counts = np.unique(children[children >= 0], return_counts=True)
    parent_count[reached] -= counts
    level: Indices = reached[parent_count[reached] == 0]
    return level
