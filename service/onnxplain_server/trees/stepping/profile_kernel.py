"""Kernel of `profiles`: pieces of constant label along every moved feature of a block of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Int32Matrix, Int32Vector, Matrix, Vector
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.small_functions import lowest
from onnxplain_server.trees.reading.ensemble import CellSets

DOUBTFUL = -1
"""Label of a piece where two outputs differ by less than the runtime's rounding."""


class OutputTrees(NamedTuple):
    """Trees for the kernel: `values` are the leaves' outputs, `number` is a node's leaf."""

    roots: Int32Vector
    feature: Int32Vector
    true: Int32Vector
    false: Int32Vector
    truth: CellSets
    number: Int32Vector
    values: Matrix
    offset: Vector
    first: Int32Vector
    depth: int
    max_runs: int


class _Buffers(NamedTuple):
    """Buffers of one row.

    `path` are the nodes on its path; `node`, `low` and `high` are a stack of nodes with runs of the
    free feature. `change` holds the changes of outputs at borders, and `marked` these borders as
    bits; `base` are the row's outputs, and `now` those at the current cell.
    """

    path: Int32Vector
    node: Int32Vector
    low: Int32Vector
    high: Int32Vector
    change: Matrix
    marked: Array
    seen: Array
    base: Vector
    now: Vector


@inlined
def _make_buffers(trees: Any) -> Any:
    size = (trees.depth + 1) * (2 * trees.max_runs + 2) + 2
    borders, n_outputs = trees.first[-1] + 1, trees.values.shape[1]
    return _Buffers(
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
def _label(values: Any, tolerance: Any) -> int:
    """Return the largest output, or `DOUBTFUL`."""
    best = 0
    for k in range(1, len(values)):
        if values[k] > values[best]:
            best = k
    margin = tolerance[1] + tolerance[0] * abs(values[best])
    for k in range(len(values)):
        if k != best and values[best] - values[k] <= margin:
            return DOUBTFUL
    return best


class _PieceList(NamedTuple):
    """Growable list of pieces: row, place, cell and label, and outputs if wanted."""

    pieces: Int32Matrix
    outputs: Matrix


@inlined
def _append(piece_list: Any, count: int, piece: Any, values: Any) -> Any:
    """Append a piece, and double the list where it is full."""
    pieces, outputs = piece_list
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
    return _PieceList(pieces, outputs)


@inlined
def _descend(trees: Any, buffers: Any, codes: Any, root: int) -> Any:
    """Descend a tree and record the path: the leaf, and the number of steps."""
    # Arrays are looked up once, here and below: a lookup in a tuple takes longer than a step.
    feature, true, false, path = trees.feature, trees.true, trees.false, buffers.path
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


# Long: calls would take longer than the steps.
@inlined
def _free(  # noqa: C901 - calls would take longer than the steps
    trees: Any,
    buffers: Any,
    codes: Any,
    start_node: int,
    free: int,
    own: int,
    lowest_border: int,
    highest_border: int,
) -> None:
    """Descend from a node with one feature free in a run of its cells, and record the changes.

    At both ends of a leaf's run, outputs change by its difference from the row's own leaf.
    """
    feature, true, false, number = trees.feature, trees.true, trees.false, trees.number
    start, begin, end = trees.truth
    values, change, marked = trees.values, buffers.change, buffers.marked
    node, low, high = buffers.node, buffers.low, buffers.high
    node[0], low[0], high[0] = start_node, lowest_border, highest_border
    top = 1
    while top:
        top -= 1
        here, a, b = node[top], low[top], high[top]
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
                    node[top], low[top], high[top] = false[here], reached, first
                    top += 1
                if first < last:
                    node[top], low[top], high[top] = true[here], first, last
                    top += 1
                reached = last
            if reached < b:
                node[top], low[top], high[top] = false[here], reached, b
                top += 1
        elif number[here] != own:
            leaf = number[here]
            for k in range(values.shape[1]):
                difference = values[leaf, k] - values[own, k]
                change[a, k] += difference
                change[b, k] -= difference
            marked[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
            marked[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@inlined
def _gather(
    trees: Any, buffers: Any, codes: Any, places: Any, low: Any, high: Any, stamp: int
) -> int:
    """Add up a row's leaves, and record changes as features move: the next tree's stamp."""
    feature, values = trees.feature, trees.values
    base, path, seen = buffers.base, buffers.path, buffers.seen
    base[:] = trees.offset
    for root in trees.roots:
        own, steps = _descend(trees, buffers, codes, root)
        stamp += 1
        for k in range(len(base)):
            base[k] += values[own, k]
        for step in range(steps):
            j = feature[path[step]]
            place = places[j]
            # In a range of one cell the feature cannot move.
            if place >= 0 and seen[j] != stamp and low[place] < high[place]:
                seen[j] = stamp
                _free(trees, buffers, codes, path[step], j, own, low[place], high[place] + 1)
    return stamp


@inlined
def _take_marks(buffers: Any, word: int, low: int, high: int) -> Any:
    """Clear and return the marks of a word from border `low` to `high`."""
    bits = buffers.marked[word]
    if word == low >> 6:
        bits &= ~np.uint64(0) << np.uint64(low & 63)
    if word == high >> 6:
        bits &= ~np.uint64(0) >> np.uint64(63 - (high & 63))
    buffers.marked[word] &= ~bits
    return bits


@inlined
def _sweep(
    buffers: Any,
    row: int,
    place: int,
    low: int,
    high: int,
    tolerance: Any,
    piece_list: Any,
    count: int,
) -> Any:
    """Append the pieces of one feature, from marked border to marked border."""
    buffers.now[:] = buffers.base
    start, last = low, -2
    for word in range(low >> 6, (high >> 6) + 1):
        bits = _take_marks(buffers, word, low, high)
        while bits:
            border = (word << 6) + lowest(bits)
            bits &= bits - np.uint64(1)
            if border > start:
                label = _label(buffers.now, tolerance)
                if len(piece_list.outputs) or label != last or label == DOUBTFUL:
                    piece_list = _append(piece_list, count, (row, place, start, label), buffers.now)
                    count += 1
                last, start = label, border
            for k in range(len(buffers.now)):
                buffers.now[k] += buffers.change[border, k]
                buffers.change[border, k] = 0.0
    if start < high:
        label = _label(buffers.now, tolerance)
        if len(piece_list.outputs) or label != last or label == DOUBTFUL:
            piece_list = _append(piece_list, count, (row, place, start, label), buffers.now)
            count += 1
    return piece_list, count


@kernel
def find_pieces(
    a: int, b: int, trees: OutputTrees, rows: Int32Matrix, places: Int32Vector, lows: Int32Matrix,
    highs: Int32Matrix, tolerance: Vector, with_outputs: bool,
) -> tuple[Int32Matrix, Matrix]:  # fmt: skip
    """Find the pieces of the rows from a to b."""
    buffers = _make_buffers(trees)
    capacity = max(16, 2 * (b - a) * lows.shape[1])
    outputs = np.empty((capacity if with_outputs else 0, trees.values.shape[1]))
    piece_list, count, stamp = _PieceList(np.empty((capacity, 4), np.int32), outputs), 0, 0
    for row in range(a, b):
        stamp = _gather(trees, buffers, rows[row], places, lows[row], highs[row], stamp)
        for feature in range(len(places)):
            place = places[feature]
            if place >= 0:
                low, high = lows[row, place], highs[row, place] + 1
                piece_list, count = _sweep(
                    buffers, row, place, low, high, tolerance, piece_list, count
                )
    return piece_list.pieces[:count], piece_list.outputs[: count if with_outputs else 0]
