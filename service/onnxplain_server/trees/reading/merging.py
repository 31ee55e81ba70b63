"""Merged tests: equality tests that onnxruntime merges although they differ.

onnxruntime merges a node and its false child into one test where both test the same column for
equality with an integer from 1 to 32, or 64 for doubles, and their true branches look equal to it.
It compares modes, columns, thresholds and the first weight of leaves, but neither the branch of
missing values nor further weights. The later of two merged nodes is ignored.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import RefusedError
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
    first = np.zeros(len(values))
    places = leaf_positions(nodes)[::-1]
    first[places] = nodes.weights[::-1]  # what comes first in the file comes last here
    comparison = _Comparison(nodes, graph, first, values)
    loses = nodes.missing_is_true[follower] & ~nodes.missing_is_true[node]
    doubtful = loses | (graph.true[node] != graph.true[follower])
    pairs = (values[doubtful].tolist() for values in (node, follower, loses))
    for i, k, is_lost in zip(*pairs, strict=True):
        if comparison.is_mistaken(graph.true[i], graph.true[k], loses=is_lost):
            raise RefusedError(
                f"the runtime merges {describe_node(nodes, k)} into the node before it, "
                "which leads elsewhere"
            )


def _neighbours(nodes: Nodes, graph: NodeGraph) -> tuple[Indices, Indices]:
    """Find nodes and false children whose tests the runtime may merge: (n,) each."""
    is_integer = nodes.thresholds == np.floor(nodes.thresholds)
    is_small = (nodes.thresholds >= 1) & (nodes.thresholds <= _MAX_MERGED)
    is_candidate = (nodes.modes == Mode.EQ) & is_integer & is_small
    node = np.flatnonzero(is_candidate)
    follower = graph.false[node]
    is_pair = is_candidate[follower] & (nodes.columns[node] == nodes.columns[follower])
    return node[is_pair], follower[is_pair]


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
            if np.any(self._compared[a] != self._compared[b]):
                return False
            if self._graph.true[a] < 0:
                differs |= bool(np.any(self._values[a] != self._values[b]))
                continue
            differs |= bool(self._missing[a] != self._missing[b])
            stack += [(side[a], side[b]) for side in (self._graph.true, self._graph.false)]
        return differs
