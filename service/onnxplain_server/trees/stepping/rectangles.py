"""Rectangles: the points of two features at which a row may reach a leaf, found once per pair.

Which leaves a row can reach by moving two features depends on its other features. Where on the
plane of the two features it reaches each of them depends on the trees alone: on the comparisons
of the two features above the leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Flags, Int32Matrix, Int32Vector, Matrix
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import (
    FEATURE,
    INSIDE,
    LOW,
    MANY,
    OUTSIDE,
    SPAN,
    Descent,
)
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.stepping.step_functions import trees_comparing

LEFT, RIGHT, BOTTOM, TOP = range(4)
"""Columns of bounds: first point along the first feature and the one after the last, and the
same for the second."""


class Grid(NamedTuple):
    """Two moved features and their distinct points, as a tuple that kernels accept.

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
    capacity : int
        Most rectangles on the stack of a descent.
    """

    features: tuple[int, int]
    roots: Int32Vector
    first: tuple[int, int]
    at: tuple[Int32Vector, Int32Vector]
    sizes: tuple[int, int]
    capacity: int


class PlanePoints(NamedTuple):
    """Points in the order of a sweep, as a tuple that kernels accept.

    Attributes
    ----------
    start : (sizes[0] + 1,)
        First of the points at each place along the first feature.
    place : (n_points,)
        Place of each along the second feature.
    tile : int
        Number of points whose sums are in memory before their outputs are computed: at least those
        at one place.
    """

    start: Int32Vector
    place: Int32Vector
    tile: int


class Edges(NamedTuple):
    """Left and right edges of the rectangles in the order of a sweep, for kernels.

    Attributes
    ----------
    start : (sizes[0] + 1,)
        First of the edges at each point along the first feature.
    span : (n_edges, 3)
        Leaf, first point along the second feature and the one after the last.
    step : (n_edges, n_targets)
        Change of the sums of leaves at these points: the leaf's values, negative where its
        rectangle ends.
    base_step : (n_edges, n_targets)
        Change at all points of the second feature.
    within_reach : (n_nodes,)
        Whether some point reaches the node, if the other features let it.
    """

    start: Int32Vector
    span: Int32Matrix
    step: Matrix
    base_step: Matrix
    within_reach: Flags


def make_grid(trees: Ensemble, features: tuple[int, int], points: tuple[Int32Array, ...]) -> Grid:
    """Make the grid of two features at distinct cells of each, ascending."""
    roots, capacity = trees_comparing(trees, features)
    first, second = (trees.first[j : j + 2] for j in features)
    at = _below(points[0], first), _below(points[1], second)
    sizes = len(points[0]), len(points[1])
    return Grid(features, roots, (int(first[0]), int(second[0])), at, sizes, capacity)


def find_edges(descent: Descent, grid: Grid, values: Matrix) -> Edges:
    """Find the edges of all leaves of the trees that compare one of the features.

    Rectangles that reach the last point along the first feature have no right edge. An edge over
    more than half of the second feature, up to one of its ends, changes all points by as much,
    and the others back.
    """
    within_reach = np.zeros(len(descent.nodes), dtype=np.bool_)
    leaf, bounds = _find(descent, grid, within_reach)
    ends = np.flatnonzero(bounds[:, RIGHT] < grid.sizes[0])
    at = np.concatenate([bounds[:, LEFT], bounds[ends, RIGHT]])
    rectangle = np.concatenate([np.arange(len(leaf)), ends])
    sign = np.repeat([1.0, -1.0], [len(leaf), len(ends)])
    order = np.argsort(at, kind="stable")
    at, rectangle, sign = at[order], rectangle[order], sign[order]
    bottom, top = bounds[rectangle, BOTTOM], bounds[rectangle, TOP]
    size = grid.sizes[1]
    from_below = (bottom == 0) & (2 * top > size)
    from_above = (top == size) & (2 * bottom < size) & ~from_below
    step = sign[:, None] * values[leaf[rectangle]]
    is_base = (from_below | from_above)[:, None]
    span = np.column_stack(
        [
            leaf[rectangle],
            np.where(from_below, top, np.where(from_above, 0, bottom)),
            np.where(from_below, size, np.where(from_above, bottom, top)),
        ]
    )
    start = np.searchsorted(at, np.arange(grid.sizes[0] + 1)).astype(np.int32)
    base_step = np.where(is_base, step, 0)
    return Edges(start, span, np.where(is_base, -step, step), base_step, within_reach)


def _below(points: Int32Array, borders: Int32Array) -> Int32Array:
    return np.searchsorted(points, np.arange(*borders)).astype(np.int32)


_Stack = npt.NDArray[np.int32]
"""(capacity, 5): rectangles, each with the node to go on at."""


@inlined
def _push(stack: _Stack, top: int, node: int, bounds: Int32Array) -> int:
    """Push a rectangle on the stack, unless it is empty."""
    if bounds[LEFT] < bounds[RIGHT] and bounds[BOTTOM] < bounds[TOP]:
        for side in range(4):  # a slice takes longer
            stack[top, side] = bounds[side]
        stack[top, 4] = node
        return top + 1
    return top


@inlined
def _split(
    stack: _Stack, top: int, node: int, axis: int, bounds: Int32Array, descent: Descent, grid: Grid
) -> int:
    """Split a rectangle along one axis, at a node that compares it, and push its parts."""
    nodes, truth = descent.nodes, descent.truth
    at, first = grid.at[axis], grid.first[axis]
    lower, upper = 2 * axis, 2 * axis + 1
    low, high = bounds[lower], bounds[upper]
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
        start = min(max(at[begin - first], low), high)
        stop = min(max(at[end - first], low), high)
        bounds[lower], bounds[upper] = low, start
        top = _push(stack, top, nodes[node, OUTSIDE], bounds)
        bounds[lower], bounds[upper] = start, stop
        top = _push(stack, top, nodes[node, INSIDE], bounds)
        low = stop
    bounds[lower], bounds[upper] = low, high
    return _push(stack, top, nodes[node, OUTSIDE], bounds)


@kernel
def _find(descent: Descent, grid: Grid, within_reach: Flags) -> tuple[Int32Vector, Int32Matrix]:
    """Find the rectangles of leaves in the order of a descent, and mark the nodes above them."""
    nodes, stack = descent.nodes, np.empty((grid.capacity, 5), np.int32)
    leaf, found = np.empty(1024, np.int32), np.empty((1024, 4), np.int32)
    bounds, count = np.empty(4, np.int32), 0
    for root in grid.roots:
        bounds[LEFT], bounds[RIGHT] = 0, grid.sizes[0]
        bounds[BOTTOM], bounds[TOP] = 0, grid.sizes[1]
        top = _push(stack, 0, root, bounds)
        while top > 0:
            top -= 1
            node = stack[top, 4]
            for side in range(4):
                bounds[side] = stack[top, side]
            within_reach[node] = True
            feature = nodes[node, FEATURE]
            if feature == grid.features[0]:
                top = _split(stack, top, node, 0, bounds, descent, grid)
            elif feature == grid.features[1]:
                top = _split(stack, top, node, 1, bounds, descent, grid)
            elif feature >= 0:
                top = _push(stack, top, nodes[node, INSIDE], bounds)
                top = _push(stack, top, nodes[node, OUTSIDE], bounds)
            else:
                if count == len(leaf):
                    longer, more = np.empty(2 * count, np.int32), np.empty((2 * count, 4), np.int32)
                    longer[:count], more[:count] = leaf, found
                    leaf, found = longer, more
                leaf[count] = -1 - feature
                for side in range(4):
                    found[count, side] = bounds[side]
                count += 1
    return leaf[:count].copy(), found[:count].copy()
