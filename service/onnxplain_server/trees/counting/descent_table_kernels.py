"""Kernels of descent tables: rows descend with free features, and leaves add to the tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


class FreeAxis(NamedTuple):
    """A free feature, and the distinct values of the rows as its points.

    `place` counts the points below each border from `first`; `point` is that of each row.
    """

    feature: int
    first: int
    place: Int32Vector
    point: Int32Vector
    size: int


@inlined
def _split(axis: Any, low: Any, span: Any, begin: Any, end: Any) -> tuple[Any, Any, Any, Any]:
    """Split a run of points by a node: those that go inside, and those that go outside."""
    if span == 0:
        return begin, begin, begin, end
    if low == axis.first:
        cut = axis.place[low + span - axis.first]
        return begin, min(end, cut), max(begin, cut), end
    cut = axis.place[low - axis.first]
    return max(begin, cut), end, begin, min(end, cut)


@inlined
def _in_any(code: int, truth: Any, node: int) -> bool:
    """Return whether a cell is in one of a node's runs."""
    is_inside = False
    for run in range(truth.start[node], truth.start[node + 1]):
        is_inside |= truth.low[run] <= code < truth.high[run]
    return is_inside


@inlined
def _go_alone(row: Any, codes: Any, descent: Any, node: int, one: int, two: int) -> int:
    """Descend with a single row, from a node to one that compares a free feature, or to a leaf."""
    nodes = descent.nodes
    feature = nodes[node, FEATURE]
    while feature >= 0 and feature not in (one, two):
        code, low, span = codes[feature, row], nodes[node, LOW], nodes[node, SPAN]
        inside = low <= code < low + span
        if span == MANY:
            inside = _in_any(code, descent.truth, node)
        # Indexed, not branched: the branch predictor would fail half of the time.
        node = nodes[node, INSIDE + (0 if inside else 1)]
        feature = nodes[node, FEATURE]
    return node


@inlined
def _partition(rows: Any, a: int, b: int, codes: Any, descent: Any, node: int, spare: Any) -> int:
    """Partition rows by a node, those inside its run first: the position of the first other."""
    front, back = a, 0
    nodes = descent.nodes
    feature, low, span = nodes[node, FEATURE], nodes[node, LOW], nodes[node, SPAN]
    for i in range(a, b):
        row = rows[i]
        code = codes[feature, row]
        inside = 1 if low <= code < low + span else 0
        if span == MANY:
            inside = 1 if _in_any(code, descent.truth, node) else 0
        # Written to both arrays without a branch, which would be mispredicted half of the time.
        rows[front], spare[back] = row, row
        front += inside
        back += 1 - inside
    for i in range(back):
        rows[front + i] = spare[i]
    return front


@inlined
def _add_leaf(
    rows: Any, a: int, b: int, one: Any, two: Any, runs: Any, shares: Any, values: Any, leaf: int,
    both: Any, own_one: Any, own_two: Any, mean: Any,
) -> None:  # fmt: skip
    """Add a leaf that has conditions on both features; `runs` are its points of each."""
    begin, end, start, stop = runs
    met_none = met_one = met_two = met_both = 0.0
    for i in range(a, b):
        row = rows[i]
        share = shares[row]
        in_one = 1.0 if begin <= one.point[row] < end else 0.0
        in_two = 1.0 if start <= two.point[row] < stop else 0.0
        met_none += share
        met_one += share * in_one
        met_two += share * in_two
        met_both += share * in_one * in_two
    for k in range(values.shape[1]):
        value = values[leaf, k]
        both[begin, start, k] += value * met_none
        both[begin, stop, k] -= value * met_none
        both[end, start, k] -= value * met_none
        both[end, stop, k] += value * met_none
        own_one[begin, k] += value * met_two
        own_one[end, k] -= value * met_two
        own_two[start, k] += value * met_one
        own_two[stop, k] -= value * met_one
        mean[k] += value * met_both


@inlined
def _push(
    stack: Any, top: Any, node: Any, a: Any, b: Any, begin: Any, end: Any, start: Any, stop: Any
) -> Any:
    """Push a node with rows and runs of points to go on with, if there are rows: the new height."""
    stack[top, 0], stack[top, 1], stack[top, 2] = node, a, b
    stack[top, 3], stack[top, 4], stack[top, 5], stack[top, 6] = begin, end, start, stop
    return top + (1 if a < b else 0)


