"""Occurring patterns: values of leaves that have more patterns than there are rows.

Only patterns that occur are looked at: each one of a row explained, with those of the background
whose failures it satisfies. See `pattern_tables` and `path_tables` for the formulas.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import CountMatrix, Counts, Cube, Int32Matrix, Matrix, Vector
from onnxplain_server.effects.attributing.games import Rules
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import LeafSlots
from onnxplain_server.trees.kernels.compile import inlined, kernel


class Failures(NamedTuple):
    """Distinct sets of players that rows of the background fail, leaf by leaf.

    Attributes
    ----------
    leaf : (n_leaves,)
        The leaves.
    sets, shares : (n_leaves, n_rows)
        As bits, with the share of the rows of each.
    counts : (n_leaves,)
        Number of sets of each leaf; -1 in the path-dependent game, which has none.
    """

    leaf: Counts
    sets: CountMatrix
    shares: Matrix
    counts: Counts


@inlined
def _find_patterns(
    leaves: Any, leaf: int, codes: Any, first: int, count: int, patterns: Any
) -> None:
    """As in `pattern_tables`, of more bits."""
    size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
    for i in range(count):
        patterns[i] = (np.int64(1) << size) - 1
    for condition in range(leaves.leaf_start[leaf], leaves.leaf_start[leaf + 1]):
        own = codes[leaves.feature[condition]]
        kept = ~(np.int64(1) << np.int64(leaves.place[condition]))
        for i in range(count):
            is_met = False
            for r in range(leaves.met.start[condition], leaves.met.start[condition + 1]):
                is_met |= leaves.met.low[r] <= own[first + i] < leaves.met.high[r]
            if not is_met:
                patterns[i] &= kept


@inlined
def _count_bits(pattern: int) -> int:
    count = 0
    while pattern:
        pattern &= pattern - 1
        count += 1
    return count


@kernel
def find_failures(
    a: int, b: int, leaves: LeafPlayers, codes: Int32Matrix, shares: Vector, failures: Failures
) -> None:
    """Find the distinct failures of the background in the leaves from a to b of `failures`."""
    patterns = np.empty(len(shares), np.int64)
    for number in range(a, b):
        leaf = failures.leaf[number]
        _find_patterns(leaves, leaf, codes, 0, len(shares), patterns)
        full = (np.int64(1) << (leaves.player_start[leaf + 1] - leaves.player_start[leaf])) - 1
        sets, sums, count = failures.sets[number], failures.shares[number], 0
        for i in np.argsort(patterns):
            failed = full ^ patterns[i]
            if count == 0 or sets[count - 1] != failed:
                sets[count] = failed
                sums[count] = 0.0
                count += 1
            sums[count - 1] += shares[i]
        failures.counts[number] = count


@inlined
def _sign(failures: int, x: int, p: int) -> int:
    """Return 1 for a player that the background's rows fail alone, -1 for one that x does."""
    if failures >> p & 1:
        return 1
    return 0 if x >> p & 1 else -1


@inlined
def _add_failures(
    x: int, size: int, order: int, sets: Any, shares: Any, moments: Any, values: Any
) -> None:
    """Add up the values of a pattern over the background's sets of failures."""
    failed = size - _count_bits(x)
    for i in range(len(sets)):
        if sets[i] & ~x:
            continue
        own = _count_bits(sets[i])
        slot = 0
        for p in range(size):
            side = _sign(sets[i], x, p)
            if order == 1:
                if side == 1:
                    values[slot] += shares[i] * moments[own - 1, failed]
                elif side == -1:
                    values[slot] -= shares[i] * moments[own, failed - 1]
                slot += 1
                continue
            for q in range(p + 1, size):
                sides = side * _sign(sets[i], x, q)
                if sides:
                    # What two derivatives leave of the powers of t and 1 - t.
                    fewer = 1 if sides == -1 else sides + side
                    left = moments[own - fewer, failed - 2 + fewer]
                    values[slot] += sides * shares[i] * left
                slot += 1


@inlined
def _without(product: float, zeros: int, one: float, other: float) -> Any:
    """As in `path_tables`."""
    left = zeros - (one == 0) - (other == 0)
    if left > 0:
        return 0.0
    return product / ((one if one != 0 else 1.0) * (other if other != 0 else 1.0))


@inlined
def _add_path(x: int, size: int, order: int, ratio: Any, rules: Any, values: Any) -> None:
    """Add up the values of a pattern in the path-dependent game."""
    through = np.empty(size)
    for n in range(rules.start[size], rules.start[size + 1]):
        product, zeros = 1.0, 0
        for p in range(size):
            met = rules.nodes[n] if x >> p & 1 else 0.0
            through[p] = (1 - rules.nodes[n]) * ratio[p] + met
            if through[p] == 0:
                zeros += 1
            else:
                product *= through[p]
        slot = 0
        for p in range(size):
            first = rules.weights[n] * ((x >> p & 1) - ratio[p])
            if order == 1:
                values[slot] += first * _without(product, zeros, through[p], 1.0)
                slot += 1
                continue
            for q in range(p + 1, size):
                both = first * ((x >> q & 1) - ratio[q])
                values[slot] += both * _without(product, zeros, through[p], through[q])
                slot += 1


# Long: most of it documents the parameters.
@kernel
def add_patterns(
    a: int,
    b: int,
    order: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    codes: Int32Matrix,
    failures: Failures,
    moments: Cube,
    ratios: Vector,
    rules: Rules,
    sums: Cube,
) -> None:
    """Add the values of the leaves of `failures` to the rows from a to b.

    Parameters
    ----------
    moments : (most players + 1, n_powers, n_powers)
        Average of t^i (1 - t)^k over the nodes of each rule.
    ratios : (n_leaf_players,)
        In the path-dependent game.
    sums : (n_targets, n_numbers, n_rows)
    """
    patterns = np.empty(b - a, np.int64)
    for number in range(len(failures.leaf)):
        leaf, count = failures.leaf[number], failures.counts[number]
        first_slot, slot_count = slots.start[leaf], slots.start[leaf + 1] - slots.start[leaf]
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        values = np.empty(slot_count)
        _find_patterns(leaves, leaf, codes, a, b - a, patterns)
        last = np.int64(-1)
        for i in np.argsort(patterns):
            if patterns[i] != last:
                values[:] = 0.0
                if count >= 0:
                    sets, shares = failures.sets[number, :count], failures.shares[number, :count]
                    _add_failures(patterns[i], size, order, sets, shares, moments[size], values)
                else:
                    ratio = ratios[leaves.player_start[leaf] :]
                    _add_path(patterns[i], size, order, ratio, rules, values)
                last = patterns[i]
            for k in range(len(sums)):
                value = leaves.values[leaf, k]
                for slot in range(slot_count):
                    sums[k, slots.number[first_slot + slot], a + i] += value * values[slot]
