r"""Pattern tables: what a leaf adds to the values of its players, by the pattern of a row.

A row satisfies some of a leaf's players; its pattern has one bit for each. In the interventional
game against rows z, with U[A] the share of those that fail exactly the players A, the leaf's
indicator in the coalition S is 1 where A lies in S, and S in x. Its multilinear extension, with
each player in S with probability t, is a sum over the subsets A of x:

    f(t) = (1 - t)^(d - |x|) Z(x),    Z(x) = Σ over A in x of U[A] t^|A|

Its derivatives along players are differences of Z. Shapley values average them over t in [0, 1],
exactly by Gauss and Legendre's rule, as they are polynomials; Banzhaf values take them at 1/2.
So one transform of 2^d sums for each t serves all rows and players, and a row looks its values up.

Nadel and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and Unified SHAP Algorithm"
(WOODELF), AAAI 2026, find such patterns; Owen (1972), "Multilinear Extensions of Games".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Counts, Cube, Int32Matrix, Vector
from onnxplain_server.effects.attributing.games import Rules
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import LeafSlots
from onnxplain_server.trees.kernels.compile import inlined, kernel

_ROWS = 512
"""Rows whose patterns are found at a time: they stay in the first-level cache."""
_LANES = 4
"""Sums side by side, so that one need not wait for the one before of an equal pattern."""


@inlined
def _find_patterns(
    leaves: Any, leaf: int, codes: Any, first: int, count: int, patterns: Any
) -> None:
    """Find the patterns of rows in a leaf: bit p of each is set where it satisfies player p.

    Loops run over slices from 0, so that they are compiled to vector instructions.
    """
    found = patterns[:count]
    found[:] = (1 << (leaves.player_start[leaf + 1] - leaves.player_start[leaf])) - 1
    for condition in range(leaves.leaf_start[leaf], leaves.leaf_start[leaf + 1]):
        own = codes[leaves.feature[condition], first : first + count]
        kept = np.int32(~(1 << leaves.place[condition]))
        run, stop = leaves.met.start[condition], leaves.met.start[condition + 1]
        if stop == run + 1:
            low, span = leaves.met.low[run], np.uint32(leaves.met.high[run] - leaves.met.low[run])
            for i in range(count):
                # As unsigned numbers, cells below the run are larger than all in it.
                found[i] &= kept if np.uint32(own[i] - low) >= span else np.int32(-1)
        else:
            for i in range(count):
                is_met = False
                for r in range(run, stop):
                    is_met |= leaves.met.low[r] <= own[i] < leaves.met.high[r]
                found[i] &= np.int32(-1) if is_met else kept


@kernel
def count_failures(
    a: int,
    b: int,
    leaves: LeafPlayers,
    codes: Int32Matrix,
    shares: Vector,
    start: Counts,
    failures: Vector,
) -> None:
    """Sum the shares of rows by the players that they fail, for the leaves from a to b.

    `failures` has 2^d numbers for each leaf, from `start`.
    """
    patterns = np.empty(_ROWS, np.int32)
    most = 0
    for leaf in range(a, b):
        most = max(most, start[leaf + 1] - start[leaf])
    lanes = np.empty((_LANES, most))
    for leaf in range(a, b):
        size = start[leaf + 1] - start[leaf]
        if size == 0:
            continue
        lanes[:, :size] = 0.0
        for first in range(0, len(shares), _ROWS):
            count = min(_ROWS, len(shares) - first)
            _find_patterns(leaves, leaf, codes, first, count, patterns)
            own = shares[first : first + count]
            for i in range(count):
                lanes[i & (_LANES - 1), np.uint32(patterns[i])] += own[i]
        for x in range(size):
            for lane in range(_LANES):
                failures[start[leaf] + size - 1 - x] += lanes[lane, x]


@inlined
def _sum_subsets(sums: Any, size: int) -> None:
    """Replace the number of each set by the sum over its subsets, in place."""
    for p in range(size):
        bit = 1 << p
        for high in range(0, 1 << size, 2 * bit):
            without, with_bit = sums[high : high + bit], sums[high + bit : high + 2 * bit]
            for x in range(bit):
                with_bit[x] += without[x]


@inlined
def _set_factors(size: int, t: float, weight: float, factors: Any) -> None:
    """Set t^|x| for each pattern x, and weight · (1 - t)^(failed - k) · t^(k - order) for each k.

    `failed` counts the players that a row of the pattern fails. A derivative along `order`
    players, of which it fails k, takes k factors 1 - t from f, and `order` - k factors t from Z.
    """
    order, by_count = len(factors) - 2, np.empty(size + 1)
    counts = np.empty(1 << size, np.int64)
    counts[0] = 0
    for x in range(1, 1 << size):
        counts[x] = counts[x >> 1] + (x & 1)
    for k in range(order + 2):
        own, step = factors[k], t
        power = 1.0
        if k > 0:
            step, power = 1 / (1 - t), weight * t ** (k - 1 - order) * (1 - t) ** (size + 1 - k)
        for count in range(size + 1):
            by_count[count] = power
            power *= step
        for x in range(1 << size):
            own[x] = by_count[counts[x]]


@inlined
def _lay_out_factors(a: int, b: int, order: int, leaves: Any, slots: Any, rules: Any) -> Any:
    """Compute the factors of each node of the rules that the leaves from a to b have.

    Returns
    -------
    start : (n_nodes,)
        Where the factors of a node begin: (order + 2, 2^size) numbers.
    factors : (n_numbers,)
    """
    most = len(rules.start) - 1
    is_used = np.zeros(most, np.bool_)
    for leaf in range(a, b):
        if slots.start[leaf] < slots.start[leaf + 1]:
            is_used[leaves.player_start[leaf + 1] - leaves.player_start[leaf]] = True
    start, end = np.zeros(len(rules.nodes), np.int64), 0
    for size in range(most):
        if is_used[size]:
            for n in range(rules.start[size], rules.start[size + 1]):
                start[n] = end
                end += (order + 2) << size
    factors = np.empty(end)
    for size in range(most):
        if is_used[size]:
            for n in range(rules.start[size], rules.start[size + 1]):
                own = factors[start[n] : start[n] + ((order + 2) << size)]
                own = own.reshape((order + 2, 1 << size))
                _set_factors(size, rules.nodes[n], rules.weights[n], own)
    return start, factors


@inlined
def _add_values(sums: Any, factors: Any, bit: int, table: Any) -> None:
    """Add the derivative along a player, for all patterns."""
    met, failed = factors[0], factors[1]
    for high in range(0, len(sums), 2 * bit):
        one, two = slice(high, high + bit), slice(high + bit, high + 2 * bit)
        without, with_bit = sums[one], sums[two]
        by_failed, by_met = failed[one], met[two]
        below, above = table[one], table[two]
        for x in range(bit):
            below[x] -= by_failed[x] * without[x]
            above[x] += by_met[x] * (with_bit[x] - without[x])


@inlined
def _add_pair_values(sums: Any, factors: Any, one: int, two: int, table: Any) -> None:
    """Add the mixed derivative along two players, for all patterns."""
    for x in range(len(sums)):
        if x & one and x & two:
            both = sums[x] - sums[x ^ one] - sums[x ^ two] + sums[x ^ one ^ two]
            table[x] += factors[0, x] * both
        elif x & one:
            table[x] -= factors[1, x] * (sums[x] - sums[x ^ one])
        elif x & two:
            table[x] -= factors[1, x] * (sums[x] - sums[x ^ two])
        else:
            table[x] += factors[2, x] * sums[x]


@kernel
def tabulate_failures(
    a: int,
    b: int,
    order: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    rules: Rules,
    start: Counts,
    failures: Vector,
    tables: Vector,
) -> None:
    """Tabulate values of players (order 1) or pairs (order 2) of the leaves from a to b."""
    places, numbers = _lay_out_factors(a, b, order, leaves, slots, rules)
    for leaf in range(a, b):
        slot, count = slots.start[leaf], start[leaf + 1] - start[leaf]
        if slot == slots.start[leaf + 1]:
            continue
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        own = failures[start[leaf] : start[leaf + 1]]
        sums = np.empty(count)
        for n in range(rules.start[size], rules.start[size + 1]):
            by_node = numbers[places[n] : places[n] + (order + 2) * count]
            by_node = by_node.reshape((order + 2, count))
            powers, factors = by_node[0], by_node[1:]
            for x in range(count):
                sums[x] = own[x] * powers[x]
            _sum_subsets(sums, size)
            place = slot
            for p in range(size):
                if order == 1:
                    table = tables[slots.table[place] : slots.table[place] + count]
                    _add_values(sums, factors, 1 << p, table)
                    place += 1
                    continue
                for q in range(p + 1, size):
                    table = tables[slots.table[place] : slots.table[place] + count]
                    _add_pair_values(sums, factors, 1 << p, 1 << q, table)
                    place += 1


@kernel
def add_tables(
    a: int,
    b: int,
    first_leaf: int,
    last_leaf: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    codes: Int32Matrix,
    tables: Vector,
    sums: Cube,
) -> None:
    """Add the tables of some leaves to the rows from a to b: (n_targets, n_numbers, n_rows)."""
    patterns = np.empty(_ROWS, np.int32)
    for first in range(a, b, _ROWS):
        count = min(_ROWS, b - first)
        for leaf in range(first_leaf, last_leaf):
            if slots.start[leaf] == slots.start[leaf + 1]:
                continue
            _find_patterns(leaves, leaf, codes, first, count, patterns)
            for k in range(len(sums)):
                value = leaves.values[leaf, k]
                if value != 0:
                    for slot in range(slots.start[leaf], slots.start[leaf + 1]):
                        own = sums[k, slots.number[slot], first : first + count]
                        table = tables[slots.table[slot] :]
                        for i in range(count):
                            own[i] += value * table[np.uint32(patterns[i])]
