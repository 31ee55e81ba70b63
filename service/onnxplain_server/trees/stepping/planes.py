"""A row's answer as a function of two features: boxes of the leaves within reach, added up.

As in `steps`, with two features free: each leaf within reach adds its value over rectangles of
cells. Four corners of each are noted in a table, and running sums in both directions turn it
into what the trees add up for every pair of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Cube, Matrix, Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import FEATURE, INSIDE, LOW, MANY, OUTSIDE, SPAN
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkScale
from onnxplain_server.trees.stepping.step_functions import RowPaths, trees_comparing

_BLOCK = 64
"""Rows that one call works on."""
_AT_ONCE = 16
"""Blocks whose averages are held before they are added up."""
_MOST_ENTRIES = 4_000_000
"""Of a table; each thread has one."""


class PlaneGrid(NamedTuple):
    """Two features that move, and where to; as a tuple, so that kernels take it.

    Attributes
    ----------
    features : two ints
    roots : (n_trees,)
        Of the trees that compare one of them.
    first : two ints
        First border of each.
    at : two arrays (n_borders,)
        Number of distinct points below each of their borders.
    sizes : two ints
        Number of distinct points along each.
    places : (2, n_points)
        Where each point is among them.
    room : int
        Most pieces of the plane that wait at a time while a row goes down.
    """

    features: tuple[int, int]
    roots: Int32Array
    first: tuple[int, int]
    at: tuple[Int32Array, Int32Array]
    sizes: tuple[int, int]
    places: Int32Array
    room: int


def fits_in_table(linked: LinkedEnsemble, cells: Int32Array) -> bool:
    """Whether points of two features, (2, n_points), span a table of a size to work with."""
    sizes = [len(np.unique(own)) + 1 for own in cells]
    return len(cells) == 2 and sizes[0] * sizes[1] * _targets(linked) <= _MOST_ENTRIES


def plane_means(
    linked: LinkedEnsemble,
    walk: RowPaths,
    shares: Vector,
    features: tuple[int, int],
    cells: Int32Array,
    pool: BlockPool,
) -> Matrix:
    """Average over rows with two features at points: (n_points, n_outputs).

    Parameters
    ----------
    shares : (n,)
        Of the rows that walk.
    cells : (2, n_points)
        The points.
    """
    plane, scale = _plane(linked, features, cells), linked.scale
    total = np.zeros((cells.shape[1], len(scale.offset)))
    spans = blocks(len(shares), _BLOCK)

    def average(span: tuple[int, int]) -> Matrix:
        part = np.zeros_like(total)
        _average(*span, walk, plane, scale, shares, part)
        return part

    for start in range(0, len(spans), _AT_ONCE):
        for part in pool.run(average, spans[start : start + _AT_ONCE]):
            total += part
    return total


def _targets(linked: LinkedEnsemble) -> int:
    return int(linked.ensemble.values.shape[1])


def _plane(linked: LinkedEnsemble, features: tuple[int, int], cells: Int32Array) -> PlaneGrid:
    trees, (j, k) = linked.ensemble, features
    roots, room = trees_comparing(trees, features)
    (own, places), (other, other_places) = (np.unique(c, return_inverse=True) for c in cells)
    borders = [np.arange(trees.first[i], trees.first[i + 1]) for i in features]
    at = (_below(own, borders[0]), _below(other, borders[1]))
    both = np.stack([places, other_places]).astype(np.int32)
    first = int(trees.first[j]), int(trees.first[k])
    return PlaneGrid((j, k), roots, first, at, (len(own), len(other)), both, room)


def _below(points: Int32Array, borders: npt.NDArray[np.intp]) -> Int32Array:
    return np.searchsorted(points, borders).astype(np.int32)


_Stack = npt.NDArray[np.int32]
"""(room, 6): pieces of the plane that wait, each with the node to go on at, the first point along
the one feature and the one after its last, the same for the other, and whether the row's own
cells are in it."""


@inlined
def _wait(stack: _Stack, top: int, node: int, piece: Int32Array) -> int:
    """Put a piece on the stack, unless nothing is in it."""
    if (piece[1] < piece[2] and piece[3] < piece[4]) or piece[5]:
        stack[top] = piece
        stack[top, 0] = node
        return top + 1
    return top


@inlined
def _divide(
    stack: _Stack,
    top: int,
    axis: int,
    piece: Int32Array,
    code: int,
    walk: RowPaths,
    plane: PlaneGrid,
) -> int:
    """Send the parts of a piece both ways, along one of its axes."""
    nodes, truth = walk.way.nodes, walk.way.truth
    node, at, first = piece[0], plane.at[axis], plane.first[axis]
    low, high = piece[1 + 2 * axis], piece[2 + 2 * axis]
    own = piece[5]
    first_run, last_run = 0, 1
    if nodes[node, SPAN] == MANY:
        first_run, last_run = truth.start[node], truth.start[node + 1]
    for run in range(first_run, last_run):
        begin = nodes[node, LOW]
        end = begin + nodes[node, SPAN]
        if nodes[node, SPAN] == MANY:
            begin, end = truth.low[run], truth.high[run]
        if begin >= end:
            continue
        here = 1 if own and begin <= code < end else 0
        start = min(max(at[begin - first], low), high)
        stop = min(max(at[end - first], low), high)
        piece[1 + 2 * axis], piece[2 + 2 * axis], piece[5] = low, start, 0
        top = _wait(stack, top, nodes[node, OUTSIDE], piece)
        piece[1 + 2 * axis], piece[2 + 2 * axis], piece[5] = start, stop, here
        top = _wait(stack, top, nodes[node, INSIDE], piece)
        low = stop
        own -= here
    piece[1 + 2 * axis], piece[2 + 2 * axis], piece[5] = low, high, own
    return _wait(stack, top, nodes[node, OUTSIDE], piece)


@inlined
def _way_down(node: int, row: Int32Array, walk: RowPaths, plane: PlaneGrid) -> int:
    """Go on to a leaf, or to a node that compares one of the features."""
    nodes, truth = walk.way.nodes, walk.way.truth
    feature = nodes[node, FEATURE]
    while feature >= 0 and feature != plane.features[0] and feature != plane.features[1]:
        code, begin = row[feature], nodes[node, LOW]
        inside = begin <= code < begin + nodes[node, SPAN]
        if nodes[node, SPAN] == MANY:
            inside = False
            for run in range(truth.start[node], truth.start[node + 1]):
                inside |= truth.low[run] <= code < truth.high[run]
        node = nodes[node, INSIDE + (0 if inside else 1)]
        feature = nodes[node, FEATURE]
    return node


@inlined
def _note(piece: Int32Array, value: Vector, table: Cube, own: Vector) -> None:
    """Note the corners of a leaf's rectangle."""
    for k in range(len(value)):
        if piece[1] < piece[2] and piece[3] < piece[4]:
            table[piece[1], piece[3], k] += value[k]
            table[piece[2], piece[3], k] -= value[k]
            table[piece[1], piece[4], k] -= value[k]
            table[piece[2], piece[4], k] += value[k]
        if piece[5]:
            own[k] += value[k]


