"""What rows would be taken for if one feature were moved: piece by piece, for all its values.

A row goes down each tree once. Where the tree looks at a feature for the first time on the row's
way, it is gone down once more with this feature free: every leaf that can be reached so holds for
a run of the feature's cells, and differs from the row's own leaf by what is noted where the run
begins and ends. Adding up the notes from cell to cell gives the outputs for every value of the
feature. The cost is rows times trees times leaves that one free feature can reach, for all features
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel, lowest
from onnxplain_server.trees.reading.check import rounding
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

_BLOCK = 256
"""Rows that one call works on."""
_RELATIVE = 1e-5
"""Of the largest output: within this and the rounding of sums the next one may be as large."""
DOUBTFUL = -1
"""Label of a piece where two outputs are as near as the runtime's rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Pieces of features' lines, ordered by row, feature and value.

    Attributes
    ----------
    row : (n,)
    place : (n,)
        Of the feature among those moved.
    cell : (n,)
        Border at which the piece begins.
    label : (n,)
        Output that is largest, the first of several; `DOUBTFUL` where rounding decides.
    outputs : (n, n_outputs), or (0, n_outputs)
    """

    row: Int32Array
    place: Int32Array
    cell: Int32Array
    label: Int32Array
    outputs: Matrix

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Which features are moved, and how far.

    Attributes
    ----------
    features : (n_moved,)
    low, high : (n_rows, n_moved)
        First and last cell, by its lower border.
    """

    features: Indices
    low: Int32Array
    high: Int32Array


class _Trees(NamedTuple):
    """Trees as the kernel takes them: `values` are the leaves' outputs, `number` a node's leaf."""

    roots: Int32Array
    feature: Int32Array
    true: Int32Array
    false: Int32Array
    truth: CellSets
    number: Int32Array
    values: Matrix
    offset: Vector
    first: Int32Array
    depth: int
    most_runs: int


def profiles(
    ensemble: Ensemble, codes: Int32Array, ranges: Ranges, pool: BlockPool, *, with_outputs: bool
) -> Pieces:
    """Find the pieces on which a row's label is the same, as one feature is moved.

    Parameters
    ----------
    codes : (n_features, n_rows)
        Cells of the rows.
    with_outputs : bool
        Whether pieces on which any output is the same are wanted instead, with the outputs.
    """
    trees = _lay(ensemble)
    rows = np.ascontiguousarray(codes.T)
    place = np.full(len(ensemble.axes), -1, dtype=np.int32)
    place[ranges.features] = np.arange(len(ranges.features))
    near = np.array([_RELATIVE, 2 * float(rounding(ensemble).max())])

    def visit(span: tuple[int, int]) -> tuple[Int32Array, Matrix]:
        found: tuple[Int32Array, Matrix] = _visit(
            *span, trees, rows, place, ranges.low, ranges.high, near, with_outputs
        )
        return found

    return _joined(pool.run(visit, blocks(len(rows), _BLOCK)), len(ensemble.offset))


def _lay(ensemble: Ensemble) -> _Trees:
    number = np.zeros(len(ensemble.feature), dtype=np.int32)
    number[ensemble.leaf] = np.arange(len(ensemble.leaf))
    return _Trees(
        ensemble.roots,
        ensemble.feature,
        ensemble.true,
        ensemble.false,
        ensemble.truth,
        number,
        np.ascontiguousarray(ensemble.values @ ensemble.matrix.T),
        ensemble.offset,
        ensemble.first,
        ensemble.depth,
        int(np.diff(ensemble.truth.start).max(initial=0)),
    )


def _joined(parts: Sequence[tuple[Int32Array, Matrix]], n_outputs: int) -> Pieces:
    none = np.empty((0, 4), np.int32)
    found = np.concatenate([none, *(part for part, _ in parts)])
    outputs = np.concatenate([np.empty((0, n_outputs)), *(values for _, values in parts)])
    row, place, cell, label = (np.ascontiguousarray(column) for column in found.T)
    return Pieces(row, place, cell, label, outputs)


