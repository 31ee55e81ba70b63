"""Kernels of `planes`: 64 rows descend at once, and each sweeps a plane of points.

Points along the first feature are passed in order, with the sums of leaves at all points of the
second one in a line. Where a rectangle begins or ends, its part of the line changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import (
    Cube,
    Flags,
    Int32Matrix,
    Int32Vector,
    Matrix,
    Vector,
    Words,
)
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import FEATURE, INSIDE, LOW, MANY, SPAN
from onnxplain_server.trees.kernels.small_functions import lowest
from onnxplain_server.trees.reading.ensemble import CellSets
from onnxplain_server.trees.reading.links import EXPONENTIAL, LOGISTIC, SOFTMAX, LinkScale
from onnxplain_server.trees.stepping.rectangles import Edges, Grid, PlanePoints
from onnxplain_server.trees.stepping.step_kernels import DescentInput

_WORD = 64
"""Rows that descend at once: one bit of a word each."""


class _Reach(NamedTuple):
    """Words of 64 rows, one bit each: those that reach borders, nodes and leaves.

    Attributes
    ----------
    below : (n_borders,)
        Rows whose cell is below each border of a feature.
    leaf : (n_leaves,)
        Rows that reach each leaf for some values of the two features.
    node : (capacity,)
        Stack of nodes; the other two hold the rows that reach each.
    free, own : (capacity,)
        For some values of the two features, and for the row's own.
    """

    below: Words
    leaf: Words
    node: Int32Vector
    free: Words
    own: Words


@inlined
def _find_below(a: int, b: int, cells: Int32Matrix, first: Int32Vector, below: Words) -> None:
    """Find the rows below each border."""
    below[:] = 0
    for i in range(a, b):
        for feature in range(cells.shape[1]):
            below[cells[i, feature] + 1] |= np.uint64(1) << np.uint64(i - a)
    for feature in range(len(first) - 1):
        for border in range(first[feature] + 1, first[feature + 1]):
            below[border] |= below[border - 1]


@inlined
def _inside(node: int, nodes: Int32Matrix, truth: CellSets, below: Words) -> Any:
    """Return the rows whose cell is inside the set of a node."""
    begin, span = nodes[node, LOW], nodes[node, SPAN]
    if span != MANY:
        return below[begin + span] & ~below[begin]
    inside = np.uint64(0)
    for run in range(truth.start[node], truth.start[node + 1]):
        inside |= below[truth.high[run]] & ~below[truth.low[run]]
    return inside


@inlined
def _subtract(rows: np.uint64, values: Matrix, leaf: int, own: Matrix) -> None:
    """Subtract a leaf's values from the sums of some rows."""
    while rows:
        row = lowest(rows)
        rows &= rows - np.uint64(1)
        for k in range(len(own)):
            own[k, row] -= values[leaf, k]


@inlined
def _find_leaves(
    rows: DescentInput,
    grid: Grid,
    within_reach: Flags,
    every: np.uint64,
    reach: _Reach,
    own: Matrix,
) -> None:
    """Find the rows that reach each leaf, and subtract the leaves at the rows' own cells.

    All rows descend at once; `own` is (n_targets, 64).
    """
    # Arrays are looked up once, here and below: a lookup in a tuple takes longer than a step.
    nodes, truth, values = rows.descent.nodes, rows.descent.truth, rows.values
    first, second = grid.features
    below, leaf, stack, frees, owns = reach
    leaf[:] = 0
    for root in grid.roots:
        stack[0], frees[0], owns[0] = root, every, every
        top = 1
        while top > 0:
            top -= 1
            node, free, mine = stack[top], frees[top], owns[top]
            feature = nodes[node, FEATURE]
            if feature < 0:
                leaf[-1 - feature] = free
                _subtract(mine, values, -1 - feature, own)
                continue
            inside = _inside(node, nodes, truth, below)
            is_free = feature in (first, second)
            for side in range(2):
                child, here = nodes[node, INSIDE + side], inside if side == 0 else ~inside
                passing = free if is_free else free & here
                if not within_reach[child]:
                    passing = np.uint64(0)
                if passing | (mine & here):
                    stack[top], frees[top], owns[top] = child, passing, mine & here
                    top += 1


@inlined
def _cross(begin: int, end: int, edges: Edges, reach: Words, base: Matrix, line: Cube) -> None:
    """Change the sums of leaves at some edges."""
    span, steps, base_steps = edges.span, edges.step, edges.base_step
    for edge in range(begin, end):
        rows = reach[span[edge, 0]]
        if not rows:
            continue
        bottom, top = span[edge, 1], span[edge, 2]
        for k in range(len(base)):
            step, base_step, left = steps[edge, k], base_steps[edge, k], rows
            while left and step != 0:
                row = lowest(left)
                left &= left - np.uint64(1)
                base[k, row] += base_step
                part = line[k, row, bottom:top]
                for y in range(len(part)):
                    part[y] += step


_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
_LOWEST, _HIGHEST = -708.0, 709.0
_ROUNDING = 6755399441055744.0
"""1.5 · 2^52: a float64 plus this is rounded to an integer, which its last bits hold."""


