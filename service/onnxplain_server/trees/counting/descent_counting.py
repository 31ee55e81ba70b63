"""Descent counting: shares of rows in leaves with some features free, as rows descend the trees.

At a node that compares a free feature all rows go both ways; elsewhere each row goes its own way.
The rows that reach a leaf are those that meet its conditions on all other features. The cost is
rows times depth, whatever the number of leaves: for very deep trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Flags, Int32Matrix, Int32Vector, Matrix, Vector
from onnxplain_server.trees.counting.all_but_one import met_shares
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.ranked_rows import RankedRows
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
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array


class _FreeFeatures(NamedTuple):
    """Free features, and the conditions on them of the leaves that have one on each."""

    features: Int32Vector
    is_free: Flags
    position: Int32Vector
    conditions: Int32Matrix
    met: CellSets
    share: Vector


class DescentCounter:
    """Counts rows in boxes as they descend the trees.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    boxes : Boxes
    ranked : RankedRows
    """

    def __init__(
        self, ensemble: Ensemble, descent: Descent, boxes: Boxes, ranked: RankedRows
    ) -> None:
        self._ensemble = ensemble
        self.boxes = boxes
        self._ranked = ranked
        self._descent = descent
        self._share = met_shares(boxes.met, ranked.below)

    def count(
        self,
        features: Sequence[int],
        leaves: Int32Array,
        conditions: Int32Array,
        *,
        with_others: bool,
    ) -> tuple[Int32Array, Matrix, Matrix]:
        """Count with the conditions on some features lifted, in the calling thread.

        Parameters
        ----------
        features : sequence of int
        leaves : (n_leaves,)
            Leaves with conditions on all of the features.
        conditions : (n_leaves, n_features)
            These conditions.
        with_others : bool
            With one feature: also compute the effect of all others.

        Returns
        -------
        reached : (n_reached,)
            Positions in `leaves` of those that any row reaches.
        shares : (n_reached, 2 ** n_features)
            As `BitsetCounter.count` returns them.
        others : (n, n_targets)
            At the rows; zeros without `with_others`.
        """
        free = self._free(features, leaves, conditions)
        met = np.zeros((len(leaves), 1 << len(features)))
        others = np.zeros((len(self._ranked), self.boxes.values.shape[1]))
        values = self.boxes.values if with_others else self.boxes.values[:, :0]
        codes, shares = self._ranked.codes, self._ranked.shares
        _descend(self._ensemble.depth, self._descent, free, values, codes, shares, met, others)
        reached = np.flatnonzero(met.any(axis=1)).astype(np.int32)
        return reached, _accumulate(met[reached]), others

    def _free(
        self, features: Sequence[int], leaves: Int32Array, conditions: Int32Array
    ) -> _FreeFeatures:
        is_free = np.zeros(len(self._ensemble.axes), dtype=np.bool_)
        is_free[list(features)] = True
        position = np.full(len(self._ensemble.leaf), -1, dtype=np.int32)
        position[leaves] = np.arange(len(leaves))
        numbers = np.array(features, dtype=np.int32)
        return _FreeFeatures(numbers, is_free, position, conditions, self.boxes.met, self._share)


def _accumulate(met: Matrix) -> Matrix:
    """Turn shares that meet exactly some conditions into shares that meet at least some.

    Bits of a column are the conditions met; bits of a column of the result are those lifted.
    """
    shares = met[:, ::-1].copy()  # bits are the conditions missed
    columns = np.arange(met.shape[1])
    for q in range(met.shape[1].bit_length() - 1):
        lifted = columns[columns >> q & 1 == 1]
        shares[:, lifted] += shares[:, lifted ^ (1 << q)]
    return shares


@inlined
def _in_any(code: int, sets: Any, number: int) -> bool:
    """Return whether a cell is in a set."""
    is_inside = False
    for run in range(sets.start[number], sets.start[number + 1]):
        is_inside |= sets.low[run] <= code < sets.high[run]
    return is_inside


@inlined
def _partition(
    rows: Any, first: int, last: int, codes: Any, descent: Any, node: int, spare: Any
) -> int:
    """Partition rows by a node, those inside its run first: the position of the first other."""
    front, back = first, 0
    nodes = descent.nodes
    feature, low, span = nodes[node, FEATURE], nodes[node, LOW], nodes[node, SPAN]
    for i in range(first, last):
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
def _count_leaf(
    rows: Any, first: int, last: int, leaf: int, free: Any, values: Any, codes: Any, shares: Any,
    met: Any, others: Any,
) -> None:  # fmt: skip
    """Count the rows that reach a leaf by the free conditions that they meet."""
    h, factor = free.position[leaf], 1.0
    if h >= 0:
        factor = free.share[free.conditions[h, 0]]
        for i in range(first, last):
            pattern = 0
            for q in range(len(free.features)):
                code = codes[free.features[q], rows[i]]
                pattern |= (1 if _in_any(code, free.met, free.conditions[h, q]) else 0) << q
            met[h, pattern] += shares[rows[i]]
    for i in range(first, last):
        for k in range(values.shape[1]):
            others[rows[i], k] += factor * values[leaf, k]


@kernel
def _descend(
    depth: int, descent: Descent, free: _FreeFeatures, values: Matrix, codes: Int32Matrix,
    shares: Vector, met: Matrix, others: Matrix,
) -> None:  # fmt: skip
    """Descend with all rows; the stack holds parts of the rows with the nodes to go on at."""
    n = codes.shape[1]
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    node, first = np.empty(depth + 2, np.int32), np.empty(depth + 2, np.int32)
    last = np.empty(depth + 2, np.int32)
    for root in descent.roots:
        node[0], first[0], last[0], top = root, 0, n, 1
        while top:
            top -= 1
            here, a, b = node[top], first[top], last[top]
            feature = descent.nodes[here, FEATURE]
            if a == b:
                continue
            if feature < 0:
                _count_leaf(rows, a, b, -1 - feature, free, values, codes, shares, met, others)
                continue
            start, stop = a, b
            if not free.is_free[feature]:
                start = stop = _partition(rows, a, b, codes, descent, here, spare)
            node[top], first[top], last[top] = descent.nodes[here, OUTSIDE], start, b
            top += 1
            node[top], first[top], last[top] = descent.nodes[here, INSIDE], a, stop
            top += 1