class _Room(NamedTuple):
    """Where a row is worked on.

    `path` are the nodes on its way; `node`, `low` and `high` wait, with the runs of the free
    feature. `change` is by how much outputs change at borders, and `marked` are these, as bits.
    """

    path: Int32Array
    node: Int32Array
    low: Int32Array
    high: Int32Array
    change: Matrix
    marked: Array
    seen: Array
    base: Vector
    now: Vector


@inlined
def _make_room(trees: Any) -> Any:
    size = (trees.depth + 1) * (2 * trees.most_runs + 2) + 2
    borders, n_outputs = trees.first[-1] + 1, trees.values.shape[1]
    return _Room(
        np.empty(trees.depth + 1, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.zeros((borders, n_outputs)),
        np.zeros((borders >> 6) + 1, np.uint64),
        np.full(len(trees.first) - 1, -1, np.int64),
        np.empty(n_outputs),
        np.empty(n_outputs),
    )


@inlined
def _label(values: Any, near: Any) -> int:
    """The largest output, or doubt."""
    best = 0
    for k in range(1, len(values)):
        if values[k] > values[best]:
            best = k
    margin = near[1] + near[0] * abs(values[best])
    for k in range(len(values)):
        if k != best and values[best] - values[k] <= margin:
            return DOUBTFUL
    return best


class _Found(NamedTuple):
    """Pieces that were found, as many as counted; what has no room left is moved to more room."""

    pieces: Int32Array
    outputs: Matrix


@inlined
def _keep(found: Any, count: int, piece: Any, values: Any) -> Any:
    """Keep a piece: row, place, cell and label."""
    pieces, outputs = found
    if count == len(pieces):
        wider = np.empty((2 * count, 4), np.int32)
        wider[:count] = pieces
        longer = np.empty((2 * count if len(outputs) else 0, outputs.shape[1]))
        longer[: len(outputs)] = outputs
        pieces, outputs = wider, longer
    pieces[count, 0], pieces[count, 1] = piece[0], piece[1]
    pieces[count, 2], pieces[count, 3] = piece[2], piece[3]
    if len(outputs):
        outputs[count] = values
    return _Found(pieces, outputs)


@inlined
def _descend(trees: Any, room: Any, codes: Any, root: int) -> Any:
    """Go down a tree and remember the way: the leaf, and the number of steps."""
    # Arrays are looked up once, here and below: in a tuple that takes longer than a step.
    feature, true, false, path = trees.feature, trees.true, trees.false, room.path
    start, begin, end = trees.truth
    node, steps = root, 0
    while feature[node] >= 0:
        path[steps] = node
        steps += 1
        code, side = codes[feature[node]], False
        for run in range(start[node], start[node + 1]):
            side |= begin[run] <= code < end[run]
        node = true[node] if side else false[node]
    return trees.number[node], steps


@inlined
def _free(  # noqa: C901 - calls would take longer than the steps
    trees: Any, room: Any, codes: Any, top: int, free: int, own: int, least: int, most: int
) -> None:
    """Go down from a node with one feature free in a run of its cells, and note what changes.

    Where a leaf's run begins and ends, outputs change by its difference from the row's own leaf.
    """
    feature, true, false, number = trees.feature, trees.true, trees.false, trees.number
    start, begin, end = trees.truth
    values, change, marked = trees.values, room.change, room.marked
    node, low, high = room.node, room.low, room.high
    node[0], low[0], high[0] = top, least, most
    waiting = 1
    while waiting:
        waiting -= 1
        here, a, b = node[waiting], low[waiting], high[waiting]
        while feature[here] >= 0 and feature[here] != free:
            code, side = codes[feature[here]], False
            for run in range(start[here], start[here + 1]):
                side |= begin[run] <= code < end[run]
            here = true[here] if side else false[here]
        if feature[here] >= 0:
            reached = a
            for run in range(start[here], start[here + 1]):
                first, last = min(max(begin[run], a), b), min(max(end[run], a), b)
                if reached < first:
                    node[waiting], low[waiting], high[waiting] = false[here], reached, first
                    waiting += 1
                if first < last:
                    node[waiting], low[waiting], high[waiting] = true[here], first, last
                    waiting += 1
                reached = last
            if reached < b:
                node[waiting], low[waiting], high[waiting] = false[here], reached, b
                waiting += 1
        elif number[here] != own:
            leaf = number[here]
            for k in range(values.shape[1]):
                difference = values[leaf, k] - values[own, k]
                change[a, k] += difference
                change[b, k] -= difference
            marked[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
            marked[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@inlined
def _gather(trees: Any, room: Any, codes: Any, places: Any, low: Any, high: Any, stamp: int) -> int:
    """Add up a row's leaves, and note what changes as features move: how many trees were seen."""
    feature, values = trees.feature, trees.values
    base, path, seen = room.base, room.path, room.seen
    base[:] = trees.offset
    for root in trees.roots:
        own, steps = _descend(trees, room, codes, root)
        stamp += 1
        for k in range(len(base)):
            base[k] += values[own, k]
        for step in range(steps):
            j = feature[path[step]]
            place = places[j]
            # A run of one cell leaves nothing to move.
            if place >= 0 and seen[j] != stamp and low[place] < high[place]:
                seen[j] = stamp
                _free(trees, room, codes, path[step], j, own, low[place], high[place] + 1)
    return stamp


@inlined
def _take_marks(room: Any, word: int, low: int, high: int) -> Any:
    """Take the marks of a word that lie from one border to another; those of others stay."""
    bits = room.marked[word]
    if word == low >> 6:
        bits &= ~np.uint64(0) << np.uint64(low & 63)
    if word == high >> 6:
        bits &= ~np.uint64(0) >> np.uint64(63 - (high & 63))
    room.marked[word] &= ~bits
    return bits


@inlined
def _sweep(
    room: Any, row: int, place: int, low: int, high: int, near: Any, found: Any, count: int
) -> Any:
    """Go through the cells of a feature, from border to border, and keep the pieces."""
    room.now[:] = room.base
    start, last = low, -2
    for word in range(low >> 6, (high >> 6) + 1):
        bits = _take_marks(room, word, low, high)
        while bits:
            border = (word << 6) + lowest(bits)
            bits &= bits - np.uint64(1)
            if border > start:
                label = _label(room.now, near)
                if len(found.outputs) or label != last or label == DOUBTFUL:
                    found = _keep(found, count, (row, place, start, label), room.now)
                    count += 1
                last, start = label, border
            for k in range(len(room.now)):
                room.now[k] += room.change[border, k]
                room.change[border, k] = 0.0
    if start < high:
        label = _label(room.now, near)
        if len(found.outputs) or label != last or label == DOUBTFUL:
            found = _keep(found, count, (row, place, start, label), room.now)
            count += 1
    return found, count


@kernel
def _visit(
    a: int, b: int, trees: _Trees, rows: Int32Array, places: Int32Array, lows: Int32Array,
    highs: Int32Array, near: Vector, with_outputs: bool,
) -> tuple[Int32Array, Matrix]:  # fmt: skip
    """Find the pieces of the rows from a to b."""
    room = _make_room(trees)
    capacity = max(16, 2 * (b - a) * lows.shape[1])
    outputs = np.empty((capacity if with_outputs else 0, trees.values.shape[1]))
    found, count, stamp = _Found(np.empty((capacity, 4), np.int32), outputs), 0, 0
    for row in range(a, b):
        stamp = _gather(trees, room, rows[row], places, lows[row], highs[row], stamp)
        for feature in range(len(places)):
            place = places[feature]
            if place >= 0:
                low, high = lows[row, place], highs[row, place] + 1
                found, count = _sweep(room, row, place, low, high, near, found, count)
    return found.pieces[:count], found.outputs[: count if with_outputs else 0]
