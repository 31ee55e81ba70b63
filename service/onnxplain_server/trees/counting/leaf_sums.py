"""Leaf sums: coefficients summed over the leaves whose conditions on a few features a point meets.

    E_A(x) = Σ over leaves l of c_l [x meets the conditions of l on A]

With one feature this is a step function: two entries per run and a cumulative sum. With two, each
leaf is a rectangle, and a sweep line over the first feature updates cumulative sums over the
second. With more, bitsets find the points in each box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import (
    Indices,
    Int32Matrix,
    Int32Vector,
    Matrix,
    WordCube,
    WordMatrix,
)
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.ranked_rows import build_bitsets, to_words
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.small_functions import lowest
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array


class Points(NamedTuple):
    """Points on some features.

    Attributes
    ----------
    features : tuple of int
    codes : tuple of (n_points,), one per feature
        Their cells.
    """

    features: tuple[int, ...]
    codes: tuple[Int32Array, ...]


class _Line(NamedTuple):
    """Conditions of leaves on one feature, and positions of the points along it."""

    condition: Int32Vector
    cells: CellSets
    position: Int32Vector
    first: int
    points: Int32Vector


def evaluate_leaf_sums(
    ensemble: Ensemble, boxes: Boxes, conditions: Int32Array, coefficients: Matrix, points: Points
) -> Matrix:
    """Evaluate E_A at points.

    Parameters
    ----------
    conditions : (n_leaves, n_features)
        Condition of each leaf on each feature of the points.
    coefficients : (n_leaves, n_targets)

    Returns
    -------
    (n_points, n_targets), or (1, n_targets) without features
        Cost: with two features proportional to leaves and points, and to the product of the
        features' numbers of cells; with more, to leaves times points / 64, and hits.
    """
    if not points.features:
        total: Matrix = coefficients.sum(axis=0, keepdims=True)
        return total
    values = np.zeros((len(points.codes[0]), coefficients.shape[1]))
    if len(points.features) > 2:
        bits = build_bitsets(ensemble, points.codes, points.features)
        valid = to_words(np.ones(len(values), dtype=np.bool_))
        sets = bits.numbers.to_positions(boxes.met)
        _fill(conditions, sets, coefficients, bits.words, valid, values)
        return values
    lines = [
        _line(ensemble, boxes, conditions[:, q], j, points.codes[q])
        for q, j in enumerate(points.features)
    ]
    if len(lines) == 1:
        return _step_function(lines[0], coefficients)
    order = np.argsort(lines[0].points, kind="stable")
    _sweep(lines[0], lines[1], coefficients, order, values)
    return values


def occupied_cells(ensemble: Ensemble, feature: int, codes: Int32Array) -> Int32Vector:
    """Number the cells with points, as no others are needed: (n_borders,) of the feature."""
    first, last = int(ensemble.first[feature]), int(ensemble.first[feature + 1])
    occupied = np.zeros(last - first, dtype=np.int32)
    occupied[codes - first + 1] = 1
    return np.cumsum(occupied, dtype=np.int32)


def _line(
    ensemble: Ensemble, boxes: Boxes, conditions: Int32Array, feature: int, codes: Int32Array
) -> _Line:
    first, position = int(ensemble.first[feature]), occupied_cells(ensemble, feature, codes)
    condition = np.ascontiguousarray(conditions)
    return _Line(condition, boxes.met, position, first, position[codes - first])


def _step_function(line: _Line, coefficients: Matrix) -> Matrix:
    """Evaluate a step function at the points."""
    table = np.zeros((line.position[-1] + 1, coefficients.shape[1]))
    _add_steps(line, coefficients, table)
    return np.cumsum(table, axis=0)[line.points]


@inlined
def _add_step(line: Any, leaf: int, sign: float, coefficients: Any, table: Any) -> None:
    """Add a leaf's coefficient at the start of its runs, and subtract it at their ends."""
    c = line.condition[leaf]
    for run in range(line.cells.start[c], line.cells.start[c + 1]):
        enter = line.position[line.cells.low[run] - line.first]
        leave = line.position[line.cells.high[run] - line.first]
        for k in range(coefficients.shape[1]):
            table[enter, k] += sign * coefficients[leaf, k]
            table[leave, k] -= sign * coefficients[leaf, k]


@kernel
def _add_steps(line: _Line, coefficients: Matrix, table: Matrix) -> None:
    """Add the steps of all leaves to a table."""
    for leaf in range(len(line.condition)):
        _add_step(line, leaf, 1.0, coefficients, table)


@inlined
def _events(line: Any) -> Any:
    """Sort starts (leaf + 1) and ends (-leaf - 1) of runs by position: first of each, and all."""
    start = np.zeros(line.position[-1] + 2, np.int64)
    for c in line.condition:
        for run in range(line.cells.start[c], line.cells.start[c + 1]):
            start[line.position[line.cells.low[run] - line.first] + 1] += 1
            start[line.position[line.cells.high[run] - line.first] + 1] += 1
    for k in range(1, len(start)):
        start[k] += start[k - 1]
    events, fill = np.empty(start[-1], np.int32), start[:-1].copy()
    for leaf, c in enumerate(line.condition):
        for run in range(line.cells.start[c], line.cells.start[c + 1]):
            enter = line.position[line.cells.low[run] - line.first]
            leave = line.position[line.cells.high[run] - line.first]
            events[fill[enter]] = leaf + 1
            fill[enter] += 1
            events[fill[leave]] = -leaf - 1
            fill[leave] += 1
    return start, events


@kernel
def _sweep(
    across: _Line, along: _Line, coefficients: Matrix, order: Indices, values: Matrix
) -> None:
    """Move the sweep line across, and update the steps along the other feature."""
    start, events = _events(across)
    size, point = along.position[-1] + 1, 0
    change, total = (
        np.zeros((size, coefficients.shape[1])),
        np.zeros((size, coefficients.shape[1])),
    )
    for here in range(across.position[-1]):
        for e in range(start[here], start[here + 1]):
            sign = 1.0 if events[e] > 0 else -1.0
            _add_step(along, abs(events[e]) - 1, sign, coefficients, change)
        for k in range(coefficients.shape[1]):
            running = 0.0
            for b in range(size):
                running += change[b, k]
                total[b, k] = running
        while point < len(order) and across.points[order[point]] == here:
            for k in range(coefficients.shape[1]):
                values[order[point], k] = total[along.points[order[point]], k]
            point += 1


@inlined
def _met_by(words: Any, chunk: int, w: int, sets: Any, condition: int) -> Any:
    """Return the points of a word that meet a condition."""
    met = np.uint64(0)
    for run in range(sets.start[condition], sets.start[condition + 1]):
        met |= words[chunk, sets.high[run], w] & ~words[chunk, sets.low[run], w]
    return met


@kernel
def _fill(
    conditions: Int32Matrix, sets: CellSets, coefficients: Matrix, words: WordCube,
    valid: WordMatrix, values: Matrix,
) -> None:  # fmt: skip
    """Add each leaf's coefficient to the points in its box."""
    for chunk in range(words.shape[0]):
        for leaf in range(len(conditions)):
            for w in range(words.shape[2]):
                inside = valid[chunk, w]
                for q in range(conditions.shape[1]):
                    inside &= _met_by(words, chunk, w, sets, conditions[leaf, q])
                first = (chunk * words.shape[2] + w) << 6
                while inside:
                    i = first + lowest(inside)
                    inside &= inside - np.uint64(1)
                    for k in range(coefficients.shape[1]):
                        values[i, k] += coefficients[leaf, k]
