"""Kernels of `step_functions`: rows descend with one feature free, and their steps are added up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Cube, Int32Matrix, Int32Vector, Matrix, Vector
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
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import EXPONENTIAL, IDENTITY, SOFTMAX, LinkScale


class FeaturePoints(NamedTuple):
    """A moved feature and its points, as a tuple that kernels accept.

    Attributes
    ----------
    feature : int
    roots : (n_trees,)
        Roots of the trees that compare it.
    first : int
        Its first border.
    at : (n_borders,)
        Number of points below each of its borders.
    n_points : int
    capacity : int
        Most intervals on the stack of a descent.
    """

    feature: int
    roots: Int32Vector
    first: int
    at: Int32Vector
    n_points: int
    capacity: int


class DescentInput(NamedTuple):
    """Trees, and the rows that descend them, as a tuple that kernels accept.

    Attributes
    ----------
    descent : Descent
    values : (n_leaves, n_targets)
    cells : (n, n_features)
    sums : (n, n_targets)
        Sums of leaves of the unchanged rows.
    """

    descent: Descent
    values: Matrix
    cells: Int32Matrix
    sums: Matrix


_Stack = npt.NDArray[np.int32]
"""(capacity, 4): intervals of the feature, each with the node to go on at, its first point, the
one after its last, and whether the row's own cell is in it."""


@inlined
def _push(stack: _Stack, top: int, node: int, low: int, high: int, own: int) -> int:
    """Push an interval on the stack, unless it is empty."""
    if low < high or own:
        stack[top, 0] = node
        stack[top, 1] = low
        stack[top, 2] = high
        stack[top, 3] = own
        return top + 1
    return top


@inlined
def _split(
    stack: _Stack,
    top: int,
    node: int,
    interval: Any,
    code: int,
    descent: Descent,
    moved: FeaturePoints,
) -> int:
    """Split an interval at a node that compares the feature, and push its parts."""
    nodes, truth = descent.nodes, descent.truth
    low, high, own = interval
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
        start = min(max(moved.at[begin - moved.first], low), high)
        stop = min(max(moved.at[end - moved.first], low), high)
        top = _push(stack, top, nodes[node, OUTSIDE], low, start, 0)
        top = _push(stack, top, nodes[node, INSIDE], start, stop, here)
        low = stop
        own -= here
    return _push(stack, top, nodes[node, OUTSIDE], low, high, own)


@inlined
def _find_steps(
    row: Int32Array, rows: DescentInput, moved: FeaturePoints, stack: _Stack, steps: Matrix
) -> None:
    """Find the change of a row's sums at each point: (n_points + 2, n_targets).

    The last line holds the sum, over the trees that compare the feature, at the row's own cell.
    """
    descent, values = rows.descent, rows.values
    nodes = descent.nodes
    steps[:] = 0
    for root in moved.roots:
        top = _push(stack, 0, root, 0, moved.n_points, 1)
        while top > 0:
            top -= 1
            node, low, high, own = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            feature = nodes[node, FEATURE]
            while feature >= 0 and feature != moved.feature:
                code, begin = row[feature], nodes[node, LOW]
                inside = begin <= code < begin + nodes[node, SPAN]
                if nodes[node, SPAN] == MANY:
                    inside = False
                    for run in range(descent.truth.start[node], descent.truth.start[node + 1]):
                        inside |= descent.truth.low[run] <= code < descent.truth.high[run]
                node = nodes[node, INSIDE + (0 if inside else 1)]
                feature = nodes[node, FEATURE]
            if feature >= 0:
                interval = (low, high, own)
                top = _split(stack, top, node, interval, row[feature], descent, moved)
                continue
            for k in range(values.shape[1]):
                value = values[-1 - feature, k]
                if low < high:
                    steps[low, k] += value
                    steps[high, k] -= value
                if own:
                    steps[-1, k] += value


@inlined
def _step(level: Vector, step: Vector) -> bool:
    """Add a step to the level; return whether it changes."""
    is_changed = False
    for k in range(len(level)):
        is_changed |= step[k] != 0
        level[k] += step[k]
    return is_changed


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
    if scale.link == IDENTITY:
        return
    if scale.link != SOFTMAX:
        for k in range(len(outputs)):
            is_exponential = scale.link == EXPONENTIAL
            power = np.exp(outputs[k] if is_exponential else -outputs[k])
            outputs[k] = power if is_exponential else 1 / (1 + power)
        return
    total = 0.0
    for k in range(len(outputs)):
        outputs[k] = np.exp(outputs[k] - largest)
        total += outputs[k]
    for k in range(len(outputs)):
        outputs[k] /= total


@kernel
def average_outputs(
    a: int,
    b: int,
    rows: DescentInput,
    moved: FeaturePoints,
    scale: LinkScale,
    row_shares: Vector,
    point_shares: Vector,
    own: Matrix,
    others: Matrix,
) -> None:
    """Average outputs over the rows from a to b, which adds to `own`, and over points."""
    steps = np.empty((moved.n_points + 2, rows.values.shape[1]))
    stack = np.empty((moved.capacity, 4), np.int32)
    level, outputs = np.empty(rows.values.shape[1]), np.empty(len(scale.offset))
    for i in range(a, b):
        _find_steps(rows.cells[i], rows, moved, stack, steps)
        for k in range(len(level)):
            level[k] = rows.sums[i, k] - steps[-1, k]
        for point in range(moved.n_points):
            if _step(level, steps[point]) or point == 0:
                _link(level, scale, outputs)
            for k in range(len(outputs)):
                own[point, k] += row_shares[i] * outputs[k]
                others[i, k] += point_shares[point] * outputs[k]


@kernel
def compute_outputs(
    a: int, b: int, rows: DescentInput, moved: FeaturePoints, scale: LinkScale, outputs: Cube
) -> None:
    """Compute the outputs of the rows from a to b at all points."""
    steps = np.empty((moved.n_points + 2, rows.values.shape[1]))
    stack = np.empty((moved.capacity, 4), np.int32)
    level = np.empty(rows.values.shape[1])
    for i in range(a, b):
        _find_steps(rows.cells[i], rows, moved, stack, steps)
        for k in range(len(level)):
            level[k] = rows.sums[i, k] - steps[-1, k]
        for point in range(moved.n_points):
            if _step(level, steps[point]) or point == 0:
                _link(level, scale, outputs[i, point])
            else:
                outputs[i, point] = outputs[i, point - 1]
