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
    n, n_targets = len(ranked), boxes.values.shape[1]
    corrections, sums = np.zeros((len(features), n, n_targets)), np.zeros((n, n_targets))
    places = bits.place[ranked.codes]
    low, high = bits.place[boxes.low], bits.place[boxes.high]
    met = _met_shares(boxes.run_start, boxes.low, boxes.high, ranked.below)

    def visit(span: tuple[int, int]) -> None:
        _visit(
            *span, boxes.start, boxes.feature, boxes.run_start, low, high, boxes.values,
            met, slot, places, bits.start, corrections, sums,
        )  # fmt: skip

    crew.run(visit, blocks(-(-n // 64), _BLOCK))
    corrections += sums
    return corrections


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


@inlined
def _add(rows, first, values, factor, sums):  # type: ignore[no-untyped-def]
    """Add values to the sums of the rows in a word."""
    while rows:
        i = first + lowest(rows)
        for k in range(len(values)):
            sums[i, k] += factor * values[k]
        rows &= rows - np.uint64(1)


@kernel
def _visit(
    a: int, b: int, start: Numbers, feature: Numbers, run_start: Numbers, low: Numbers,
    high: Numbers, values: Matrix, met: Vector, slot: Numbers, places: Numbers,
    set_starts: Numbers, corrections: Cube, sums: Matrix,
) -> None:  # fmt: skip
    """Visit all leaves for the rows in the words from a to b."""
    sets = np.empty(set_starts[-1], np.uint64)
    masks = np.empty(len(slot), np.uint64)
    for word in range(a, b):
        first, last = word << 6, min((word + 1) << 6, places.shape[1])
        _spread(places, set_starts, first, last, sets)
        everyone = ~np.uint64(0) >> np.uint64(64 - (last - first))
        for leaf in range(len(values)):
            none, one = everyone, np.uint64(0)
            for c in range(start[leaf], start[leaf + 1]):
                mask = np.uint64(0)
                for run in range(run_start[c], run_start[c + 1]):
                    mask |= sets[high[run]] & ~sets[low[run]]
                masks[c - start[leaf]] = mask
                one = (one & mask) | (none & ~mask)
                none &= mask
                if not none | one:
                    break
            if none:
                _add(none, first, values[leaf], 1.0, sums)
            for c in range(start[leaf], start[leaf + 1] if none | one else start[leaf]):
                j = slot[feature[c]]
                if j >= 0:
                    _add(none, first, values[leaf], met[c] - 1.0, corrections[j])
                    _add(one & ~masks[c - start[leaf]], first, values[leaf], met[c], corrections[j])
