"""A row's answer as a function of one feature: a step function, from the leaves within reach.

Where only one feature moves, a row reaches few leaves of a tree: it goes both ways where that
feature is compared, and its own way elsewhere. Each of these leaves adds its value over runs of
the feature's cells; the link turns their sums into answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Cube, Matrix, Vector
from onnxplain_server.trees.counting.ranked_rows import RankedRows
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import (
    FEATURE,
    INSIDE,
    LOW,
    MANY,
    OUTSIDE,
    SPAN,
    Descent,
    build_descent,
)
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkScale

_BLOCK = 256
"""Rows that one call works on."""
_AT_ONCE = 16
"""Blocks whose averages are held before they are added up."""


class MovedFeature(NamedTuple):
    """A feature that moves, and where to; as a tuple, so that kernels take it.

    Attributes
    ----------
    feature : int
    roots : (n_trees,)
        Of the trees that compare it.
    first : int
        Its first border.
    at : (n_borders,)
        Number of points below each of its borders.
    n_points : int
    room : int
        Most pieces of the axis that wait at a time while a row goes down.
    """

    feature: int
    roots: Int32Array
    first: int
    at: Int32Array
    n_points: int
    room: int


class RowPaths(NamedTuple):
    """All that a row needs to go down.

    Attributes
    ----------
    way : Descent
    values : (n_leaves, n_targets)
    rows : (n, n_features)
        Cells.
    sums : (n, n_targets)
        What all trees add up for the rows as they are.
    """

    way: Descent
    values: Matrix
    rows: Int32Array
    sums: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class RowMeans:
    """Averages of answers over rows and over points.

    Attributes
    ----------
    own : (n_points, n_outputs)
        Over the rows.
    others : (n, n_outputs)
        Over the points.
    """

    own: Matrix
    others: Matrix


class StepFunctions:
    """Moves one feature of rows.

    Parameters
    ----------
    linked : LinkedEnsemble
    ranked : RankedRows
        The rows.
    sums : (n, n_targets)
        What the trees add up for them.

    Attributes
    ----------
    walk : RowPaths
    """

    def __init__(self, linked: LinkedEnsemble, ranked: RankedRows, sums: Matrix) -> None:
        self._ensemble = linked.ensemble
        self._scale = linked.scale
        self._shares = ranked.shares
        rows = np.ascontiguousarray(ranked.codes.T)
        self.walk = RowPaths(build_descent(linked.ensemble), linked.ensemble.values, rows, sums)

    def means(self, feature: int, points: Int32Array, shares: Vector, pool: BlockPool) -> RowMeans:
        """Average with a feature at points.

        Parameters
        ----------
        points : (n_points,)
            Cells, ascending, each once.
        shares : (n_points,)
            How much each point counts in the averages over points.
        """
        free, n_outputs = self._free(feature, points), len(self._scale.offset)
        own, others = (np.zeros((n, n_outputs)) for n in (len(points), len(self._shares)))
        spans = blocks(len(self._shares), _BLOCK)

        def average(span: tuple[int, int]) -> Matrix:
            part = np.zeros_like(own)
            _average(*span, self.walk, free, self._scale, self._shares, shares, part, others)
            return part

        for start in range(0, len(spans), _AT_ONCE):
            for part in pool.run(average, spans[start : start + _AT_ONCE]):
                own += part
        return RowMeans(own, others)

    def answers(self, feature: int, points: Int32Array, pool: BlockPool) -> Cube:
        """Answer of each row at each point, as in `means`: (n, n_points, n_outputs)."""
        free = self._free(feature, points)
        given = np.zeros((len(self._shares), len(points), len(self._scale.offset)))
        spans = blocks(len(self._shares), _BLOCK)
        pool.run(lambda span: _answers(*span, self.walk, free, self._scale, given), spans)
        return given

    def _free(self, feature: int, points: Int32Array) -> MovedFeature:
        trees = self._ensemble
        first, last = trees.first[feature : feature + 2]
        at = np.searchsorted(points, np.arange(first, last)).astype(np.int32)
        roots, room = trees_comparing(trees, (feature,))
        return MovedFeature(feature, roots, int(first), at, len(points), room)


def trees_comparing(trees: Ensemble, features: tuple[int, ...]) -> tuple[Int32Array, int]:
    """Return the roots of trees that compare a feature, and the most pieces that wait in one."""
    nodes = np.flatnonzero(np.isin(trees.feature, features))
    roots = trees.roots[np.unique(np.searchsorted(trees.roots, nodes, side="right") - 1)]
    most_runs = max(1, int(np.diff(trees.truth.start)[nodes].max(initial=0)))
    return roots, 1 + (trees.depth + 1) * (2 * most_runs + 1)


_Stack = npt.NDArray[np.int32]
"""(room, 4): pieces of the axis that wait, each with the node to go on at, its first point and
the one after its last, and whether the row's own cell is in it."""


