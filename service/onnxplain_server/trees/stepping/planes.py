"""Planes: a row's outputs as a function of two features, by rectangles of the leaves within reach.

As `step_functions` with two features free: each leaf within reach adds its value over rectangles of
cells. A table holds the four corners of each, and cumulative sums in both directions turn it into
the sums of leaves for every pair of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Cube, Int32Matrix, Int32Vector, Matrix, Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import FEATURE, INSIDE, LOW, MANY, OUTSIDE, SPAN
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import LOGISTIC, SOFTMAX, LinkedEnsemble, LinkScale
from onnxplain_server.trees.stepping.step_functions import PARALLEL_BLOCKS, trees_comparing
from onnxplain_server.trees.stepping.step_kernels import DescentInput

_BLOCK = 64
"""Rows per kernel call."""
_MAX_ENTRIES = 4_000_000
"""Entries of a table; each thread has one."""


class PlaneGrid(NamedTuple):
    """Two moved features and their points, as a tuple that kernels accept.

    Attributes
    ----------
    features : two ints
    roots : (n_trees,)
        Roots of the trees that compare one of them.
    first : two ints
        First border of each.
    at : two arrays (n_borders,)
        Number of distinct points below each of their borders.
    sizes : two ints
        Number of distinct points along each.
    places : (2, n_points)
        Position of each point along each.
    capacity : int
        Most rectangles on the stack of a descent.
    """

    features: tuple[int, int]
    roots: Int32Vector
    first: tuple[int, int]
    at: tuple[Int32Vector, Int32Vector]
    sizes: tuple[int, int]
    places: Int32Matrix
    capacity: int


def fits_in_table(linked: LinkedEnsemble, cells: Int32Array) -> bool:
    """Return whether points are of two features, (2, n_points), and their table fits in memory."""
    sizes = [len(np.unique(own)) + 1 for own in cells]
    return len(cells) == 2 and sizes[0] * sizes[1] * _targets(linked) <= _MAX_ENTRIES


def plane_means(
    linked: LinkedEnsemble,
    rows: DescentInput,
    shares: Vector,
    features: tuple[int, int],
    cells: Int32Array,
    pool: BlockPool,
) -> Matrix:
    """Average outputs over rows with two features at points: (n_points, n_outputs).

    Parameters
    ----------
    shares : (n,)
        Weights of the rows, summing to 1.
    cells : (2, n_points)
        The points.
    """
    plane, scale = _plane(linked, features, cells), linked.scale
    total = np.zeros((cells.shape[1], len(scale.offset)))
    spans = blocks(len(shares), _BLOCK)

    def average(span: tuple[int, int]) -> Matrix:
        part = np.zeros_like(total)
        _average(*span, rows, plane, scale, shares, part)
        return part

    for start in range(0, len(spans), PARALLEL_BLOCKS):
        for part in pool.run(average, spans[start : start + PARALLEL_BLOCKS]):
            total += part
    return total


def _targets(linked: LinkedEnsemble) -> int:
    return int(linked.ensemble.values.shape[1])


def _plane(linked: LinkedEnsemble, features: tuple[int, int], cells: Int32Array) -> PlaneGrid:
    trees, (j, k) = linked.ensemble, features
    roots, capacity = trees_comparing(trees, features)
    (own, places), (other, other_places) = (np.unique(c, return_inverse=True) for c in cells)
    borders = [np.arange(trees.first[i], trees.first[i + 1]) for i in features]
    at = (_below(own, borders[0]), _below(other, borders[1]))
    positions = np.stack([places, other_places]).astype(np.int32)
    first = int(trees.first[j]), int(trees.first[k])
    return PlaneGrid((j, k), roots, first, at, (len(own), len(other)), positions, capacity)


def _below(points: Int32Array, borders: npt.NDArray[np.intp]) -> Int32Array:
    return np.searchsorted(points, borders).astype(np.int32)


_Stack = npt.NDArray[np.int32]
"""(capacity, 6): rectangles, each with the node to go on at, the first point along the first
feature and the one after its last, the same for the second, and whether the row's own cells are
in it."""


@inlined
def _push(stack: _Stack, top: int, node: int, rectangle: Int32Array) -> int:
    """Push a rectangle on the stack, unless it is empty."""
    if (rectangle[1] < rectangle[2] and rectangle[3] < rectangle[4]) or rectangle[5]:
        stack[top] = rectangle
        stack[top, 0] = node
        return top + 1
    return top


@inlined
def _split(
    stack: _Stack,
    top: int,
    axis: int,
    rectangle: Int32Array,
    code: int,
    rows: DescentInput,
    plane: PlaneGrid,
) -> int:
    """Split a rectangle along one axis, at a node that compares it, and push its parts."""
    nodes, truth = rows.descent.nodes, rows.descent.truth
    node, at, first = rectangle[0], plane.at[axis], plane.first[axis]
    low, high = rectangle[1 + 2 * axis], rectangle[2 + 2 * axis]
    own = rectangle[5]
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
        rectangle[1 + 2 * axis], rectangle[2 + 2 * axis], rectangle[5] = low, start, 0
        top = _push(stack, top, nodes[node, OUTSIDE], rectangle)
        rectangle[1 + 2 * axis], rectangle[2 + 2 * axis], rectangle[5] = start, stop, here
        top = _push(stack, top, nodes[node, INSIDE], rectangle)
        low = stop
        own -= here
    rectangle[1 + 2 * axis], rectangle[2 + 2 * axis], rectangle[5] = low, high, own
    return _push(stack, top, nodes[node, OUTSIDE], rectangle)


@inlined
def _descend(node: int, row: Int32Array, rows: DescentInput, plane: PlaneGrid) -> int:
    """Descend to a leaf, or to a node that compares one of the features."""
    nodes, truth = rows.descent.nodes, rows.descent.truth
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
def _add_corners(rectangle: Int32Array, value: Vector, table: Cube, own: Vector) -> None:
    """Add a leaf's value at the corners of its rectangle."""
    for k in range(len(value)):
        if rectangle[1] < rectangle[2] and rectangle[3] < rectangle[4]:
            table[rectangle[1], rectangle[3], k] += value[k]
            table[rectangle[2], rectangle[3], k] -= value[k]
            table[rectangle[1], rectangle[4], k] -= value[k]
            table[rectangle[2], rectangle[4], k] += value[k]
        if rectangle[5]:
            own[k] += value[k]


