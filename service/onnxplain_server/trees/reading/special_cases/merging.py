"""Merged tests: equality tests that onnxruntime merges although they differ.

onnxruntime merges a node and its false child into one test where both test the same column for
equality with an integer from 1 to 32, or 64 for doubles, and their true branches look equal to it.
It compares modes, columns, thresholds and the first weight of leaves, but neither the branch of
missing values nor further weights; of a leaf without weights it takes the next one's. The later of
two merged nodes is ignored, and the weights below it go to the first node of all if that is a leaf.
A small set is such a chain of tests, in the order of its members.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Flags, Indices, Matrix, Vector
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.splits import is_big_set
from onnxplain_server.trees.reading.structure import NodeGraph, describe_node, leaf_positions

_MAX_MERGED = 64
_MAX_COMPARED = 1_000_000
"""Most pairs of nodes to compare; trees that need more are refused."""


def refuse_merged_tests(nodes: Nodes, graph: NodeGraph, values: Matrix) -> None:
    """Refuse trees that onnxruntime evaluates differently from the ONNX definition.

    Parameters
    ----------
    values : (n_nodes, n_targets)
        Weights of leaves.

    Raises
    ------
    RefusedError
        Names the tree and the node.
    """
    node, follower = _neighbours(nodes, graph)
    if not len(node):
        return
    comparison = _Comparison(nodes, graph, _compared_weights(nodes), values)
    loses = nodes.missing_is_true[follower] & ~nodes.missing_is_true[node]
    is_apart = graph.true[node] != graph.true[follower]
    loses |= is_apart & _starts_with_leaf(graph, values)
    doubtful = loses | is_apart
    pairs = (values[doubtful].tolist() for values in (node, follower, loses))
    for i, k, is_lost in zip(*pairs, strict=True):
        if comparison.is_mistaken(graph.true[i], graph.true[k], loses=is_lost):
            raise RefusedError(
                f"the runtime merges {describe_node(nodes, k)} into the node before it, "
                "which leads elsewhere"
            )


def _neighbours(nodes: Nodes, graph: NodeGraph) -> tuple[Indices, Indices]:
    """Find nodes and false children whose tests the runtime may merge: (n,) each."""
    entry, end = nodes.thresholds.copy(), nodes.thresholds.copy()
    is_test = nodes.modes == Mode.EQ
    for place, members in nodes.members.items():
        if len(members) and not is_big_set(members):
            is_test[place] = True
            entry[place], end[place] = members[0], members[-1]
    node = np.flatnonzero(is_test & _can_merge(end))
    follower = graph.false[node]
    is_pair = (is_test & _can_merge(entry))[follower]
    is_pair &= nodes.columns[node] == nodes.columns[follower]
    return node[is_pair], follower[is_pair]


def _starts_with_leaf(graph: NodeGraph, values: Matrix) -> bool:
    """Return whether the first tree is one leaf, also if it is written as a test of two equal ones.

    Trees of this form take up the weights of leaves that are merged away.
    """
    true, false = graph.true[0], graph.false[0]
    if true < 0:
        return True
    are_leaves = graph.true[true] < 0 and graph.true[false] < 0
    return bool(are_leaves and np.array_equal(values[true], values[false]))


def _can_merge(values: Vector) -> Flags:
    can_merge: Flags = (values == np.floor(values)) & (values >= 1) & (values <= _MAX_MERGED)
    return can_merge


def _compared_weights(nodes: Nodes) -> Vector:
    """Return the weight by which the runtime compares each leaf; NaN where it is any: (n_nodes,).

    Weights are sorted by tree and node, and a leaf's is the first that does not come before it.
    """
    rank = np.empty(len(nodes.node_ids), np.intp)
    rank[np.lexsort((nodes.node_ids, nodes.tree_ids))] = np.arange(len(rank))
    owners = rank[leaf_positions(nodes)]
    order = np.argsort(owners, kind="stable")
    return np.append(nodes.weights[order], np.nan)[np.searchsorted(owners[order], rank)]


class _Comparison:
    """Comparison of subtrees: as the runtime compares them, and in full."""

    def __init__(self, nodes: Nodes, graph: NodeGraph, first: Vector, values: Matrix) -> None:
        self._graph = graph
        self._values = values
        self._missing = nodes.missing_is_true
        is_leaf = nodes.modes == Mode.LEAF
        columns = np.where(is_leaf, 0, nodes.columns)  # meaningless at leaves
        numbers = np.where(is_leaf, first, nodes.thresholds)
        self._compared = np.column_stack([nodes.modes, columns, numbers])
        self._is_leaf = is_leaf
        self._is_set = nodes.modes == Mode.MEMBER
        self._is_empty = np.zeros_like(is_leaf)
        self._is_empty[[node for node, members in nodes.members.items() if not len(members)]] = True
        self._budget = _MAX_COMPARED

    def is_mistaken(self, left: np.intp, right: np.intp, *, loses: bool) -> bool:
        """Return whether only the runtime takes two subtrees for equal, or merging loses a test."""
        stack, differs = [(left, right)], loses
        while stack:
            a, b = stack.pop()
            if a == b:
                continue
            self._budget -= 1
            if self._budget < 0:
                raise RefusedError("too many of its subtrees look alike")
            if self._is_leaf[a] != self._is_leaf[b] and not self._is_empty[[a, b]].any():
                return False
            if self._is_set[a] or self._is_set[b]:
                return True  # or not, but then they are not worth the search
            known = ~np.isnan(self._compared[a]) & ~np.isnan(self._compared[b])
            if np.any((self._compared[a] != self._compared[b]) & known):
                return False
            if self._graph.true[a] < 0:
                differs |= bool(np.any(self._values[a] != self._values[b]))
                continue
            differs |= bool(self._missing[a] != self._missing[b])
            stack += [(side[a], side[b]) for side in (self._graph.true, self._graph.false)]
        return differs
