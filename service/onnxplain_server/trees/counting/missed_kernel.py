"""Kernel of `missed_conditions`: rows are divided by the conditions of each leaf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import (
    Flags,
    Indices,
    Int32Matrix,
    Int32Vector,
    Vector,
    WordMatrix,
    Words,
)
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.small_functions import lowest, popcount
from onnxplain_server.trees.reading.ensemble import CellSets


class MissPlan(NamedTuple):
    """Conditions of leaves in the order in which rows meet or miss them.

    Leaf l has the conditions `order[start[l]:start[l + 1]]`, from `split[l]` on those that are
    counted when missed, and its counts start at `entry[l]`: of the rows that miss none; one, by
    condition; two, by the later condition and then by the earlier, where `is_counted`. `width` is
    the most counts of a leaf.
    """

    start: Int32Vector
    split: Int32Vector
    order: Int32Vector
    entry: Indices
    is_counted: Flags
    sets: CellSets
    width: int


class WeighedRows(NamedTuple):
    """Rows as cells, the set of each border and the first set of each feature, and weights."""

    codes: Int32Matrix
    position: Int32Vector
    first_set: Int32Vector
    planes: WordMatrix
    shares: Vector


# Below, arrays are flat and positions unsigned: see `bitset_counting`. They are looked up in tuples
# once per call, since a lookup counts a reference.


@inlined
def _fill_bitsets(rows: Any, first: int, last: int, size: Any, words: Any) -> None:
    """Build the bitsets of the rows from first to last below each border."""
    codes, position, first_set = rows.codes, rows.position, rows.first_set
    words[:] = np.uint64(0)
    for j in range(len(codes)):
        for i in range(first, last):
            at = np.uint64(position[codes[j, i]] + 1) * size + np.uint64((i - first) >> 6)
            words[at] |= np.uint64(1) << np.uint64((i - first) & 63)
        for k in range(first_set[j] + 1, first_set[j + 1]):
            above = np.uint64(k) * size
            below = above - size
            for w in range(size):
                words[above + w] |= words[below + w]


@inlined
def _meet(
    words: Words, low: Int32Vector, high: Int32Vector, run: int, stop: int, size: Any, met: Words
) -> None:
    """Find the rows that meet a condition, in one of the runs from `run` to `stop`."""
    below, above = np.uint64(low[run]) * size, np.uint64(high[run]) * size
    for w in range(size):
        met[w] = words[above + w] & ~words[below + w]
    for other in range(run + 1, stop):
        below, above = np.uint64(low[other]) * size, np.uint64(high[other]) * size
        for w in range(size):
            met[w] |= words[above + w] & ~words[below + w]


@inlined
def _intersect(masks: Words, at: Any, size: Any, met: Words) -> Any:
    """Intersect a mask with the rows that meet a condition; return 0 where none is left."""
    left = np.uint64(0)
    for w in range(size):
        masks[at + w] &= met[w]
        left |= masks[at + w]
    return left


@inlined
def _divide(masks: Words, at: Any, missed: Any, size: Any, met: Words) -> None:
    """Move the rows of a mask that miss a condition to another mask."""
    for w in range(size):
        mask = masks[at + w]
        masks[missed + w] = mask & ~met[w]
        masks[at + w] = mask & met[w]


@inlined
def _divide_by(
    masks: Words, is_counted: Flags, entry: Any, q: int, count: int, size: Any, met: Words
) -> None:
    """Divide the rows of a leaf by its condition q of `count`."""
    pair = 1 + count
    for p in range(q):
        for _ in range(p):
            if is_counted[entry + pair]:
                _intersect(masks, np.uint64(pair) * size, size, met)
            pair += 1
    for p in range(q):
        if is_counted[entry + pair]:
            _divide(masks, np.uint64(1 + p) * size, np.uint64(pair) * size, size, met)
        else:
            _intersect(masks, np.uint64(1 + p) * size, size, met)
        pair += 1
    _divide(masks, np.uint64(0), np.uint64(1 + q) * size, size, met)


@inlined
def _measure(
    masks: Words, at: Any, first_word: Any, size: Any, planes: WordMatrix, shares: Vector
) -> float:
    """Return the weight of a mask's rows: in units by bit planes, or else in shares."""
    total = 0.0
    for plane in range(planes.shape[0]):
        count = 0
        for w in range(size):
            count += popcount(masks[at + w] & planes[plane, first_word + w])
        total += float(count << plane)
    if planes.shape[0] == 0:
        for w in range(size):
            word, row = masks[at + w], (first_word + w) << np.uint64(6)
            while word:
                total += shares[row + np.uint64(lowest(word))]
                word &= word - np.uint64(1)
    return total


@kernel
def count_misses(
    a: int, b: int, first_row: int, last_row: int, words_per_set: int, plan: MissPlan,
    rows: WeighedRows, counts: Vector,
) -> None:  # fmt: skip
    """Count for the leaves from a to b and the rows from first to last."""
    start, split, order, entry, is_counted, (runs, low, high), width = plan
    planes, shares = rows.planes, rows.shares
    words = np.empty(rows.first_set[-1] * words_per_set, np.uint64)
    masks, met = np.empty(width * words_per_set, np.uint64), np.empty(words_per_set, np.uint64)
    for first in range(first_row, last_row, 64 * words_per_set):
        last = min(first + 64 * words_per_set, last_row)
        size, first_word = np.uint64((last - first + 63) >> 6), np.uint64(first >> 6)
        _fill_bitsets(rows, first, last, size, words)
        for leaf in range(a, b):
            for w in range(size):
                masks[w] = ~np.uint64(0)
            masks[size - np.uint64(1)] >>= np.uint64((first - last) & 63)
            left = np.uint64(1)
            for at in range(start[leaf], split[leaf]):
                c = order[at]
                _meet(words, low, high, runs[c], runs[c + 1], size, met)
                left = _intersect(masks, np.uint64(0), size, met)
            if not left:
                continue
            count = start[leaf + 1] - split[leaf]
            for q in range(count):
                c = order[split[leaf] + q]
                _meet(words, low, high, runs[c], runs[c + 1], size, met)
                _divide_by(masks, is_counted, entry[leaf], q, count, size, met)
            for e in range(entry[leaf + 1] - entry[leaf]):
                if e <= count or is_counted[entry[leaf] + e]:
                    counts[entry[leaf] + e] += _measure(
                        masks, np.uint64(e) * size, first_word, size, planes, shares
                    )