@inlined
def _wait(stack: _Stack, top: int, node: int, low: int, high: int, own: int) -> int:
    """Put a piece on the stack, unless nothing is in it."""
    if low < high or own:
        stack[top, 0] = node
        stack[top, 1] = low
        stack[top, 2] = high
        stack[top, 3] = own
        return top + 1
    return top


@inlined
def _divide(
    stack: _Stack, top: int, node: int, piece: Any, code: int, way: Descent, free: MovedFeature
) -> int:
    """Send the parts of a piece of the axis both ways."""
    nodes, truth = way.nodes, way.truth
    low, high, own = piece
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
        start = min(max(free.at[begin - free.first], low), high)
        stop = min(max(free.at[end - free.first], low), high)
        top = _wait(stack, top, nodes[node, OUTSIDE], low, start, 0)
        top = _wait(stack, top, nodes[node, INSIDE], start, stop, here)
        low = stop
        own -= here
    return _wait(stack, top, nodes[node, OUTSIDE], low, high, own)


@inlined
def _climb(
    row: Int32Array, walk: RowPaths, free: MovedFeature, stack: _Stack, steps: Matrix
) -> None:
    """Find by how much a row's sums rise at each point: (n_points + 2, n_targets).

    The last line holds what the trees that compare the feature give at the row's own cell.
    """
    way, values = walk.way, walk.values
    nodes = way.nodes
    steps[:] = 0
    for root in free.roots:
        top = _wait(stack, 0, root, 0, free.n_points, 1)
        while top > 0:
            top -= 1
            node, low, high, own = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            feature = nodes[node, FEATURE]
            while feature >= 0 and feature != free.feature:
                code, begin = row[feature], nodes[node, LOW]
                inside = begin <= code < begin + nodes[node, SPAN]
                if nodes[node, SPAN] == MANY:
                    inside = False
                    for run in range(way.truth.start[node], way.truth.start[node + 1]):
                        inside |= way.truth.low[run] <= code < way.truth.high[run]
                node = nodes[node, INSIDE + (0 if inside else 1)]
                feature = nodes[node, FEATURE]
            if feature >= 0:
                piece = (low, high, own)
                top = _divide(stack, top, node, piece, row[feature], way, free)
                continue
            for k in range(values.shape[1]):
                value = values[-1 - feature, k]
                if low < high:
                    steps[low, k] += value
                    steps[high, k] -= value
                if own:
                    steps[-1, k] += value


@inlined
def _rise(level: Vector, step: Vector) -> bool:
    """Take a step; whether it is one."""
    moved = False
    for k in range(len(level)):
        moved |= step[k] != 0
        level[k] += step[k]
    return moved


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
    if not scale.is_softmax:
        for k in range(len(answer)):
            answer[k] = 1 / (1 + np.exp(-answer[k]))
        return
    total = 0.0
    for k in range(len(answer)):
        answer[k] = np.exp(answer[k] - most)
        total += answer[k]
    for k in range(len(answer)):
        answer[k] /= total


@kernel
def _average(
    a: int,
    b: int,
    walk: RowPaths,
    free: MovedFeature,
    scale: LinkScale,
    row_shares: Vector,
    point_shares: Vector,
    own: Matrix,
    others: Matrix,
) -> None:
    """Average the answers of the rows from a to b, adding to `own`, and over points."""
    steps = np.empty((free.n_points + 2, walk.values.shape[1]))
    stack = np.empty((free.room, 4), np.int32)
    answer = np.empty(len(scale.offset))
    for i in range(a, b):
        _climb(walk.rows[i], walk, free, stack, steps)
        level = walk.sums[i] - steps[-1]
        for point in range(free.n_points):
            if _rise(level, steps[point]) or point == 0:
                _link(level, scale, answer)
            for k in range(len(answer)):
                own[point, k] += row_shares[i] * answer[k]
                others[i, k] += point_shares[point] * answer[k]


@kernel
def _answers(
    a: int, b: int, walk: RowPaths, free: MovedFeature, scale: LinkScale, given: Cube
) -> None:
    """Answers of the rows from a to b at all points."""
    steps = np.empty((free.n_points + 2, walk.values.shape[1]))
    stack = np.empty((free.room, 4), np.int32)
    for i in range(a, b):
        _climb(walk.rows[i], walk, free, stack, steps)
        level = walk.sums[i] - steps[-1]
        for point in range(free.n_points):
            if _rise(level, steps[point]) or point == 0:
                _link(level, scale, given[i, point])
            else:
                given[i, point] = given[i, point - 1]