@inlined
def _exponential(x: float) -> float:
    """Return e^x to 2^-51, as the compiler can compute it for several numbers at once.

    Numbers below -708 count as -708. Above 709, the result is infinite.
    x = k · log 2 + r with an integer k and |r| ≤ log(2) / 2; e^r is a Taylor polynomial.
    """
    bounded = min(max(x, _LOWEST), _HIGHEST)
    shifted = bounded * _LOG2_E + _ROUNDING
    k = shifted - _ROUNDING
    r = (bounded - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    low = (1.0 + r) + r2 * (1 / 2 + r * (1 / 6))
    middle = (1 / 24 + r * (1 / 120)) + r2 * (1 / 720 + r * (1 / 5040))
    high = (1 / 40320 + r * (1 / 362880)) + r2 * (1 / 3628800 + r * (1 / 39916800))
    r4 = r2 * r2
    highest = 1 / 479001600 + r * (1 / 6227020800)
    power = low + r4 * (middle + r4 * (high + r4 * highest))
    exponent = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52)
    result = power * np.int64(exponent).view(np.float64)
    if x > _HIGHEST:
        return np.inf
    return result


@inlined
def _link(levels: Matrix, count: int, scale: LinkScale, outputs: Matrix, work: Vector) -> None:
    """Compute linked scores, (n_scores, n_points), from sums of leaves."""
    for k in range(len(outputs)):
        own = outputs[k, :count]
        own[:] = scale.offset[k]
        for target in range(len(levels)):
            factor, level = scale.matrix[k, target], levels[target, :count]
            if factor != 0:
                for point in range(len(own)):
                    own[point] += factor * level[point]
        if scale.link == LOGISTIC:
            for point in range(len(own)):
                own[point] = 1 / (1 + _exponential(-own[point]))
        elif scale.link == EXPONENTIAL:
            for point in range(len(own)):
                own[point] = _exponential(own[point])
    if scale.link == SOFTMAX:
        _softmax(outputs, count, work)


@inlined
def _softmax(outputs: Matrix, count: int, work: Vector) -> None:
    """Turn scores into their softmax."""
    work[:] = -np.inf
    for k in range(len(outputs)):
        own = outputs[k, :count]
        for point in range(len(own)):
            work[point] = max(work[point], own[point])
    for k in range(len(outputs)):
        own = outputs[k, :count]
        for point in range(len(own)):
            own[point] = _exponential(own[point] - work[point])
    work[:] = 0
    for k in range(len(outputs)):
        own = outputs[k, :count]
        for point in range(len(own)):
            work[point] += own[point]
    for k in range(len(outputs)):
        own = outputs[k, :count]
        for point in range(len(own)):
            own[point] /= work[point]


@inlined
def _sweep(
    edges: Edges,
    points: PlanePoints,
    scale: LinkScale,
    reach: Words,
    base: Matrix,
    line: Cube,
    shares: Vector,
    levels: Cube,
    outputs: Matrix,
    work: Vector,
    totals: Cube,
) -> None:
    """Add outputs of rows at all points, times shares, to `totals`: one for all, or for each."""
    starts, every_place = points.start, points.place
    done, last = 0, len(starts) - 2
    for x in range(last + 1):
        _cross(edges.start[x], edges.start[x + 1], edges, reach, base, line)
        begin, end = starts[x], starts[x + 1]
        places = every_place[begin:end]
        for i in range(len(shares)):
            for k in range(len(base)):
                level, sums = levels[i, k, begin - done : end - done], line[k, i]
                for point in range(len(places)):
                    level[point] = base[k, i] + sums[places[point]]
        if x < last and starts[x + 2] - done <= len(work):
            continue
        for i in range(len(shares)):
            _link(levels[i], end - done, scale, outputs, work)
            total = totals[min(i, len(totals) - 1)]
            for k in range(len(total)):
                own, output = total[k, done:end], outputs[k]
                for point in range(len(own)):
                    own[point] += shares[i] * output[point]
        done = end


@kernel
def add_outputs(
    a: int,
    b: int,
    rows: DescentInput,
    first: Int32Vector,
    grid: Grid,
    edges: Edges,
    points: PlanePoints,
    scale: LinkScale,
    shares: Vector,
    totals: Cube,
) -> None:
    """Add the outputs of the rows from a to b, times shares, to `totals`: one, or for each row."""
    targets, tile = rows.values.shape[1], points.tile
    reach = _Reach(
        np.empty(first[-1], np.uint64),
        np.empty(len(rows.values), np.uint64),
        np.empty(grid.capacity, np.int32),
        np.empty(grid.capacity, np.uint64),
        np.empty(grid.capacity, np.uint64),
    )
    base, line = np.empty((targets, _WORD)), np.empty((targets, _WORD, grid.sizes[1]))
    levels = np.empty((_WORD, targets, tile))
    outputs, work = np.empty((totals.shape[1], tile)), np.empty(tile)
    for start in range(a, b, _WORD):
        stop = min(start + _WORD, b)
        for i in range(start, stop):
            for k in range(targets):
                base[k, i - start] = rows.sums[i, k]
        line[:] = 0
        _find_below(start, stop, rows.cells, first, reach.below)
        every = ~np.uint64(0) >> np.uint64(_WORD - (stop - start))
        _find_leaves(rows, grid, edges.within_reach, every, reach, base)
        own, into = shares[start:stop], totals[start:stop] if len(totals) > 1 else totals
        _sweep(edges, points, scale, reach.leaf, base, line, own, levels, outputs, work, into)
