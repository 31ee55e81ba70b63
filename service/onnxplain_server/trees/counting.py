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

_CHUNK = 256
"""Words per step: some bitsets of this size fit into the first-level cache."""
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
        self._valid = to_words(np.ones(len(ranked), dtype=np.bool_))

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
                self._bits.words, self._valid, ranked.planes, ranked.unit, ranked.shares, shares,
            )  # fmt: skip

        run(crew, count, blocks(len(leaves), _BLOCK))
        return shares


@inlined
def _condition(words, low, high, start, stop, first, last, out):  # type: ignore[no-untyped-def]
    """Write the rows, in words from first to last, that are in one of the runs."""
    inner, outer = words[low[start]], words[high[start]]
    for w in range(first, last):
        out[w - first] = outer[w] & ~inner[w]
    for run in range(start + 1, stop):
        inner, outer = words[low[run]], words[high[run]]
        for w in range(first, last):
            out[w - first] |= outer[w] & ~inner[w]


@inlined
def _narrow(words, low, high, start, stop, first, last, mask, spare):  # type: ignore[no-untyped-def]
    """Keep of a mask the rows that are in one of the runs."""
    if stop == start + 1:
        inner, outer = words[low[start]], words[high[start]]
        for w in range(first, last):
            mask[w - first] &= outer[w] & ~inner[w]
        return
    _condition(words, low, high, start, stop, first, last, spare)
    for w in range(last - first):
        mask[w] &= spare[w]


@inlined
def _measure(mask, size, first, planes, unit, shares):  # type: ignore[no-untyped-def]
    """Share of the rows of a mask: by the digits of their weights, or by adding them up."""
    total = 0.0
    for plane in range(planes.shape[0]):
        count = 0
        for w in range(size):
            count += popcount(mask[w] & planes[plane, first + w])
        total += unit * float(count << plane)
    if planes.shape[0] == 0:
        for w in range(size):
            word = mask[w]
            while word:
                total += shares[((first + w) << 6) + lowest(word)]
                word &= word - np.uint64(1)
    return total


@kernel
def _lifted(
    a: int, b: int, leaves: Numbers, held: Numbers, start: Numbers, run_start: Numbers,
    low: Numbers, high: Numbers, words: Words, valid: Words, planes: Words, unit: float,
    weights: Vector, shares: Matrix,
) -> None:  # fmt: skip
    """Count for the leaves from a to b."""
    n_words, n_held = len(valid), held.shape[1]
    parts = 1 << n_held
    lifted = np.empty((parts, _CHUNK), np.uint64)
    own = np.empty((n_held, _CHUNK), np.uint64)
    spare = np.empty(_CHUNK, np.uint64)
    for i in range(a, b):
        for first in range(0, n_words, _CHUNK):
            last = min(first + _CHUNK, n_words)
            size = last - first
            rest = lifted[parts - 1]
            rest[:size] = valid[first:last]
            for c in range(start[leaves[i]], start[leaves[i] + 1]):
                is_held = False
                for q in range(n_held):
                    is_held |= held[i, q] == c
                if not is_held:
                    _narrow(words, low, high, run_start[c], run_start[c + 1], first, last, rest, spare)  # noqa: E501
            for q in range(n_held):
                c = held[i, q]
                _condition(words, low, high, run_start[c], run_start[c + 1], first, last, own[q])
            for part in range(parts - 1, -1, -1):
                q = 0
                while part >> q & 1:
                    q += 1
                if part < parts - 1:
                    wider = lifted[part | 1 << q]
                    for w in range(size):
                        lifted[part, w] = wider[w] & own[q, w]
                shares[i, part] += _measure(lifted[part], size, first, planes, unit, weights)
