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
from onnxplain_server.trees.kernels.compile import inlined, kernel, lowest
from onnxplain_server.trees.reading.ensemble import CellSets

_BLOCK = 8
"""Words, each of 64 rows, per kernel call."""


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
    sets = numbers.to_positions(boxes.met)
    leaves = _Leaves(boxes.start, sets, share, slot[boxes.feature], boxes.values, width)
    positions = numbers.position[ranked.codes]
    effects = np.zeros((len(ranked), len(features) + 1, boxes.values.shape[1]))
    spans = blocks(-(-len(ranked) // 64), _BLOCK)
    pool.run(lambda span: _visit(*span, leaves, positions, numbers.start, effects), spans)
    effects[:, :-1] += effects[:, -1:]
    return effects[:, :-1].swapaxes(0, 1)


@kernel
def met_shares(met: CellSets, below: Vector) -> Vector:
    """Compute the share of rows that meet each condition: (n_conditions,)."""
    shares = np.zeros(len(met.start) - 1)
    for c in range(len(shares)):
        for run in range(met.start[c], met.start[c + 1]):
            shares[c] += below[met.high[run]] - below[met.low[run]]
    return shares


@inlined
def _fill_bitsets(positions: Any, starts: Int32Vector, first: int, last: int, words: Any) -> None:
    """Build the bitsets of up to 64 rows below each border."""
    words[:] = 0
    for j in range(len(positions)):
        for i in range(first, last):
            words[positions[j, i] + 1] |= np.uint64(1) << np.uint64(i - first)
        for k in range(starts[j] + 1, starts[j + 1]):
            words[k] |= words[k - 1]


# Long: calls would take longer than the steps.
@kernel
def _visit(  # noqa: C901 - calls would take longer than the steps
    a: int, b: int, leaves: _Leaves, positions: Int32Matrix, first_sets: Int32Vector, effects: Cube
) -> None:
    """Visit all leaves for the rows in the words from a to b.

    `effects` are (n, n_features + 1, n_targets); the last feature holds the sum of the trees.
    """
    starts, (runs, low, high), share, slot, values, width = leaves
    total, n_targets = effects.shape[1] - 1, values.shape[1]
    words, met = np.empty(first_sets[-1], np.uint64), np.empty(width, np.uint64)
    for word in range(a, b):
        first, last = word << 6, min((word + 1) << 6, positions.shape[1])
        _fill_bitsets(positions, first_sets, first, last, words)
        all_rows = ~np.uint64(0) >> np.uint64(64 - (last - first))
        for leaf in range(len(values)):
            start, stop = starts[leaf], starts[leaf + 1]
            none, one = all_rows, np.uint64(0)
            for c in range(start, stop):
                mask = np.uint64(0)
                for run in range(runs[c], runs[c + 1]):
                    mask |= words[high[run]] & ~words[low[run]]
                met[c - start] = mask
                one = (one & mask) | (none & ~mask)
                none &= mask
                if not none | one:
                    break
            while none:
                i = first + lowest(none)
                none &= none - np.uint64(1)
                for k in range(n_targets):
                    effects[i, total, k] += values[leaf, k]
                    for c in range(start, stop):
                        if slot[c] >= 0:
                            effects[i, slot[c], k] += values[leaf, k] * (share[c] - 1.0)
            for c in range(start, stop if one else start):
                missed = one & ~met[c - start] if slot[c] >= 0 else np.uint64(0)
                while missed:
                    i = first + lowest(missed)
                    missed &= missed - np.uint64(1)
                    for k in range(n_targets):
                        effects[i, slot[c], k] += values[leaf, k] * share[c]
