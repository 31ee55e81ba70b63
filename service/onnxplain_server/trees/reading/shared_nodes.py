"""Shared nodes: node graphs expanded to trees, with chains of equality tests joined to one node.

Exporters write "x is 3, 7 or 9" as a chain of equality tests whose true branches share one
subtree. A chain becomes one node, true where any of its tests is. Other shared subtrees are copied
for each parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Flags, Indices
from onnxplain_server.trees.reading.nodes import Nodes
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.structure import NodeGraph, describe_node

Counts = npt.NDArray[np.int64]
"""(n_nodes,)"""

MAX_DEPTH = 4096
"""Far beyond trained trees; every level costs time for every row."""
MAX_NODES = 1_000_000
"""Most nodes of an operator after subtrees are copied."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeStructure:
    """Trees in which each node has one parent.

    Attributes
    ----------
    origin : (n_nodes,)
        Position in the file of each node; copies share it.
    head : (n_file_nodes,)
        Position in the file of the first node of each node's chain, itself without a chain. The
        first node is true where any of the chain is.
    roots : (n_trees,)
        Ascending; the nodes of a tree are contiguous.
    true, false : (n_nodes,)
        Children; -1 at leaves.
    parents : (n_nodes,)
        -1 at roots.
    depth : int
        Most steps from a root to a leaf.
    """

    origin: Indices
    head: Indices
    roots: Indices
    true: Indices
    false: Indices
    parents: Indices
    depth: int

    @property
    def is_joined(self) -> bool:
        """True if any chain has several nodes."""
        return bool(np.any(self.head != np.arange(len(self.head))))


def expand_shared_nodes(nodes: Nodes, graph: NodeGraph, features: Indices) -> TreeStructure:
    """Join chains, and copy other shared subtrees.

    Parameters
    ----------
    features : (n_nodes,)
        Feature that each node compares; -1 at leaves.

    Raises
    ------
    RefusedError
        Where nodes form a cycle, where trees are too deep, or where copies are too many.
    """
    head = _heads(nodes, graph, features)
    joined = _joined(graph, head)
    copies, depth = _copies(nodes, joined, head)
    if copies.max() == 1:
        origin = np.flatnonzero(copies)
        return _structure(origin, head, _numbered(joined, origin), depth)
    if copies.sum() > MAX_NODES:
        raise RefusedError(
            "its trees share subtrees, and written out without sharing they have more than "
            f"{MAX_NODES:,} nodes"
        )
    origin, written = _expand(joined)
    return _structure(origin, head, written, depth)


class _Branches(NamedTuple):
    """Roots, and the children of nodes; -1 at leaves."""

    roots: Indices
    true: Indices
    false: Indices


def _structure(origin: Indices, head: Indices, branches: _Branches, depth: int) -> TreeStructure:
    inner = np.flatnonzero(branches.true >= 0)
    parents = np.full(len(origin), -1, dtype=np.intp)
    parents[branches.true[inner]] = parents[branches.false[inner]] = inner
    return TreeStructure(origin, head, *branches, parents, depth)


def _heads(nodes: Nodes, graph: NodeGraph, features: Indices) -> Indices:
    """Find the first node of each node's chain: (n_nodes,).

    A node continues a chain where it is the false child of one node only, compares the same
    feature as that node, and has the same true child.
    """
    inner = np.flatnonzero(features >= 0)
    follower = graph.false[inner]
    follows = (
        (features[follower] == features[inner])
        & (graph.true[follower] == graph.true[inner])
        & (graph.parent_counts[follower] == 1)
    )
    before = np.arange(len(features))
    before[follower[follows]] = inner[follows]
    head = before
    for _ in range(len(features).bit_length()):  # pointer doubling
        earlier = head[head]
        if np.array_equal(earlier, head):
            break
        head = earlier
    _refuse_cycle(nodes, before[head] != head)
    return head