@inlined
def _spread(
    row: Int32Array, walk: RowPaths, plane: PlaneGrid, stack: _Stack, table: Cube, own: Vector
) -> None:
    """Fill the table for a row, and what the same trees give at the row's own cells."""
    piece = np.empty(6, np.int32)
    for root in plane.roots:
        piece[:] = 0
        piece[2], piece[4], piece[5] = plane.sizes[0], plane.sizes[1], 1
        top = _wait(stack, 0, root, piece)
        while top > 0:
            top -= 1
            piece[:] = stack[top]
            piece[0] = _way_down(piece[0], row, walk, plane)
            feature = walk.way.nodes[piece[0], FEATURE]
            if feature < 0:
                _note(piece, walk.values[-1 - feature], table, own)
            else:
                axis = 0 if feature == plane.features[0] else 1
                top = _divide(stack, top, axis, piece, row[feature], walk, plane)


@inlined
def _add_up(table: Cube) -> None:
    """Turn corners into sums, in both directions."""
    line = np.empty(table.shape[2])
    for x in range(table.shape[0]):
        line[:] = 0
        for y in range(table.shape[1]):
            for k in range(len(line)):
                line[k] += table[x, y, k]
                table[x, y, k] = line[k] + (table[x - 1, y, k] if x > 0 else 0.0)


@inlined
def _link(level: Vector, scale: LinkScale, answer: Vector) -> None:
    """Turn what the trees add up into probabilities."""
    most = -np.inf
    for k in range(len(answer)):
        score = scale.offset[k]
        for target in range(len(level)):
            score += scale.matrix[k, target] * level[target]
        answer[k] = score
        most = max(most, score)
    total = 0.0
    for k in range(len(answer)):
        power = np.exp(answer[k] - most if scale.is_softmax else -answer[k])
        answer[k] = power if scale.is_softmax else 1 / (1 + power)
        total += power
    if scale.is_softmax:
        for k in range(len(answer)):
            answer[k] /= total


@kernel
def _average(
    a: int,
    b: int,
    walk: RowPaths,
    plane: PlaneGrid,
    scale: LinkScale,
    shares: Vector,
    total: Matrix,
) -> None:
    """Add to `total` the answers of the rows from a to b, times their shares."""
    targets = walk.values.shape[1]
    table = np.empty((plane.sizes[0] + 1, plane.sizes[1] + 1, targets))
    stack = np.empty((plane.room, 6), np.int32)
    own, level, answer = np.empty(targets), np.empty(targets), np.empty(len(scale.offset))
    for i in range(a, b):
        table[:] = 0
        own[:] = 0
        _spread(walk.rows[i], walk, plane, stack, table, own)
        _add_up(table)
        for point in range(plane.places.shape[1]):
            x, y = plane.places[0, point], plane.places[1, point]
            for k in range(targets):
                level[k] = walk.sums[i, k] - own[k] + table[x, y, k]
            _link(level, scale, answer)
            for k in range(len(answer)):
                total[point, k] += shares[i] * answer[k]
