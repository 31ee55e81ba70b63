"""Tests for equality that onnxruntime merges although they differ.

onnxruntime makes one test of a node and its false child where both ask the same column for
equality with a whole number from 1 to 32, or 64 for doubles, and their true branches are the same
to it. It compares modes, columns, thresholds and the first weight of leaves; it overlooks which way
missing values go, and all further weights. Of what it merges, the later node never counts.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.structure import NodeGraph, describe_node, leaf_positions

_MOST_MERGED = 64
_MOST_COMPARED = 1_000_000
"""Pairs of nodes: trees of which more look alike are refused rather than compared."""


def refuse_merged_tests(nodes: Nodes, links: NodeGraph, values: Matrix) -> None:
    """Refuse trees that onnxruntime reads otherwise than ONNX defines them.

    Parameters
    ----------
    values : (n_nodes, n_targets)
        Weights of leaves.

    Raises
    ------
    RefusedError
        Names the tree and the node.
    """
    node, follower = _neighbours(nodes, links)
    if not len(node):
        return
    first = np.zeros(len(values))
    places = leaf_positions(nodes)[::-1]
    first[places] = nodes.weights[::-1]  # what comes first in the file comes last here
    comparison = _Comparison(nodes, links, first, values)
    loses = nodes.missing_is_true[follower] & ~nodes.missing_is_true[node]
    doubtful = loses | (links.true[node] != links.true[follower])
    pairs = (each[doubtful].tolist() for each in (node, follower, loses))
    for i, k, is_lost in zip(*pairs, strict=True):
        if comparison.is_mistaken(links.true[i], links.true[k], loses=is_lost):
            raise RefusedError(
                f"the runtime takes {describe_node(nodes, k)} for a part of the node before, "
                "which leads elsewhere"
            )


def _neighbours(nodes: Nodes, links: NodeGraph) -> tuple[Indices, Indices]:
    """Nodes and their false children whose tests the runtime may merge: (n,) each."""
    whole = nodes.thresholds == np.floor(nodes.thresholds)
    within = (nodes.thresholds >= 1) & (nodes.thresholds <= _MOST_MERGED)
    asks = (nodes.modes == Mode.EQ) & whole & within
    node = np.flatnonzero(asks)
    follower = links.false[node]
    both = asks[follower] & (nodes.columns[node] == nodes.columns[follower])
    return node[both], follower[both]


class _Comparison:
    """Subtrees by what the runtime compares, and by all that counts."""

    def __init__(self, nodes: Nodes, links: NodeGraph, first: Vector, values: Matrix) -> None:
        self._links = links
        self._values = values
        self._missing = nodes.missing_is_true
        is_leaf = nodes.modes == Mode.LEAF
        columns = np.where(is_leaf, 0, nodes.columns)  # of no meaning at leaves
        numbers = np.where(is_leaf, first, nodes.thresholds)
        self._looks = np.column_stack([nodes.modes, columns, numbers])
        self._left = _MOST_COMPARED

    def is_mistaken(self, one: np.intp, other: np.intp, *, loses: bool) -> bool:
        """Whether two subtrees are the same to the runtime only, or the later node counts."""
        waiting, differs = [(one, other)], loses
        while waiting:
            a, b = waiting.pop()
            if a == b:
                continue
            self._left -= 1
            if self._left < 0:
                raise RefusedError("too many of its subtrees look alike")
            if np.any(self._looks[a] != self._looks[b]):
                return False
            if self._links.true[a] < 0:
                differs |= bool(np.any(self._values[a] != self._values[b]))
                continue
            differs |= bool(self._missing[a] != self._missing[b])
            waiting += [(side[a], side[b]) for side in (self._links.true, self._links.false)]
        return differs
