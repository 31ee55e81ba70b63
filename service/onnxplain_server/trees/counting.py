"""Shares of rows in leaves of which some conditions are lifted, counted leaf by leaf in bitsets.

For a leaf l with the features F on its path, and features S of these, the identities of the
effects need C_l[F minus A] for every part A of S: the share of rows that meet the leaf's
conditions on everything but A. With bitsets over rows these are the set bits of an intersection:
n · d / 64 word operations per leaf and group, whatever the depth of the tree.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.arrays import Matrix, Vector
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel, lowest, popcount
from onnxplain_server.trees.crew import Crew, blocks, run
from onnxplain_server.trees.ensemble import Numbers
from onnxplain_server.trees.ranked import Bits, Ranked, Words, to_words

_BLOCK = 1024
"""Leaves that one call works on."""


class Counter:
    """Counts rows in boxes.

    Parameters
    ----------
    boxes : Boxes
    ranked : Ranked
    bits : Bits
        Of all features.
    """

    def __init__(self, boxes: Boxes, ranked: Ranked, bits: Bits) -> None:
        self._boxes = boxes
        self._ranked = ranked
        self._bits = bits
        self._low, self._high = bits.place[boxes.low], bits.place[boxes.high]
        self._valid = to_words(np.ones(len(ranked), dtype=np.bool_)).reshape(-1)
        self._planes = ranked.planes.reshape(len(ranked.planes), self._valid.size)

    def lifted(self, leaves: Numbers, held: Numbers, crew: Crew | None = None) -> Matrix:
        """Count with conditions lifted.

        Parameters
        ----------
        leaves : (n_leaves,)
        held : (n_leaves, n_held)
            Conditions of each that are lifted in turn.
        crew : Crew or None
            None where the caller is one of its threads.

        Returns
        -------
        (n_leaves, 2 ** n_held)
            Share of the rows that meet all conditions but those whose bit is set in the column.
        """
        shares = np.zeros((len(leaves), 1 << held.shape[1]))
        boxes, ranked = self._boxes, self._ranked

        def count(span: tuple[int, int]) -> None:
            _lifted(
                *span, leaves, held, boxes.start, boxes.run_start, self._low, self._high,
                self._bits.words.reshape(-1), *self._bits.words.shape[1:], self._valid,
                self._planes, ranked.unit, ranked.shares, shares,
            )  # fmt: skip

        run(crew, count, blocks(len(leaves), _BLOCK))
        return shares


@inlined
def _meet(words, below, above, size, mask):  # type: ignore[no-untyped-def]
    """Keep of a mask the rows between two sets, which start at these words."""
    for w in range(size):
        mask[w] &= words[above + w] & ~words[below + w]


@inlined
def _meet_any(words, origin, low, high, start, stop, size, mask, spare):  # type: ignore[no-untyped-def]
    """Keep of a mask the rows that are in one of the runs; `origin` is where the chunk starts."""
    spare[:] = 0
    for run in range(start, stop):
        below, above = origin + np.uint64(low[run]) * size, origin + np.uint64(high[run]) * size
        for w in range(size):
            spare[w] |= words[above + w] & ~words[below + w]
    for w in range(size):
        mask[w] &= spare[w]


@inlined
def _measure(mask, first, size, planes, unit, shares):  # type: ignore[no-untyped-def]
    """Share of the rows of a mask: by the digits of their weights, or by adding them up."""
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


@kernel
def _lifted(
    a: int, b: int, leaves: Numbers, held: Numbers, start: Numbers, run_start: Numbers,
    low: Numbers, high: Numbers, words: Words, n_sets: int, length: int, valid: Words,
    planes: Words, unit: float, weights: Vector, shares: Matrix,
) -> None:  # fmt: skip
    """Count for the leaves from a to b.

    Arrays are flat and positions unsigned, because a view costs more than a step on a few
    words, and a position that might be negative keeps steps from being taken several at a time.
    """
    n_held, size = held.shape[1], np.uint64(length)
    everything = (1 << n_held) - 1
    mask, spare = np.empty(size, np.uint64), np.empty(size, np.uint64)
    lifted = np.empty((everything + 1, size), np.uint64)
    for chunk in range(len(valid) // length):
        first = np.uint64(chunk) * size
        origin = first * np.uint64(n_sets)
        for i in range(a, b):
            for w in range(size):
                mask[w] = valid[first + w]
            for c in range(start[leaves[i]], start[leaves[i] + 1]):
                is_held = False
                for q in range(n_held):
                    is_held |= held[i, q] == c
                if is_held:
                    continue
                run = run_start[c]
                if run_start[c + 1] == run + 1:
                    below = origin + np.uint64(low[run]) * size
                    above = origin + np.uint64(high[run]) * size
                    _meet(words, below, above, size, mask)
                else:
                    _meet_any(words, origin, low, high, run, run_start[c + 1], size, mask, spare)
            for part in range(everything, -1, -1):
                if part < everything:
                    q = 0
                    while part >> q & 1:
                        q += 1
                    for w in range(size):
                        mask[w] = lifted[part | 1 << q, w]
                    run, stop = run_start[held[i, q]], run_start[held[i, q] + 1]
                    _meet_any(words, origin, low, high, run, stop, size, mask, spare)
                for w in range(size):
                    lifted[part, w] = mask[w]
                shares[i, part] += _measure(mask, first, size, planes, unit, weights)