def _joined(graph: NodeGraph, head: Indices) -> _Branches:
    """Return the branches with chains joined: the first node takes the last one's false child."""
    chained = np.flatnonzero(head != np.arange(len(head)))
    false = graph.false.copy()
    is_last = head[false[chained]] != head[chained]
    false[head[chained[is_last]]] = graph.false[chained[is_last]]
    return _Branches(graph.roots, graph.true, false)


def _copies(nodes: Nodes, branches: _Branches, head: Indices) -> tuple[Counts, int]:
    """Count the paths from a root to each node, and return the length of the longest.

    Nodes are visited in topological order. Counts saturate at `MAX_NODES` + 1; joined nodes have
    none.
    """
    inner = np.flatnonzero((branches.true >= 0) & (head == np.arange(len(head))))
    open_parents = np.bincount(branches.true[inner], minlength=len(head))
    open_parents += np.bincount(branches.false[inner], minlength=len(head))
    if open_parents.max(initial=0) <= 1:
        return _paths(nodes, branches, open_parents)
    copies = np.zeros(len(head), dtype=np.int64)
    level, depth = branches.roots, 0
    copies[level] = 1
    while len(level := level[branches.true[level] >= 0]):
        children = _children(branches, level)
        np.add.at(copies, children, np.tile(copies[level], 2))
        np.add.at(open_parents, children, -1)
        children, depth = np.unique(children), depth + 1
        copies[children] = np.minimum(copies[children], MAX_NODES + 1)
        _check_depth(nodes, children[0], depth)
        level = children[open_parents[children] == 0]
    _refuse_cycle(nodes, open_parents > 0)
    return copies, depth


def _paths(nodes: Nodes, branches: _Branches, parents: Counts) -> tuple[Counts, int]:
    """Count the paths as `_copies` where no node has several parents: one, or none."""
    copies = np.zeros_like(parents)
    level, depth = branches.roots, 0
    copies[level] = 1
    while len(level := level[branches.true[level] >= 0]):
        level, depth = _children(branches, level), depth + 1
        _check_depth(nodes, level[0], depth)
        copies[level] = 1
    _refuse_cycle(nodes, parents > copies)
    return copies, depth


def _check_depth(nodes: Nodes, node: np.intp, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RefusedError(f"{describe_node(nodes, node)} is deeper than {MAX_DEPTH} steps")


def _refuse_cycle(nodes: Nodes, is_cyclic: Flags) -> None:
    if is_cyclic.any():
        raise RefusedError(f"{describe_node(nodes, int(np.argmax(is_cyclic)))} is part of a cycle")


def _numbered(branches: _Branches, origin: Indices) -> _Branches:
    """Renumber nodes by their positions in `origin`, which is ascending."""
    place = np.full(len(branches.true) + 1, -1, dtype=np.intp)  # the last one is for -1
    place[origin] = np.arange(len(origin))
    roots, true, false = branches
    return _Branches(place[roots], place[true[origin]], place[false[origin]])


def _expand(branches: _Branches) -> tuple[Indices, _Branches]:
    """Copy nodes once per path from a root: `origin`, and the branches of the copies."""
    count = len(branches.roots)
    level, tree, start = branches.roots, np.arange(count), 0
    origins, trees, parents = [level], [tree], [np.full(count, -1, dtype=np.intp)]
    while len(inner := np.flatnonzero(branches.true[level] >= 0)):
        parents.append(np.tile(start + inner, 2))
        start += len(level)
        level, tree = _children(branches, level[inner]), np.tile(tree[inner], 2)
        origins.append(level)
        trees.append(tree)
    order = np.argsort(np.concatenate(trees), kind="stable")  # by tree, its root first
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    true, false = (np.full(len(order), -1, dtype=np.intp) for _ in range(2))
    start = count
    for above in parents[1:]:
        half = len(above) // 2
        true[place[above[:half]]] = place[start : start + half]
        false[place[above[half:]]] = place[start + half : start + 2 * half]
        start += 2 * half
    return np.concatenate(origins)[order], _Branches(place[:count], true, false)


def _children(branches: _Branches, inner: Indices) -> Indices:
    """Return true children, then false ones."""
    return np.concatenate([branches.true[inner], branches.false[inner]])
