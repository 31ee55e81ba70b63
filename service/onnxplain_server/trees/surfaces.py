"""Sums over leaves of a coefficient where a point meets the leaf's conditions on a few features.

    E_A(x) = Σ over leaves l of c_l [x meets the conditions of l on A]

With one feature, a step function: two entries per run, one cumulative sum. With two, each
leaf is a rectangle: a sweep over the first feature keeps the cumulative sums over the second.
With more, the points in each box are found with bitsets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Array, Matrix
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel, lowest
from onnxplain_server.trees.ensemble import Ensemble, Numbers
from onnxplain_server.trees.ranked import Bits, Words, lay_bits, to_words


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Points on one feature, numbered by the cells that any of them is in.

    Attributes
    ----------
    of_point : (n_points,)
        From 0, ascending with the cells.
    of_border : (n_borders + 1,)
        How many of those cells lie below each border of the feature.
    first : int
        First border of the feature.
    """

    of_point: Numbers
    of_border: Numbers
    first: int

    @property
    def count(self) -> int:
        """Number of cells that points are in."""
        return int(self.of_border[-1])


def place(ensemble: Ensemble, feature: int, codes: Numbers) -> Places:
    """Number the cells of points; `codes`, (n_points,), are their lower borders."""
    first, last = int(ensemble.first[feature]), int(ensemble.first[feature + 1])
    occupied = np.zeros(last - first, dtype=np.int32)
    occupied[codes - first + 1] = 1
    of_border = np.cumsum(occupied, dtype=np.int32)
    return Places(of_border[codes - first], of_border, first)


def steps(boxes: Boxes, conditions: Numbers, coefficients: Matrix, points: Places) -> Matrix:
    """Evaluate E with one feature.

    Parameters
    ----------
    conditions : (n_leaves,)
        Of each leaf, on the feature.
    coefficients : (n_leaves, n_targets)

    Returns
    -------
    (n_points, n_targets)
    """
    table = np.zeros((points.count + 1, coefficients.shape[1]))
    _step(
        conditions, boxes.run_start, boxes.low, boxes.high, coefficients,
        points.of_border, points.first, table,
    )  # fmt: skip
    return np.cumsum(table, axis=0)[points.of_point]


def rectangles(
    boxes: Boxes, conditions: Numbers, coefficients: Matrix, points: tuple[Places, Places]
) -> Matrix:
    """Evaluate E with two features; `conditions` are (n_leaves, 2).

    Cost: proportional to leaves and points, and the product of the numbers of their cells.
    """
    across, along = points
    order = np.argsort(across.of_point, kind="stable").astype(np.int32)
    values = np.zeros((len(order), coefficients.shape[1]))
    _sweep(
        conditions, boxes.run_start, boxes.low, boxes.high, coefficients,
        across.of_border, across.first, along.of_border, along.first,
        order, across.of_point, along.of_point, values,
    )  # fmt: skip
    return values


def solids(
    boxes: Boxes, conditions: Numbers, coefficients: Matrix, bits: Bits, n_points: int
) -> Matrix:
    """Evaluate E with any number of features; `bits` are over the points."""
    values = np.zeros((n_points, coefficients.shape[1]))
    low, high = bits.place[boxes.low], bits.place[boxes.high]
    valid = to_words(np.ones(n_points, dtype=np.bool_))
    _fill(conditions, boxes.run_start, low, high, coefficients, bits.words, valid, values)
    return values


def evaluate(
    ensemble: Ensemble, boxes: Boxes, features: tuple[int, ...], conditions: Numbers,
    coefficients: Matrix, codes: Numbers,
) -> Matrix:  # fmt: skip
    """Evaluate E at points.

    Parameters
    ----------
    conditions : (n_leaves, n_features)
    coefficients : (n_leaves, n_targets)
    codes : (n_features, n_points)
        Cells of the points.

    Returns
    -------
    (n_points, n_targets)
    """
    if not features:
        return np.broadcast_to(coefficients.sum(axis=0), (codes.shape[1], coefficients.shape[1]))
    if len(features) > 2:
        bits = lay_bits(ensemble, codes, features)
        return solids(boxes, conditions, coefficients, bits, codes.shape[1])
    places = [place(ensemble, j, own) for j, own in zip(features, codes, strict=True)]
    if len(features) == 1:
        return steps(boxes, conditions[:, 0], coefficients, places[0])
    return rectangles(boxes, conditions, coefficients, (places[0], places[1]))


