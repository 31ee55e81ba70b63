"""Shares of rows in leaves of which some features are free, by sending rows down the trees.

At a node that looks at a free feature all rows go both ways; at any other each row goes its way.
The rows that arrive at a leaf are those that meet its conditions on all features that are not
free. The cost is rows times depth, whatever the number of leaves: for very deep trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Matrix, Vector
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
    build_descent,
)
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array


class _FreeFeatures(NamedTuple):
    """Which features are free, and the conditions on them of the leaves that have all."""

    features: Int32Array
    is_free: npt.NDArray[np.bool_]
    holder: Int32Array
    conditions: Int32Array
    met: CellSets
    share: Vector


class DescentCounter:
    """Counts rows in boxes by sending them down the trees.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
    ranked : RankedRows
    """

    def __init__(self, ensemble: Ensemble, boxes: Boxes, ranked: RankedRows) -> None:
        self._ensemble = ensemble
        self._boxes = boxes
        self._ranked = ranked
        self._way = build_descent(ensemble)
        self._share = met_shares(boxes.met, ranked.below)

    def lifted(
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
            Those with conditions on all of the features.
        conditions : (n_leaves, n_features)
            These conditions.
        with_others : bool
            Whether, with one feature, the effect of all others is computed too.

        Returns
        -------
        reached : (n_reached,)
            Positions, among the leaves given, of those where any row arrives.
        shares : (n_reached, 2 ** n_features)
            As `Counter.lifted` gives them.
        others : (n, n_targets)
            At the rows; zeros where not asked for.
        """
        is_free = np.zeros(len(self._ensemble.axes), dtype=np.bool_)
        is_free[list(features)] = True
        holder = np.full(len(self._ensemble.leaf), -1, dtype=np.int32)
        holder[leaves] = np.arange(len(leaves))
        free = np.array(features, dtype=np.int32)
        held = _FreeFeatures(free, is_free, holder, conditions, self._boxes.met, self._share)
        met = np.zeros((len(leaves), 1 << len(features)))
        others = np.zeros((len(self._ranked), self._boxes.values.shape[1]))
        values = self._boxes.values if with_others else self._boxes.values[:, :0]
        codes, shares = self._ranked.codes, self._ranked.shares
        _send(self._ensemble.depth, self._way, held, values, codes, shares, met, others)
        reached = np.flatnonzero(met.any(axis=1)).astype(np.int32)
        return reached, _accumulated(met[reached]), others


def _accumulated(met: Matrix) -> Matrix:
    """From shares that meet exactly some conditions to shares that meet at least some.

    The bits of a column are the conditions met; of the result's, those that are lifted.
    """
    shares = met[:, ::-1].copy()  # now the bits are the conditions missed
    columns = np.arange(met.shape[1])
    for q in range(met.shape[1].bit_length() - 1):
        lifted = columns[columns >> q & 1 == 1]
        shares[:, lifted] += shares[:, lifted ^ (1 << q)]
    return shares


@inlined
def _in_any(code: int, sets: Any, number: int) -> bool:
    """Whether a cell is in a set."""
    found = False
    for run in range(sets.start[number], sets.start[number + 1]):
        found |= sets.low[run] <= code < sets.high[run]
    return found


@inlined
def _part(rows: Any, first: int, last: int, codes: Any, way: Any, node: int, spare: Any) -> int:
    """Move the rows that are inside a node's run to the front: where the others start."""
    front, back = first, 0
    nodes = way.nodes
    feature, low, span = nodes[node, FEATURE], nodes[node, LOW], nodes[node, SPAN]
    for i in range(first, last):
        row = rows[i]
        code = codes[feature, row]
        inside = 1 if low <= code < low + span else 0
        if span == MANY:
            inside = 1 if _in_any(code, way.truth, node) else 0
        # Written to both places, and one of them kept: no branch to be guessed wrong.
        rows[front], spare[back] = row, row
        front += inside
        back += 1 - inside
    for i in range(back):
        rows[front + i] = spare[i]
    return front


@inlined
def _arrive(
    rows: Any, first: int, last: int, leaf: int, held: Any, values: Any, codes: Any, shares: Any,
    met: Any, others: Any,
) -> None:  # fmt: skip
    """Count the rows that arrive at a leaf by the free conditions that they meet."""
    h, factor = held.holder[leaf], 1.0
    if h >= 0:
        factor = held.share[held.conditions[h, 0]]
        for i in range(first, last):
            pattern = 0
            for q in range(len(held.features)):
                code = codes[held.features[q], rows[i]]
                pattern |= (1 if _in_any(code, held.met, held.conditions[h, q]) else 0) << q
            met[h, pattern] += shares[rows[i]]
    for i in range(first, last):
        for k in range(values.shape[1]):
            others[rows[i], k] += factor * values[leaf, k]


@kernel
def _send(
    depth: int, way: Descent, held: _FreeFeatures, values: Matrix, codes: Int32Array,
    shares: Vector, met: Matrix, others: Matrix,
) -> None:  # fmt: skip
    """Send all rows down all trees; what waits are parts of the rows, at nodes."""
    n = codes.shape[1]
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    node, first = np.empty(depth + 2, np.int32), np.empty(depth + 2, np.int32)
    last = np.empty(depth + 2, np.int32)
    for root in way.roots:
        node[0], first[0], last[0], waiting = root, 0, n, 1
        while waiting:
            waiting -= 1
            here, a, b = node[waiting], first[waiting], last[waiting]
            feature = way.nodes[here, FEATURE]
            if a == b:
                continue
            if feature < 0:
                _arrive(rows, a, b, -1 - feature, held, values, codes, shares, met, others)
                continue
            start, stop = a, b
            if not held.is_free[feature]:
                start = stop = _part(rows, a, b, codes, way, here, spare)
            node[waiting], first[waiting], last[waiting] = way.nodes[here, OUTSIDE], start, b
            waiting += 1
            node[waiting], first[waiting], last[waiting] = way.nodes[here, INSIDE], a, stop
            waiting += 1
