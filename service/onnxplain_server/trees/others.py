r"""Effects of all features but one, at the rows.

    F_\j(x) = f(x) + Σ over leaves with j of v (q [x meets all but j] − [x meets all])

with q the share of rows that meet the leaf's condition on j. So a row matters to the
leaves of which it misses at most one feature's condition. Those are found for 64 rows at a time:
`none` holds the rows that have met all conditions so far, `one` those that have missed one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.arrays import Cube, Matrix, Vector
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel, lowest
from onnxplain_server.trees.crew import Crew, blocks
from onnxplain_server.trees.ensemble import Numbers
from onnxplain_server.trees.ranked import Bits, Ranked

_BLOCK = 8
"""Words, each of 64 rows, that one call works on."""


def others(
    boxes: Boxes, ranked: Ranked, bits: Bits, features: Sequence[int], crew: Crew
) -> Cube:
    r"""Compute F_\j of several features in one pass over the leaves.

    Returns
    -------
    (n_features, n, n_targets)
    """
    slot = np.full(len(ranked.codes), -1, dtype=np.int32)
    slot[list(features)] = np.arange(len(features))
    effects = np.zeros((len(ranked), len(features) + 1, boxes.values.shape[1]))
    places = bits.place[ranked.codes]
    low, high = bits.place[boxes.low], bits.place[boxes.high]
    met = _met_shares(boxes.run_start, boxes.low, boxes.high, ranked.below)

    def visit(span: tuple[int, int]) -> None:
        _visit(
            *span, boxes.start, boxes.feature, boxes.run_start, low, high, boxes.values,
            met, slot, places, bits.start, effects,
        )  # fmt: skip

    crew.run(visit, blocks(-(-len(ranked) // 64), _BLOCK))
    effects[:, :-1] += effects[:, -1:]
    return effects[:, :-1].swapaxes(0, 1)


@kernel
def _met_shares(run_start: Numbers, low: Numbers, high: Numbers, below: Vector) -> Vector:
    """Share of the rows that meet each condition: (n_conditions,)."""
    met = np.zeros(len(run_start) - 1)
    for c in range(len(met)):
        for run in range(run_start[c], run_start[c + 1]):
            met[c] += below[high[run]] - below[low[run]]
    return met


@inlined
def _spread(places, starts, first, last, sets):  # type: ignore[no-untyped-def]
    """Set up, for up to 64 rows, the sets of rows below borders."""
    sets[:] = 0
    for j in range(len(places)):
        for i in range(first, last):
            sets[places[j, i] + 1] |= np.uint64(1) << np.uint64(i - first)
        for k in range(starts[j] + 1, starts[j + 1]):
            sets[k] |= sets[k - 1]


@kernel
def _visit(
    a: int, b: int, start: Numbers, feature: Numbers, run_start: Numbers, low: Numbers,
    high: Numbers, values: Matrix, met: Vector, slot: Numbers, places: Numbers,
    set_starts: Numbers, effects: Cube,
) -> None:  # fmt: skip
    """Visit all leaves for the rows in the words from a to b.

    `effects` are (n, n_features + 1, n_targets): last the sum of the trees.
    """
    n_targets, total = values.shape[1], effects.shape[1] - 1
    sets = np.empty(set_starts[-1], np.uint64)
    masks, slots = np.empty(len(slot), np.uint64), np.empty(len(slot), np.int64)
    for word in range(a, b):
        first, last = word << 6, min((word + 1) << 6, places.shape[1])
        _spread(places, set_starts, first, last, sets)
        everyone = ~np.uint64(0) >> np.uint64(64 - (last - first))
        for leaf in range(len(values)):
            none, one = everyone, np.uint64(0)
            begin, count = start[leaf], start[leaf + 1] - start[leaf]
            for c in range(count):
                mask = np.uint64(0)
                for run in range(run_start[begin + c], run_start[begin + c + 1]):
                    mask |= sets[high[run]] & ~sets[low[run]]
                masks[c], slots[c] = mask, slot[feature[begin + c]]
                one = (one & mask) | (none & ~mask)
                none &= mask
                if not none | one:
                    break
            while none:
                i = first + lowest(none)
                none &= none - np.uint64(1)
                for k in range(n_targets):
                    effects[i, total, k] += values[leaf, k]
                    for c in range(count):
                        if slots[c] >= 0:
                            effects[i, slots[c], k] += values[leaf, k] * (met[begin + c] - 1.0)
            for c in range(count if one else 0):
                missed = one & ~masks[c] if slots[c] >= 0 else np.uint64(0)
                while missed:
                    i = first + lowest(missed)
                    missed &= missed - np.uint64(1)
                    for k in range(n_targets):
                        effects[i, slots[c], k] += values[leaf, k] * met[begin + c]