@kernel
def _step(
    conditions: Numbers, run_start: Numbers, low: Numbers, high: Numbers, coefficients: Matrix,
    of_border: Numbers, first: int, table: Matrix,
) -> None:  # fmt: skip
    """Note where each leaf's coefficient comes and goes."""
    for leaf in range(len(conditions)):
        c = conditions[leaf]
        for run in range(run_start[c], run_start[c + 1]):
            come, gone = of_border[low[run] - first], of_border[high[run] - first]
            for k in range(coefficients.shape[1]):
                table[come, k] += coefficients[leaf, k]
                table[gone, k] -= coefficients[leaf, k]


@inlined
def _events(conditions, run_start, low, high, of_border, first):  # type: ignore[no-untyped-def]
    """Sort by place where leaves come (leaf + 1) and go (-leaf - 1) along the first feature."""
    start = np.zeros(of_border[-1] + 2, np.int64)
    for leaf in range(len(conditions)):
        for run in range(run_start[conditions[leaf, 0]], run_start[conditions[leaf, 0] + 1]):
            start[of_border[low[run] - first] + 1] += 1
            start[of_border[high[run] - first] + 1] += 1
    for k in range(1, len(start)):
        start[k] += start[k - 1]
    events, fill = np.empty(start[-1], np.int32), start[:-1].copy()
    for leaf in range(len(conditions)):
        for run in range(run_start[conditions[leaf, 0]], run_start[conditions[leaf, 0] + 1]):
            come, gone = of_border[low[run] - first], of_border[high[run] - first]
            events[fill[come]] = leaf + 1
            fill[come] += 1
            events[fill[gone]] = -leaf - 1
            fill[gone] += 1
    return start, events


@kernel
def _sweep(
    conditions: Numbers, run_start: Numbers, low: Numbers, high: Numbers, coefficients: Matrix,
    across: Numbers, across_first: int, along: Numbers, along_first: int, order: Numbers,
    place_across: Numbers, place_along: Numbers, values: Matrix,
) -> None:  # fmt: skip
    """Go along the first feature; keep for the second where coefficients come and go."""
    start, events = _events(conditions, run_start, low, high, across, across_first)
    n_targets = coefficients.shape[1]
    change = np.zeros((along[-1] + 1, n_targets))
    total = np.zeros((along[-1] + 1, n_targets))
    point = 0
    for here in range(across[-1]):
        for e in range(start[here], start[here + 1]):
            leaf, sign = abs(events[e]) - 1, 1.0 if events[e] > 0 else -1.0
            c = conditions[leaf, 1]
            for run in range(run_start[c], run_start[c + 1]):
                come, gone = along[low[run] - along_first], along[high[run] - along_first]
                for k in range(n_targets):
                    change[come, k] += sign * coefficients[leaf, k]
                    change[gone, k] -= sign * coefficients[leaf, k]
        for k in range(n_targets):
            running = 0.0
            for b in range(len(change)):
                running += change[b, k]
                total[b, k] = running
        while point < len(order) and place_across[order[point]] == here:
            values[order[point]] = total[place_along[order[point]]]
            point += 1


@kernel
def _fill(
    conditions: Numbers, run_start: Numbers, low: Numbers, high: Numbers, coefficients: Matrix,
    words: Words, valid: Words, values: Matrix,
) -> None:  # fmt: skip
    """Add each leaf's coefficient to the points in its box."""
    for leaf in range(len(conditions)):
        for w in range(len(valid)):
            inside = valid[w]
            for q in range(conditions.shape[1]):
                c, met = conditions[leaf, q], np.uint64(0)
                for run in range(run_start[c], run_start[c + 1]):
                    met |= words[high[run], w] & ~words[low[run], w]
                inside &= met
                if not inside:
                    break
            while inside:
                i = (w << 6) + lowest(inside)
                for k in range(coefficients.shape[1]):
                    values[i, k] += coefficients[leaf, k]
                inside &= inside - np.uint64(1)