@kernel
def descend_two(
    depth: int, descent: Descent, one: FreeAxis, two: FreeAxis, values: Matrix, codes: Int32Matrix,
    shares: Vector, both: Cube, own_one: Matrix, own_two: Matrix, mean: Vector,
) -> None:  # fmt: skip
    """Descend with all rows; the stack holds rows, the nodes to go on at, and runs of points."""
    n, nodes = codes.shape[1], descent.nodes
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    stack = np.empty((depth + 3, 7), np.int32)
    for root in descent.roots:
        top = _push(stack, 0, root, 0, n, 0, one.size, 0, two.size)
        while top:
            top -= 1
            node, a, b = stack[top, 0], stack[top, 1], stack[top, 2]
            begin, end, start, stop = stack[top, 3], stack[top, 4], stack[top, 5], stack[top, 6]
            if b == a + 1:
                node = _go_alone(rows[a], codes, descent, node, one.feature, two.feature)
            feature = nodes[node, FEATURE]
            if feature < 0:
                if end - begin < one.size and stop - start < two.size:
                    runs = (begin, end, start, stop)
                    _add_leaf(
                        rows, a, b, one, two, runs, shares, values, -1 - feature,
                        both, own_one, own_two, mean,
                    )  # fmt: skip
                continue
            first, last = a, b
            in_begin, in_end, in_start, in_stop = begin, end, start, stop
            low, span = nodes[node, LOW], nodes[node, SPAN]
            if feature == one.feature:
                in_begin, in_end, begin, end = _split(one, low, span, begin, end)
            elif feature == two.feature:
                in_start, in_stop, start, stop = _split(two, low, span, start, stop)
            else:
                first = last = _partition(rows, a, b, codes, descent, node, spare)
            if begin < end and start < stop:
                top = _push(stack, top, nodes[node, OUTSIDE], first, b, begin, end, start, stop)
            if in_begin < in_end and in_start < in_stop:
                runs = (in_begin, in_end, in_start, in_stop)
                top = _push(stack, top, nodes[node, INSIDE], a, last, *runs)


@inlined
def _add_leaf_of_one(
    rows: Any, a: int, b: int, axis: Any, begin: int, end: int, below: Any, shares: Any,
    values: Any, leaf: int, own: Any, others: Any, mean: Any,
) -> None:  # fmt: skip
    """Add a leaf to the effect of all other features, and to its own where it has a condition."""
    has_condition, met_all, met_others = end - begin < axis.size, 0.0, 0.0
    factor = below[end] - below[begin] if has_condition else 1.0
    for i in range(a, b):
        row = rows[i]
        met_others += shares[row]
        met_all += shares[row] if begin <= axis.point[row] < end else 0.0
        for k in range(values.shape[1]):
            others[row, k] += factor * values[leaf, k]
    for k in range(values.shape[1] if has_condition else 0):
        own[begin, k] += values[leaf, k] * met_others
        own[end, k] -= values[leaf, k] * met_others
        mean[k] += values[leaf, k] * met_all


@kernel
def descend_one(
    depth: int, descent: Descent, axis: FreeAxis, below: Vector, values: Matrix, codes: Int32Matrix,
    shares: Vector, own: Matrix, others: Matrix, mean: Vector,
) -> None:  # fmt: skip
    """As `descend_two`, with one feature; `below` are the shares of rows below each point."""
    n, nodes = codes.shape[1], descent.nodes
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    stack = np.empty((depth + 3, 7), np.int32)
    for root in descent.roots:
        top = _push(stack, 0, root, 0, n, 0, axis.size, 0, 0)
        while top:
            top -= 1
            node, a, b = stack[top, 0], stack[top, 1], stack[top, 2]
            begin, end = stack[top, 3], stack[top, 4]
            if b == a + 1:
                node = _go_alone(rows[a], codes, descent, node, axis.feature, axis.feature)
            feature = nodes[node, FEATURE]
            if feature < 0:
                _add_leaf_of_one(
                    rows, a, b, axis, begin, end, below, shares, values, -1 - feature,
                    own, others, mean,
                )  # fmt: skip
                continue
            first, last, in_begin, in_end = a, b, begin, end
            if feature == axis.feature:
                low, span = nodes[node, LOW], nodes[node, SPAN]
                in_begin, in_end, begin, end = _split(axis, low, span, begin, end)
            else:
                first = last = _partition(rows, a, b, codes, descent, node, spare)
            if begin < end:
                top = _push(stack, top, nodes[node, OUTSIDE], first, b, begin, end, 0, 0)
            if in_begin < in_end:
                top = _push(stack, top, nodes[node, INSIDE], a, last, in_begin, in_end, 0, 0)
