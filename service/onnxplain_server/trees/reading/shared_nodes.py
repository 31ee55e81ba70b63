"""Nodes with several parents, written out as trees: chains of tests become one condition.

Exporters write "x is 3, 7 or 9" as a chain of tests for equality whose true branches share one
subtree. A chain is read as one node, true where any of its tests is. What is shared otherwise is
copied for each of its parents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Indices
from onnxplain_server.trees.reading.nodes import Nodes
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.structure import NodeGraph, describe_node

Counts = npt.NDArray[np.int64]
"""(n_nodes,)"""

MAX_DEPTH = 4096
"""Far beyond what training gives; every step down costs time for every row."""
MAX_NODES = 1_000_000
"""Of an operator's trees, where some of them are copies."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeStructure:
    """Trees, each node with one parent.

    Attributes
    ----------
    origin : (n_nodes,)
        Position in the file of each node; several for one that was copied.
    head : (n_file_nodes,)
        Position in the file of the first node of each node's chain: itself for most. Where any
        of a chain is true, its first node is.
    roots : (n_trees,)
        Ascending; each tree's nodes stand together.
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
        """Whether there are chains of several nodes."""
        return bool(np.any(self.head != np.arange(len(self.head))))


def expand_shared_nodes(nodes: Nodes, links: NodeGraph, features: Indices) -> TreeStructure:
    """Join chains, and copy what other nodes share.

    Parameters
    ----------
    features : (n_nodes,)
        What each node looks at; -1 at leaves.

    Raises
    ------
    RefusedError
        Where nodes form a cycle, where trees are too deep, or where copies are too many.
    """
    head = _heads(nodes, links, features)
    joined = _joined(links, head)
    copies, depth = _copies(nodes, joined, head)
    if copies.max() == 1:
        origin = np.flatnonzero(copies)
        return _structure(origin, head, _numbered(joined, origin), depth)
    if copies.sum() > MAX_NODES:
        raise RefusedError(
            "its trees share subtrees, and written out without sharing they have more than "
            f"{MAX_NODES:,} nodes"
        )
    origin, written = _written_out(joined)
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


def _heads(nodes: Nodes, links: NodeGraph, features: Indices) -> Indices:
    """Find the first node of each node's chain: (n_nodes,).

    A node follows another where it is its false child and no one else's, looks at the same
    feature, and has the same true child.
    """
    inner = np.flatnonzero(features >= 0)
    follower = links.false[inner]
    follows = (
        (features[follower] == features[inner])
        & (links.true[follower] == links.true[inner])
        & (links.parent_counts[follower] == 1)
    )
    before = np.arange(len(features))
    before[follower[follows]] = inner[follows]
    head = before
    for _ in range(len(features).bit_length()):  # every turn goes back twice as far
        earlier = head[head]
        if np.array_equal(earlier, head):
            break
        head = earlier
    astray = before[head] != head
    if astray.any():
        raise RefusedError(f"{describe_node(nodes, int(np.argmax(astray)))} is part of a cycle")
    return head


def _joined(links: NodeGraph, head: Indices) -> _Branches:
    """Branches by position in the file, a chain's first node going on where its last one does."""
    chained = np.flatnonzero(head != np.arange(len(head)))
    false = links.false.copy()
    is_last = head[false[chained]] != head[chained]
    false[head[chained[is_last]]] = links.false[chained[is_last]]
    return _Branches(links.roots, links.true, false)


def _copies(nodes: Nodes, branches: _Branches, head: Indices) -> tuple[Counts, int]:
    """Count the ways from a root to each node, and the steps of the longest.

    Level by level, each node after all of its parents. Counts end at `MAX_NODES` + 1; those of
    nodes that were joined to others are 0.
    """
    copies, waiting = np.zeros((2, len(head)), dtype=np.int64)
    inner = np.flatnonzero((branches.true >= 0) & (head == np.arange(len(head))))
    np.add.at(waiting, _children(branches, inner), 1)
    level, depth = branches.roots, 0
    copies[level] = 1
    while len(level := level[branches.true[level] >= 0]):
        children = _children(branches, level)
        np.add.at(copies, children, np.tile(copies[level], 2))
        np.add.at(waiting, children, -1)
        children, depth = np.unique(children), depth + 1
        copies[children] = np.minimum(copies[children], MAX_NODES + 1)
        if depth > MAX_DEPTH:
            raise RefusedError(
                f"{describe_node(nodes, children[0])} is deeper than {MAX_DEPTH} steps"
            )
        level = children[waiting[children] == 0]
    if waiting.any():
        raise RefusedError(
            f"{describe_node(nodes, int(np.argmax(waiting > 0)))} is part of a cycle"
        )
    return copies, depth


def _numbered(branches: _Branches, origin: Indices) -> _Branches:
    """Number nodes anew, by their places in `origin`, which is ascending."""
    place = np.full(len(branches.true) + 1, -1, dtype=np.intp)  # the last one is for -1
    place[origin] = np.arange(len(origin))
    roots, true, false = branches
    return _Branches(place[roots], place[true[origin]], place[false[origin]])


def _written_out(branches: _Branches) -> tuple[Indices, _Branches]:
    """Copy nodes, once for every way from a root: `origin`, and the branches of the copies."""
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
    """True children, then false ones."""
    return np.concatenate([branches.true[inner], branches.false[inner]])
