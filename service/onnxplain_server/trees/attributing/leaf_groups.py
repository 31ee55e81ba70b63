"""Leaf groups: leaves below one node, which share the patterns of its tests and of those above it.

All leaves of a group are looked up at once, by the outcomes of all nodes on their paths: so the
work for a row falls with the leaves of a group, while tables grow with its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Counts, Flags, Int32Vector
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import slot_counts_of, spans_of
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.kernels.descent import INSIDE, Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

MOST_TESTS = 8
"""Nodes of a group and above it."""


class LeafGroups(NamedTuple):
    """Leaves by group, as kernels take them.

    Attributes
    ----------
    start : (n_groups + 1,)
        Group g has the leaves leaf[start[g]] to leaf[start[g + 1]].
    leaf : (n_grouped,)
    test_start : (n_groups + 1,)
    test : (n_tests,)
        Nodes whose outcomes are the bits of a group's patterns, 1 inside their run of cells.
    mask, met : (n_leaf_players,)
        A leaf's player is satisfied where a pattern has the bits `met` in those of `mask`.
    """

    start: Counts
    leaf: Int32Vector
    test_start: Counts
    test: Int32Vector
    mask: Int32Vector
    met: Int32Vector


def find_leaf_groups(
    ensemble: Ensemble,
    descent: Descent,
    leaves: LeafPlayers,
    player_of: Int32Vector,
    is_asked: Flags,
) -> LeafGroups:
    """Group leaves below the highest nodes whose tests, with those above, are few.

    Parameters
    ----------
    player_of : (n_features,)
        Player of each feature.
    is_asked : (n_leaves,)
        Leaves to group; others, and those on long paths, are in no group.
    """
    count = len(ensemble.feature)
    depth, size = np.zeros(count, np.int32), np.zeros(count, np.int32)
    _measure(ensemble.feature, ensemble.parent, depth, size)
    top = np.full(count, -1, dtype=np.int32)
    _find_tops(ensemble.parent, depth, size, MOST_TESTS, top)
    groups, roots = _empty_groups(ensemble, leaves, top, depth + size, is_asked)
    place = np.zeros(count, np.int32)
    parts = ensemble.feature, ensemble.parent, size, top
    _list_tests(roots, *parts, place, groups)
    _set_bits(ensemble.leaf, *parts, descent, player_of, leaves, place, groups)
    return groups


def _empty_groups(
    ensemble: Ensemble,
    leaves: LeafPlayers,
    top: Int32Vector,
    test_counts: Int32Vector,
    is_asked: Flags,
) -> tuple[LeafGroups, Int32Vector]:
    """Lay out groups, still without tests and bits, and the nodes above their leaves."""
    asked = np.flatnonzero(is_asked & (top[ensemble.leaf] >= 0))
    tops = top[ensemble.leaf[asked]]
    leaf = asked[np.argsort(tops, kind="stable")].astype(np.int32)
    roots, counts = np.unique(tops, return_counts=True)
    test_start = _starts(test_counts[roots].astype(np.int64))
    tests = np.empty(int(test_start[-1]), np.int32)
    mask, met = np.zeros((2, len(leaves.player)), np.int32)
    return LeafGroups(_starts(counts), leaf, test_start, tests, mask, met), roots


def parts_of_groups(groups: LeafGroups, leaves: LeafPlayers, order: int) -> Iterator[LeafGroups]:
    """Divide groups so that the tables of each part fit into memory."""
    counts = leaves.counts[groups.leaf]
    slots = slot_counts_of(counts, order)
    ends = np.append(0, np.cumsum(np.left_shift(slots, counts)))[groups.start]
    for first, last in spans_of(ends):
        leaf, test = groups.start[first : last + 1], groups.test_start[first : last + 1]
        yield groups._replace(
            start=leaf - leaf[0],
            leaf=groups.leaf[leaf[0] : leaf[-1]],
            test_start=test - test[0],
            test=groups.test[test[0] : test[-1]],
        )


def _starts(counts: Counts) -> Counts:
    start = np.zeros(len(counts) + 1, dtype=np.int64)
    start[1:] = np.cumsum(counts)
    return start


@kernel
def _measure(
    feature: Int32Vector, parent: Int32Vector, depth: Int32Vector, size: Int32Vector
) -> None:
    """Count the nodes above each node, and the tests from each node down."""
    for node in range(len(feature)):
        above = parent[node]
        if feature[node] >= 0:
            size[node] += 1
        while above >= 0:
            depth[node] += 1
            if feature[node] >= 0:
                size[above] += 1
            above = parent[above]


@kernel
def _find_tops(
    parent: Int32Vector, depth: Int32Vector, size: Int32Vector, most: int, top: Int32Vector
) -> None:
    """Find the highest node above each one, or itself, with few enough tests and some."""
    for node in range(len(parent)):
        above = node
        while above >= 0 and depth[above] + size[above] <= most:
            if size[above] > 0:
                top[node] = above
            above = parent[above]


@kernel
def _list_tests(
    roots: Int32Vector,
    feature: Int32Vector,
    parent: Int32Vector,
    size: Int32Vector,
    top: Int32Vector,
    place: Int32Vector,
    groups: LeafGroups,
) -> None:
    """List the tests of groups: those below, whose places are kept, then those above."""
    group_of = np.full(len(parent), -1, np.int32)
    for group in range(len(roots)):
        group_of[roots[group]] = group
    filled = np.zeros(len(roots), np.int32)
    for node in range(len(parent)):
        if feature[node] >= 0 and top[node] >= 0 and group_of[top[node]] >= 0:
            group = group_of[top[node]]
            place[node] = filled[group]
            groups.test[groups.test_start[group] + filled[group]] = node
            filled[group] += 1
    for group in range(len(roots)):
        above, at = parent[roots[group]], groups.test_start[group] + size[roots[group]]
        while above >= 0:
            groups.test[at] = above
            above, at = parent[above], at + 1


@kernel
def _set_bits(
    leaf: Int32Vector,
    feature: Int32Vector,
    parent: Int32Vector,
    size: Int32Vector,
    top: Int32Vector,
    descent: Descent,
    player_of: Int32Vector,
    leaves: LeafPlayers,
    place: Int32Vector,
    groups: LeafGroups,
) -> None:
    """Set the bits by which each leaf's players are satisfied."""
    for own in groups.leaf:
        node, root = leaf[own], top[leaf[own]]
        above_root = 0
        while parent[node] >= 0:
            test = parent[node]
            bit = place[test]
            if top[test] != root:
                bit = size[root] + above_root
                above_root += 1
            player = player_of[feature[test]]
            for slot in range(leaves.player_start[own], leaves.player_start[own + 1]):
                if leaves.player[slot] == player:
                    groups.mask[slot] |= 1 << bit
                    if descent.nodes[test, INSIDE] == node:
                        groups.met[slot] |= 1 << bit
            node = test
