"""Bitset counting: shares of rows in leaves with some conditions lifted, leaf by leaf.

For a leaf with the features F on its path, and features S of these, the identities of the
effects need C[F minus A] for every subset A of S: the share of rows that meet the leaf's
conditions on all features but A. With bitsets over rows these are the set bits of an
intersection: n · d / 64 word operations per leaf and group, with d the number of conditions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Int32Matrix, Int32Vector, Matrix, Vector, WordMatrix, Words
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.ranked_rows import Bitsets, RankedRows, to_words
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks, run_blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.small_functions import lowest, popcount
from onnxplain_server.trees.reading.ensemble import CellSets

_BLOCK = 1024
"""Leaves per kernel call."""


class _Rows(NamedTuple):
    """Flat bitsets, and the weights of their rows.

    A chunk holds `n_sets` times `size` words of all sets, and `size` words of `valid` and of each
    plane.
    """

    words: Words
    n_sets: int
    size: int
    valid: Words
    planes: WordMatrix
    unit: float
    shares: Vector


class BitsetCounter:
    """Counts rows in boxes by intersecting bitsets.

    Parameters
    ----------
    boxes : Boxes
    ranked : RankedRows
    bits : Bitsets
        Of all features.
    """

    def __init__(self, boxes: Boxes, ranked: RankedRows, bits: Bitsets) -> None:
        self._start = boxes.start
        self._sets = bits.numbers.to_positions(boxes.met)
        valid = to_words(np.ones(len(ranked), dtype=np.bool_)).ravel()
        planes = ranked.planes.reshape(len(ranked.planes), valid.size)
        n_sets, size = bits.words.shape[1:]
        self._rows = _Rows(
            bits.words.ravel(), n_sets, size, valid, planes, ranked.unit, ranked.shares
        )

    def count(self, leaves: Int32Vector, lifted: Int32Matrix, pool: BlockPool | None) -> Matrix:
        """Count with conditions lifted.

        Parameters
        ----------
        leaves : (n_leaves,)
        lifted : (n_leaves, n_lifted)
            Conditions of each leaf that are lifted, in all combinations.
        pool : BlockPool or None
            None: compute in the calling thread, which may be one of the pool.

        Returns
        -------
        (n_leaves, 2 ** n_lifted)
            Share of the rows that meet all conditions but those whose bit is set in the column.
        """
        shares = np.zeros((len(leaves), 1 << lifted.shape[1]))
        start, sets, rows = self._start, self._sets, self._rows
        run_blocks(
            pool,
            lambda span: _count(*span, leaves, lifted, start, sets, rows, shares),
            blocks(len(leaves), _BLOCK),
        )
        return shares


# Below, arrays are flat and positions unsigned: a view of an array, or its lookup in a tuple,
# costs more than a step on a few words, and a possibly negative position prevents vectorization.


@inlined
def _meet(words: Words, below: Any, above: Any, size: Any, mask: Words) -> None:
    """Intersect a mask with the rows between two sets, which start at words `below` and `above`."""
    for w in range(size):
        mask[w] &= words[above + w] & ~words[below + w]


@inlined
def _meet_any(
    words: Words,
    origin: Any,
    low: Int32Vector,
    high: Int32Vector,
    size: Any,
    mask: Words,
    spare: Words,
) -> None:
    """Intersect a mask with the union of runs; `origin` is the first word of the chunk."""
    for w in range(size):
        spare[w] = np.uint64(0)
    for run in range(len(low)):
        below, above = origin + np.uint64(low[run]) * size, origin + np.uint64(high[run]) * size
        for w in range(size):
            spare[w] |= words[above + w] & ~words[below + w]
    for w in range(size):
        mask[w] &= spare[w]


@inlined
def _measure(
    mask: Words, first: Any, size: Any, planes: WordMatrix, unit: float, shares: Vector
) -> Any:
    """Return the share of a mask's rows, by bit planes of the weights or by adding them up."""
    total = 0.0
    for plane in range(planes.shape[0]):
        count = 0
        for w in range(size):
            count += popcount(mask[w] & planes[plane, first + w])
        total += unit * float(count << plane)
    if planes.shape[0] == 0:
        for w in range(size):
            word, row = mask[w], (first + w) << np.uint64(6)
            while word:
                total += shares[row + np.uint64(lowest(word))]
                word &= word - np.uint64(1)
    return total


@inlined
def _is_lifted(lifted: Int32Matrix, i: int, condition: int) -> bool:
    """Return whether a condition of leaf i is lifted."""
    is_lifted = False
    for q in range(lifted.shape[1]):
        is_lifted |= lifted[i, q] == condition
    return is_lifted


@kernel
def _count(  # noqa: C901 - calls would take longer than the steps
    a: int, b: int, leaves: Int32Vector, lifted: Int32Matrix, start: Int32Vector, sets: CellSets,
    rows: _Rows, counts: Matrix,
) -> None:  # fmt: skip
    """Count for the leaves from a to b."""
    words, n_sets, length, valid, planes, unit, shares = rows
    runs, low, high = sets
    size, everything = np.uint64(length), (1 << lifted.shape[1]) - 1
    mask, spare = np.empty(size, np.uint64), np.empty(size, np.uint64)
    masks = np.empty((everything + 1, size), np.uint64)
    for chunk in range(len(valid) // length):
        first = np.uint64(chunk) * size
        origin = first * np.uint64(n_sets)
        for i in range(a, b):
            for w in range(size):
                mask[w] = valid[first + w]
            for c in range(start[leaves[i]], start[leaves[i] + 1]):
                if _is_lifted(lifted, i, c):
                    continue
                run, stop = runs[c], runs[c + 1]
                if stop == run + 1:
                    below = origin + np.uint64(low[run]) * size
                    above = origin + np.uint64(high[run]) * size
                    _meet(words, below, above, size, mask)
                else:
                    _meet_any(words, origin, low[run:stop], high[run:stop], size, mask, spare)
            for part in range(everything, -1, -1):
                if part < everything:
                    q = 0  # a condition that is met here and lifted in an earlier part
                    while part >> q & 1:
                        q += 1
                    for w in range(size):
                        mask[w] = masks[part | 1 << q, w]
                    run, stop = runs[lifted[i, q]], runs[lifted[i, q] + 1]
                    _meet_any(words, origin, low[run:stop], high[run:stop], size, mask, spare)
                for w in range(size):
                    masks[part, w] = mask[w]
                counts[i, part] += _measure(mask, first, size, planes, unit, shares)
