r"""Pattern tables: what a leaf adds to the values of its players, by the pattern of a row.

A row satisfies some of a leaf's players; its pattern has one bit for each. In the interventional
game against rows z, with U[A] the share of those that fail exactly the players A, the leaf's
indicator in the coalition S is 1 where A lies in S, and S in x. Its multilinear extension, with
each player in S with probability t, is a sum over the subsets A of x:

    f(t) = (1 - t)^(d - |x|) Z(x),    Z(x) = Σ over A in x of U[A] t^|A|

Its derivatives along players are differences of Z. Shapley values average them over t in [0, 1],
exactly by Gauss and Legendre's rule, as they are polynomials; Banzhaf values take them at 1/2.
So one transform of 2^d sums for each t serves all rows and players, and a row looks its values up.

In the path-dependent game a player p that is not in S is satisfied with the share r_p of the rows
that take its branches on the leaf's path, whatever the other players are:

    f(t) = Π over p of (t b_p + (1 - t) r_p)

Nadel and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and Unified SHAP Algorithm"
(WOODELF), AAAI 2026, find such patterns; Owen (1972), "Multilinear Extensions of Games".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Counts, Cube, Int32Matrix, Int32Vector, Vector
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.kernels.compile import inlined, kernel

_ROWS = 512
"""Rows whose patterns are found at a time: they stay in the first-level cache."""


class LeafSlots(NamedTuple):
    """Numbers that a leaf adds to: values of its players, or of their pairs.

    Attributes
    ----------
    start : (n_leaves + 1,)
    number : (n_slots,)
        Row of the sums that each belongs to.
    table : (n_slots,)
        Where its table begins, of 2^d numbers.
    """

    start: Counts
    number: Int32Vector
    table: Counts


class NodeRules(NamedTuple):
    """Rules that average derivatives, as kernels take them; see `effects.games.Rules`."""

    nodes: Vector
    weights: Vector
    start: Counts


@inlined
def _find_patterns(
    leaves: Any, leaf: int, codes: Any, first: int, count: int, patterns: Any
) -> None:
    """Find the patterns of rows in a leaf: bit p of each is set where it satisfies player p."""
    size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
    for i in range(count):
        patterns[i] = (1 << size) - 1
    for condition in range(leaves.leaf_start[leaf], leaves.leaf_start[leaf + 1]):
        own = codes[leaves.feature[condition]]
        bit = np.int32(1 << leaves.place[condition])
        run, stop = leaves.met.start[condition], leaves.met.start[condition + 1]
        if stop == run + 1:
            low, span = leaves.met.low[run], np.uint32(leaves.met.high[run] - leaves.met.low[run])
            for i in range(count):
                # As unsigned numbers, cells below the run are larger than all in it.
                outside: Any = np.uint32(own[first + i] - low) >= span
                patterns[i] &= ~(bit * np.int32(outside))
        else:
            for i in range(count):
                is_met = False
                for r in range(run, stop):
                    is_met |= leaves.met.low[r] <= own[first + i] < leaves.met.high[r]
                if not is_met:
                    patterns[i] &= ~bit


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
    for leaf in range(a, b):
        if start[leaf] == start[leaf + 1]:
            continue
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        own = failures[start[leaf] : start[leaf] + (1 << size)]
        full = (1 << size) - 1
        for first in range(0, len(shares), _ROWS):
            count = min(_ROWS, len(shares) - first)
            _find_patterns(leaves, leaf, codes, first, count, patterns)
            for i in range(count):
                own[np.uint32(full ^ patterns[i])] += shares[first + i]


@inlined
def _sum_subsets(sums: Any, size: int) -> None:
    """Replace the number of each set by the sum over its subsets, in place."""
    for p in range(size):
        bit = 1 << p
        for high in range(bit, 1 << size, 2 * bit):
            for x in range(high, high + bit):
                sums[x] += sums[x - bit]


@inlined
def _bit_count(pattern: int, size: int) -> int:
    count = 0
    for p in range(size):
        count += pattern >> p & 1
    return count


@inlined
def _value(x: int, p: int, failed: int, t: float, sums: Any) -> Any:
    """Return the derivative of f along a player at t."""
    bit = 1 << p
    if x & bit:
        return (1 - t) ** failed / t * (sums[x] - sums[x ^ bit])
    return -((1 - t) ** (failed - 1)) * sums[x]


@inlined
def _pair_value(x: int, p: int, q: int, failed: int, t: float, sums: Any) -> Any:
    """Return the mixed derivative of f along two players at t."""
    one, two = 1 << p, 1 << q
    if x & one and x & two:
        both = sums[x] - sums[x ^ one] - sums[x ^ two] + sums[x ^ one ^ two]
        return (1 - t) ** failed / t**2 * both
    if not x & one and not x & two:
        return (1 - t) ** (failed - 2) * sums[x]
    own = one if x & one else two
    return -((1 - t) ** (failed - 1)) / t * (sums[x] - sums[x ^ own])


@kernel
def tabulate_failures(
    a: int,
    b: int,
    order: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    rules: NodeRules,
    start: Counts,
    failures: Vector,
    tables: Vector,
) -> None:
    """Tabulate values of players (order 1) or pairs (order 2) of the leaves from a to b."""
    for leaf in range(a, b):
        if slots.start[leaf] == slots.start[leaf + 1]:
            continue
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        sums = np.empty(1 << size)
        for n in range(rules.start[size], rules.start[size + 1]):
            t = rules.nodes[n]
            for x in range(1 << size):
                sums[x] = failures[start[leaf] + x] * t ** _bit_count(x, size)
            _sum_subsets(sums, size)
            for x in range(1 << size):
                failed = size - _bit_count(x, size)
                slot = slots.start[leaf]
                for p in range(size):
                    if order == 1:
                        tables[slots.table[slot] + x] += rules.weights[n] * _value(
                            x, p, failed, t, sums
                        )
                        slot += 1
                    else:
                        for q in range(p + 1, size):
                            both = _pair_value(x, p, q, failed, t, sums)
                            tables[slots.table[slot] + x] += rules.weights[n] * both
                            slot += 1


@inlined
def _product(x: int, skipped: int, other: int, size: int, t: float, ratio: Any) -> float:
    """Multiply what a path lets through, of all players but one or two."""
    product = 1.0
    for p in range(size):
        if p != skipped and p != other:  # noqa: PLR1714 - compiled
            product *= (1 - t) * ratio[p] + (t if x >> p & 1 else 0.0)
    return product


@kernel
def tabulate_paths(
    a: int,
    b: int,
    order: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    rules: NodeRules,
    ratios: Vector,
    tables: Vector,
) -> None:
    """As `tabulate_failures`, of the path-dependent game; `ratios` has r of each leaf's players."""
    for leaf in range(a, b):
        if slots.start[leaf] == slots.start[leaf + 1]:
            continue
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        ratio = ratios[leaves.player_start[leaf] : leaves.player_start[leaf + 1]]
        for n in range(rules.start[size], rules.start[size + 1]):
            for x in range(1 << size):
                slot = slots.start[leaf]
                for p in range(size):
                    first = (x >> p & 1) - ratio[p]
                    if order == 1:
                        rest = _product(x, p, p, size, rules.nodes[n], ratio)
                        tables[slots.table[slot] + x] += rules.weights[n] * first * rest
                        slot += 1
                    else:
                        for q in range(p + 1, size):
                            both = first * ((x >> q & 1) - ratio[q])
                            rest = _product(x, p, q, size, rules.nodes[n], ratio)
                            tables[slots.table[slot] + x] += rules.weights[n] * both * rest
                            slot += 1


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
                        own, table = sums[k, slots.number[slot]], tables[slots.table[slot] :]
                        for i in range(count):
                            own[first + i] += value * table[np.uint32(patterns[i])]
