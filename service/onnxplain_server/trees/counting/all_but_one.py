r"""All-but-one effects F_\j: partial dependence on all features but one, at the rows.

    F_\j(x) = f(x) + Σ over leaves with j of v (q [x meets all but j] − [x meets all])

with q the share of rows that meet the leaf's condition on j. So a row contributes to leaves of
which it misses at most one condition. The kernel finds these for 64 rows at a time:
`none` holds the rows that have missed no condition so far, `one` those that have missed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Cube, Int32Matrix, Int32Vector, Matrix, Vector
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.ranked_rows import RankedRows, SetNumbers
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.small_functions import lowest
from onnxplain_server.trees.reading.ensemble import CellSets

_BLOCK = 8
"""Least words, each of 64 rows, per kernel call."""
_MANY_BLOCKS = 64
"""Calls that divide many rows."""


class _Leaves(NamedTuple):
    """Leaves and their conditions.

    `sets` are positions of bitsets, `share` the share of rows that meet each condition, `slot`
    the position of its feature in the result, or -1, and `width` the most conditions of a leaf.
    """

    start: Int32Vector
    sets: CellSets
    share: Vector
    slot: Int32Vector
    values: Matrix
    width: int


def all_but_one_effects(
    boxes: Boxes, ranked: RankedRows, numbers: SetNumbers, features: Sequence[int], pool: BlockPool
) -> Cube:
    r"""Compute F_\j of several features in one pass over the leaves.

    Returns
    -------
    (n_features, n, n_targets)
    """
    slot = np.full(len(ranked.codes), -1, dtype=np.int32)
    slot[list(features)] = np.arange(len(features))
    share = met_shares(boxes.met, ranked.below)
    width = int(np.diff(boxes.start).max(initial=1))
    effects = np.empty((len(features), len(ranked), boxes.values.shape[1]))
    sets = numbers.to_positions(boxes.met)
    leaves = _Leaves(boxes.start, sets, share, slot[boxes.feature], boxes.values, width)
    n_words = -(-len(ranked) // 64)
    spans = blocks(n_words, max(_BLOCK, n_words // _MANY_BLOCKS))
    codes, position, first_sets = ranked.codes, numbers.position, numbers.start
    pool.run(lambda span: _visit(*span, leaves, codes, position, first_sets, effects), spans)
    return effects


@kernel
def met_shares(met: CellSets, below: Vector) -> Vector:
    """Compute the share of rows that meet each condition: (n_conditions,)."""
    shares = np.zeros(len(met.start) - 1)
    for c in range(len(shares)):
        for run in range(met.start[c], met.start[c + 1]):
            shares[c] += below[met.high[run]] - below[met.low[run]]
    return shares


@inlined
def _fill_bitsets(
    codes: Any, position: Int32Vector, starts: Int32Vector, first: int, last: int, words: Any
) -> None:
    """Build the bitsets of up to 64 rows below each border."""
    words[:] = 0
    for j in range(len(codes)):
        for i in range(first, last):
            words[position[codes[j, i]] + 1] |= np.uint64(1) << np.uint64(i - first)
        for k in range(starts[j] + 1, starts[j + 1]):
            words[k] |= words[k - 1]


@inlined
def _met(words: Any, low: Int32Vector, high: Int32Vector, run: int, stop: int) -> Any:
    """Return the rows in one of the runs from `run` to `stop`."""
    mask = np.uint64(0)
    for each in range(run, stop):
        mask |= words[high[each]] & ~words[low[each]]
    return mask


@inlined
def _bit(word: Any, i: Any, place: Any) -> Any:
    """Return bit i of a word, at another place."""
    return (word >> np.uint64(i) & np.uint64(1)) << np.uint64(place)


@inlined
def _if_bit(word: Any, number: int, place: int) -> Any:
    """Return a word where a number has a bit, or else 0."""
    return word & -np.uint64(number >> place & 1)


@inlined
def _store(sums: Cube, first: int, last: int, effects: Cube) -> None:
    """Store the effects of up to 64 rows, and clear their sums."""
    total = effects.shape[0]
    for j in range(total):
        for i in range(first, last):
            for k in range(effects.shape[2]):
                effects[j, i, k] = sums[i - first, j, k] + sums[i - first, total, k]
    sums[:] = 0.0


# Long: calls would take longer than the steps.
@kernel
def _visit(  # noqa: C901 - calls would take longer than the steps
    a: int, b: int, leaves: _Leaves, codes: Int32Matrix, position: Int32Vector,
    first_sets: Int32Vector, effects: Cube,
) -> None:  # fmt: skip
    """Visit all leaves for the rows in the words from a to b.

    `effects` are (n_features, n, n_targets); in `sums` the last feature holds the sum of the trees.
    """
    starts, (runs, low, high), share, slot, values, width = leaves
    total, n_targets = effects.shape[0], values.shape[1]
    words, sums = np.empty(first_sets[-1], np.uint64), np.zeros((64, total + 1, n_targets))
    higher = np.zeros(max(0, int(np.ceil(np.log2(width + 1))) - 3), np.uint64)
    for word in range(a, b):
        first, last = word << 6, min((word + 1) << 6, codes.shape[1])
        _fill_bitsets(codes, position, first_sets, first, last, words)
        all_rows = ~np.uint64(0) >> np.uint64(64 - (last - first))
        for leaf in range(len(values)):
            start, stop = starts[leaf], starts[leaf + 1]
            none, one = all_rows, np.uint64(0)
            number0 = number1 = number2 = np.uint64(0)
            higher[:] = 0
            for c in range(start, stop):
                mask = _met(words, low, high, runs[c], runs[c + 1])
                missed = none & ~mask
                number0 |= _if_bit(missed, c - start, 0)
                number1 |= _if_bit(missed, c - start, 1)
                number2 |= _if_bit(missed, c - start, 2)
                for bit in range(len(higher)):
                    higher[bit] |= _if_bit(missed, c - start, 3 + bit)
                one = (one & mask) | missed
                none &= mask
                if not none | one:
                    break
            while none:
                i = lowest(none)
                none &= none - np.uint64(1)
                for k in range(n_targets):
                    sums[i, total, k] += values[leaf, k]
                    for c in range(start, stop):
                        if slot[c] >= 0:
                            sums[i, slot[c], k] += values[leaf, k] * (share[c] - 1.0)
            while one:
                i = lowest(one)
                one &= one - np.uint64(1)
                at = _bit(number0, i, 0) | _bit(number1, i, 1) | _bit(number2, i, 2)
                for bit in range(len(higher)):
                    at |= _bit(higher[bit], i, 3 + bit)
                c = np.uint64(start) + at
                for k in range(n_targets if slot[c] >= 0 else 0):
                    sums[i, slot[c], k] += values[leaf, k] * share[c]
        _store(sums, first, last, effects)
