"""Shares of rows in leaves of which some conditions are lifted, counted leaf by leaf in bitsets.

For a leaf with the features F on its path, and features S of these, the identities of the
effects need C[F minus A] for every part A of S: the share of rows that meet the leaf's
conditions on everything but A. With bitsets over rows these are the set bits of an intersection:
n · d / 64 word operations per leaf and group, d the number of conditions, whatever the depth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.arrays import Matrix, Vector
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel, lowest, popcount
from onnxplain_server.trees.crew import Crew, blocks, run
from onnxplain_server.trees.ensemble import Numbers, Sets
from onnxplain_server.trees.ranked import Bits, Ranked, Words, to_words

_BLOCK = 1024
"""Leaves that one call works on."""


class _Rows(NamedTuple):
    """Bitsets, flat, and how to weigh one.

    A chunk of all sets is `n_sets` times `size` words; of `valid` and each plane, `size` words.
    """

    words: Words
    n_sets: int
    size: int
    valid: Words
    planes: Words
    unit: float
    shares: Vector


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
        self._start = boxes.start
        self._sets = bits.placed(boxes.met)
        valid = to_words(np.ones(len(ranked), dtype=np.bool_)).ravel()
        planes = ranked.planes.reshape(len(ranked.planes), valid.size)
        shape = bits.words.shape[1:]
        self._rows = _Rows(bits.words.ravel(), *shape, valid, planes, ranked.unit, ranked.shares)

    def lifted(self, leaves: Numbers, held: Numbers, crew: Crew | None) -> Matrix:
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
        given = (leaves, held, self._start, self._sets, self._rows)
        spans = blocks(len(leaves), _BLOCK)
        run(crew, lambda span: _lifted(*span, *given, shares), spans)
        return shares


# Below, arrays are flat and positions unsigned: a view of an array costs more than a step on a
# few words, and a position that might be negative keeps steps from being taken several at a time.


@inlined
def _meet_run(rows: Any, origin: Any, sets: Any, piece: int, mask: Words) -> None:
    """Keep of a mask the rows that are in a run; `origin` is where the chunk starts."""
    size = np.uint64(rows.size)
    below = origin + np.uint64(sets.low[piece]) * size
    above = origin + np.uint64(sets.high[piece]) * size
    for w in range(size):
        mask[w] &= rows.words[above + w] & ~rows.words[below + w]


@inlined
def _meet(rows: Any, origin: Any, sets: Any, condition: int, mask: Words, spare: Words) -> None:
    """Keep of a mask the rows that meet a condition."""
    size = np.uint64(rows.size)
    start, stop = sets.start[condition], sets.start[condition + 1]
    if stop == start + 1:
        _meet_run(rows, origin, sets, start, mask)
        return
    for w in range(size):
        spare[w] = np.uint64(0)
    for piece in range(start, stop):
        below = origin + np.uint64(sets.low[piece]) * size
        above = origin + np.uint64(sets.high[piece]) * size
        for w in range(size):
            spare[w] |= rows.words[above + w] & ~rows.words[below + w]
    for w in range(size):
        mask[w] &= spare[w]


@inlined
def _measure(rows: Any, first: Any, mask: Words) -> float:
    """Share of the rows of a mask: by the digits of their weights, or by adding them up."""
    size, total = np.uint64(rows.size), 0.0
    for plane in range(rows.planes.shape[0]):
        count = 0
        for w in range(size):
            count += popcount(mask[w] & rows.planes[plane, first + w])
        total += rows.unit * float(count << plane)
    if rows.planes.shape[0] == 0:
        for w in range(size):
            word, row = mask[w], (first + w) << np.uint64(6)
            while word:
                total += rows.shares[row + np.uint64(lowest(word))]
                word &= word - np.uint64(1)
    return total


@inlined
def _meet_others(
    rows: Any, origin: Any, sets: Any, start: int, stop: int, held: Any, i: int, mask: Words,
    spare: Words,
) -> None:  # fmt: skip
    """Keep of a mask the rows that meet a leaf's conditions, but for those held."""
    for condition in range(start, stop):
        is_held = False
        for q in range(held.shape[1]):
            is_held |= held[i, q] == condition
        if not is_held:
            _meet(rows, origin, sets, condition, mask, spare)


@kernel
def _lifted(
    a: int, b: int, leaves: Numbers, held: Numbers, start: Numbers, sets: Sets, rows: _Rows,
    shares: Matrix,
) -> None:  # fmt: skip
    """Count for the leaves from a to b."""
    size, everything = np.uint64(rows.size), (1 << held.shape[1]) - 1
    mask, spare = np.empty(size, np.uint64), np.empty(size, np.uint64)
    lifted = np.empty((everything + 1, size), np.uint64)
    for chunk in range(len(rows.valid) // rows.size):
        first = np.uint64(chunk) * size
        origin = first * np.uint64(rows.n_sets)
        for i in range(a, b):
            for part in range(everything, -1, -1):
                if part == everything:
                    for w in range(size):
                        mask[w] = rows.valid[first + w]
                    stop = start[leaves[i] + 1]
                    _meet_others(rows, origin, sets, start[leaves[i]], stop, held, i, mask, spare)
                else:
                    q = 0  # a condition that is met here and lifted in a part before
                    while part >> q & 1:
                        q += 1
                    for w in range(size):
                        mask[w] = lifted[part | 1 << q, w]
                    _meet(rows, origin, sets, held[i, q], mask, spare)
                for w in range(size):
                    lifted[part, w] = mask[w]
                shares[i, part] += _measure(rows, first, mask)