@inlined
def _fill_table(
    row: Int32Array, rows: DescentInput, plane: PlaneGrid, stack: _Stack, table: Cube, own: Vector
) -> None:
    """Fill the table for a row, and the sum of the same trees at the row's own cells."""
    rectangle = np.empty(6, np.int32)
    for root in plane.roots:
        rectangle[:] = 0
        rectangle[2], rectangle[4], rectangle[5] = plane.sizes[0], plane.sizes[1], 1
        top = _push(stack, 0, root, rectangle)
        while top > 0:
            top -= 1
            rectangle[:] = stack[top]
            rectangle[0] = _descend(rectangle[0], row, rows, plane)
            feature = rows.descent.nodes[rectangle[0], FEATURE]
            if feature < 0:
                _add_corners(rectangle, rows.values[-1 - feature], table, own)
            else:
                axis = 0 if feature == plane.features[0] else 1
                top = _split(stack, top, axis, rectangle, row[feature], rows, plane)


@inlined
def _cumulate(table: Cube) -> None:
    """Turn corners into cumulative sums in both directions."""
    line = np.empty(table.shape[2])
    for x in range(table.shape[0]):
        line[:] = 0
        for y in range(table.shape[1]):
            for k in range(len(line)):
                line[k] += table[x, y, k]
                table[x, y, k] = line[k] + (table[x - 1, y, k] if x > 0 else 0.0)


@inlined
def _link(level: Vector, scale: LinkScale, outputs: Vector) -> None:
    """Compute linked scores from sums of leaves."""
    largest = -np.inf
    for k in range(len(outputs)):
        score = scale.offset[k]
        for target in range(len(level)):
            score += scale.matrix[k, target] * level[target]
        outputs[k] = score
        largest = max(largest, score)
    total = 0.0
    for k in range(len(outputs)):
        if scale.link == LOGISTIC:
            outputs[k] = 1 / (1 + np.exp(-outputs[k]))
        else:
            outputs[k] = np.exp(outputs[k] - (largest if scale.link == SOFTMAX else 0.0))
        total += outputs[k]
    if scale.link == SOFTMAX:
        for k in range(len(outputs)):
            outputs[k] /= total


@kernel
def _average(
    a: int,
    b: int,
    rows: DescentInput,
    plane: PlaneGrid,
    scale: LinkScale,
    shares: Vector,
    total: Matrix,
) -> None:
    """Add the outputs of the rows from a to b, times their shares, to `total`."""
    targets = rows.values.shape[1]
    table = np.empty((plane.sizes[0] + 1, plane.sizes[1] + 1, targets))
    stack = np.empty((plane.capacity, 6), np.int32)
    own, level, outputs = np.empty(targets), np.empty(targets), np.empty(len(scale.offset))
    for i in range(a, b):
        table[:] = 0
        own[:] = 0
        _fill_table(rows.cells[i], rows, plane, stack, table, own)
        _cumulate(table)
        for point in range(plane.places.shape[1]):
            x, y = plane.places[0, point], plane.places[1, point]
            for k in range(targets):
                level[k] = rows.sums[i, k] - own[k] + table[x, y, k]
            _link(level, scale, outputs)
            for k in range(len(outputs)):
                total[point, k] += shares[i] * outputs[k]
