"""Node graph: children and roots by position, validated before anything traverses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Counts, Indices, sorted_distinct
from onnxplain_server.trees.reading.nodes import Ids, Mode, Nodes
from onnxplain_server.trees.reading.refusal import RefusedError


@dataclass(frozen=True, slots=True, eq=False)
class NodeGraph:
    """Children of nodes by position in the file; a node may have several parents.

    Attributes
    ----------
    roots : (n_trees,)
        Ascending.
    true, false : (n_nodes,)
        Children; -1 at leaves.
    parent_counts : (n_nodes,)
        Number of branches to a node; 0 at roots only.
    """

    roots: Indices
    true: Indices
    false: Indices
    parent_counts: Indices


def link_nodes(nodes: Nodes, column_count: int) -> NodeGraph:
    """Find children and roots.

    Raises
    ------
    RefusedError
        Names the tree and the node.
    """
    _check_columns(nodes, column_count)
    keys = _Keys(nodes)
    inner = np.flatnonzero(nodes.modes != Mode.LEAF)
    true, false = (np.full(len(nodes.node_ids), -1, dtype=np.intp) for _ in range(2))
    true[inner] = keys.find(nodes.tree_ids[inner], nodes.true_ids[inner], inner)
    false[inner] = keys.find(nodes.tree_ids[inner], nodes.false_ids[inner], inner)
    counts = np.bincount(true[inner], minlength=len(true))
    counts += np.bincount(false[inner], minlength=len(true))
    return NodeGraph(_roots(nodes, counts), true, false, counts)


def leaf_positions(nodes: Nodes) -> Indices:
    """Return the position of the node that gives each weight: (n_weights,)."""
    return _Keys(nodes).find(nodes.leaf_tree_ids, nodes.leaf_node_ids)


class KeyIndex:
    """Index of keys; those of a file are usually ascending, and then need no sorting.

    Parameters
    ----------
    keys : (n,)
        Two keys of a tree differ as their node ids do. At least one.
    """

    def __init__(self, keys: Counts) -> None:
        self._keys = keys

    @cached_property
    def _order(self) -> Indices | None:
        """Positions in the order of their keys; None where they are ascending."""
        if np.all(self._keys[1:] >= self._keys[:-1]):
            return None
        return np.argsort(self._keys, kind="stable")

    @cached_property
    def _sorted(self) -> Counts:
        return self._keys if self._order is None else self._keys[self._order]

    @property
    def repeated(self) -> Indices:
        """Positions of keys that occur again."""
        places = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        return places if self._order is None else self._order[places]

    def find(self, targets: Counts, referrers: Indices | None = None) -> Indices:
        """Return the positions of keys: (n_targets,), -1 for a key that does not exist.

        Parameters
        ----------
        targets : (n_targets,)
        referrers : (n_targets,), optional
            Positions of nodes of the same trees. Where ids count the nodes of a tree, a target
            is as many positions from them as their ids differ, and nothing is searched.
        """
        if referrers is None:
            return self._search(targets)
        last = len(self._keys) - 1
        positions = (referrers + (targets - self._keys[referrers])).clip(0, last)
        others = np.flatnonzero(self._keys[positions] != targets)
        if len(others):
            positions[others] = self._search(targets[others])
        return positions

    def _search(self, targets: Counts) -> Indices:
        places = np.searchsorted(self._sorted, targets).clip(max=len(self._sorted) - 1)
        is_missing = self._sorted[places] != targets
        positions: Indices = places if self._order is None else self._order[places]
        positions[is_missing] = -1
        return positions


class _Keys:
    """Index of nodes by tree and node id."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._trees = sorted_distinct(nodes.tree_ids)
        self._least = int(nodes.node_ids.min())
        self._span = int(nodes.node_ids.max()) - self._least + 1
        if len(self._trees) * self._span >= 2**62:
            raise RefusedError("its node ids are too large")
        keys = self._keys(np.searchsorted(self._trees, nodes.tree_ids), nodes.node_ids)
        self._index = KeyIndex(keys)
        if len(repeated := self._index.repeated):
            raise RefusedError(f"{describe_node(nodes, repeated[0])} occurs twice")

    def _keys(self, tree: Indices, node_ids: Ids) -> Ids:
        return tree.astype(np.int64) * self._span + (node_ids - self._least)

    def find(self, tree_ids: Ids, node_ids: Ids, referrers: Indices | None = None) -> Indices:
        """Return positions; `referrers` are the nodes to name in the error for a missing one."""
        tree = np.searchsorted(self._trees, tree_ids).clip(max=len(self._trees) - 1)
        inside = (node_ids >= self._least) & (node_ids < self._least + self._span)
        keys = self._keys(tree, np.where(inside, node_ids, self._least))
        positions = self._index.find(keys, referrers)
        exists = inside & (self._trees[tree] == tree_ids) & (positions >= 0)
        if not exists.all():
            i = int(np.argmin(exists))
            referrer = (
                "a leaf's weight" if referrers is None else describe_node(self._nodes, referrers[i])
            )
            raise RefusedError(
                f"{referrer} refers to node {node_ids[i]} of tree {tree_ids[i]}, "
                "which does not exist"
            )
        return positions


def _check_columns(nodes: Nodes, column_count: int) -> None:
    inner = nodes.modes != Mode.LEAF
    wrong = inner & ((nodes.columns < 0) | (nodes.columns >= column_count))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise RefusedError(
            f"{describe_node(nodes, i)} compares column {nodes.columns[i]} of {column_count}"
        )
    wrong = inner & np.isnan(nodes.thresholds) & (nodes.modes != Mode.MEMBER)
    if wrong.any():
        raise RefusedError(
            f"{describe_node(nodes, int(np.argmax(wrong)))} has a threshold that is NaN"
        )


def _roots(nodes: Nodes, parent_counts: Indices) -> Indices:
    """Return the roots: the first node of each tree, as in the runtime."""
    starts = np.flatnonzero(np.append(True, nodes.tree_ids[1:] != nodes.tree_ids[:-1]))
    if len(np.unique(nodes.tree_ids[starts])) < len(starts):
        raise RefusedError("the nodes of some of its trees do not stand together")
    wrong = parent_counts[starts] > 0
    if wrong.any():
        raise RefusedError(
            f"{describe_node(nodes, starts[np.argmax(wrong)])} comes first, but is no root"
        )
    others = np.setdiff1d(np.flatnonzero(parent_counts == 0), starts)
    if len(others):
        raise RefusedError(f"{describe_node(nodes, others[0])} is no child of any node")
    return starts


def describe_node(nodes: Nodes, position: int | np.intp) -> str:
    """Name a node by its tree, for a reason."""
    return f"tree {nodes.tree_ids[position]}, node {nodes.node_ids[position]}"
