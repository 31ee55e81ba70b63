"""Group tables: what the leaves of a group add to values, by the outcomes of the group's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.core.arrays import (
    CountMatrix,
    Counts,
    Int32Matrix,
    Matrix,
    Vector,
)
from onnxplain_server.trees.attributing.leaf_groups import MOST_TESTS, LeafGroups
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import LeafSlots
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import FEATURE, LOW, MANY, SPAN, Descent

_ROWS = 512
"""Rows whose patterns are found at a time: they stay in the first-level cache."""
_LANES = 4
"""Sums side by side, so that one need not wait for the one before of an equal pattern."""


def lay_out_groups(
    groups: LeafGroups, leaves: LeafPlayers, slots: LeafSlots, number_count: int
) -> tuple[CountMatrix, LeafSlots]:
    """Lay out the tables of groups: one for each target and number that any of its leaves has.

    Parameters
    ----------
    slots : LeafSlots
        Of the leaves.
    number_count : int
        Numbers of a target.

    Returns
    -------
    targets : (n_leaf_slots, n_targets)
        Slot of the group that each slot of a leaf adds to; -1 where the leaf has no value.
    group_slots : LeafSlots
        Their numbers count those of all targets.
    """
    target_count = leaves.values.shape[1]
    group = np.zeros(len(leaves.values), dtype=np.int64)
    group[groups.leaf] = np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
    leaf = np.repeat(np.arange(len(leaves.values)), np.diff(slots.start))
    numbers = np.arange(target_count) * number_count + slots.number[:, None]
    keys = group[leaf][:, None] * (target_count * number_count) + numbers
    has_value = leaves.values[leaf] != 0
    distinct, places = np.unique(keys[has_value], return_inverse=True)
    targets = np.full(keys.shape, -1, dtype=np.int64)
    targets[has_value] = places
    owner, number = np.divmod(distinct, target_count * number_count)
    start = np.searchsorted(owner, np.arange(len(groups.start))).astype(np.int64)
    table = np.zeros(len(owner) + 1, dtype=np.int64)
    table[1:] = np.cumsum(np.left_shift(1, np.diff(groups.test_start)[owner]))
    return targets, LeafSlots(start, number.astype(np.int32), table)


@inlined
def _find_outcomes(
    groups: Any, group: int, descent: Any, codes: Any, first: int, count: int, patterns: Any
) -> None:
    """Find the outcomes of a group's tests at rows: a bit is 1 inside the test's run of cells."""
    found = patterns[:count]
    found[:] = 0
    for at in range(groups.test_start[group], groups.test_start[group + 1]):
        node, bit = groups.test[at], np.int32(1 << (at - groups.test_start[group]))
        own = codes[descent.nodes[node, FEATURE], first : first + count]
        low, span = descent.nodes[node, LOW], descent.nodes[node, SPAN]
        if span != MANY:
            width = np.uint32(span)
            for i in range(count):
                # As unsigned numbers, cells below the run are larger than all in it.
                found[i] |= bit if np.uint32(own[i] - low) < width else np.int32(0)
        else:
            for i in range(count):
                is_inside = False
                for run in range(descent.truth.start[node], descent.truth.start[node + 1]):
                    is_inside |= descent.truth.low[run] <= own[i] < descent.truth.high[run]
                found[i] |= bit if is_inside else np.int32(0)


@inlined
def _find_leaf_patterns(groups: Any, leaves: Any, leaf: int, count: int, patterns: Any) -> None:
    """Find the patterns of players of a leaf at each pattern of its group."""
    begin, end = leaves.player_start[leaf], leaves.player_start[leaf + 1]
    for x in range(count):
        found = 0
        for slot in range(begin, end):
            found |= (x & groups.mask[slot] == groups.met[slot]) << (slot - begin)
        patterns[x] = found


@kernel
def count_group_failures(
    a: int,
    b: int,
    groups: LeafGroups,
    descent: Descent,
    leaves: LeafPlayers,
    codes: Int32Matrix,
    shares: Vector,
    start: Counts,
    failures: Vector,
) -> None:
    """Sum the shares of rows by the players of leaves that they fail, for the groups from a to b.

    `failures` has 2^d numbers for each leaf, from `start`.
    """
    patterns, leaf_patterns = np.empty(_ROWS, np.int32), np.empty(1 << MOST_TESTS, np.int32)
    lanes = np.empty((_LANES, 1 << MOST_TESTS))
    for group in range(a, b):
        size = 1 << (groups.test_start[group + 1] - groups.test_start[group])
        lanes[:, :size] = 0.0
        for first in range(0, len(shares), _ROWS):
            count = min(_ROWS, len(shares) - first)
            _find_outcomes(groups, group, descent, codes, first, count, patterns)
            own = shares[first : first + count]
            for i in range(count):
                lanes[i & (_LANES - 1), np.uint32(patterns[i])] += own[i]
        for lane in range(1, _LANES):
            lanes[0, :size] += lanes[lane, :size]
        for place in range(groups.start[group], groups.start[group + 1]):
            leaf = groups.leaf[place]
            full = start[leaf + 1] - start[leaf] - 1
            _find_leaf_patterns(groups, leaves, leaf, size, leaf_patterns)
            for x in range(size):
                failures[start[leaf] + (full ^ leaf_patterns[x])] += lanes[0, x]


@kernel
def merge_tables(
    a: int,
    b: int,
    groups: LeafGroups,
    leaves: LeafPlayers,
    slots: LeafSlots,
    tables: Vector,
    targets: CountMatrix,
    group_slots: LeafSlots,
    merged: Vector,
) -> None:
    """Add the tables of leaves, times their values, to those of the groups from a to b.

    Parameters
    ----------
    slots, tables
        Of the leaves.
    targets : (n_leaf_slots, n_targets)
        Slot of the group that each adds to; -1 for none.
    group_slots, merged
        Of the groups: tables of 2^tests numbers.
    """
    patterns = np.empty(1 << MOST_TESTS, np.int32)
    for group in range(a, b):
        size = 1 << (groups.test_start[group + 1] - groups.test_start[group])
        for place in range(groups.start[group], groups.start[group + 1]):
            leaf = groups.leaf[place]
            _find_leaf_patterns(groups, leaves, leaf, size, patterns)
            for slot in range(slots.start[leaf], slots.start[leaf + 1]):
                table = tables[slots.table[slot] :]
                for k in range(targets.shape[1]):
                    if targets[slot, k] < 0:
                        continue
                    begin, value = group_slots.table[targets[slot, k]], leaves.values[leaf, k]
                    own = merged[begin : begin + size]
                    for x in range(size):
                        own[x] += value * table[np.uint32(patterns[x])]


@kernel
def add_group_tables(
    a: int,
    b: int,
    groups: LeafGroups,
    descent: Descent,
    slots: LeafSlots,
    codes: Int32Matrix,
    tables: Vector,
    sums: Matrix,
) -> None:
    """Add the tables of all groups to the rows from a to b: (n_numbers, n_rows)."""
    patterns = np.empty(_ROWS, np.int32)
    for first in range(a, b, _ROWS):
        count = min(_ROWS, b - first)
        for group in range(len(groups.start) - 1):
            _find_outcomes(groups, group, descent, codes, first, count, patterns)
            for slot in range(slots.start[group], slots.start[group + 1]):
                own = sums[slots.number[slot], first : first + count]
                table = tables[slots.table[slot] :]
                for i in range(count):
                    own[i] += table[np.uint32(patterns[i])]
