"""Shares of rows in leaves of which some features are free, by sending rows down the trees.

At a node that looks at a free feature all rows go both ways; at any other each row goes its way.
The rows that arrive at a leaf are those that meet its conditions on all features that are not
free. The cost is rows times depth, whatever the number of leaves: for very deep trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.arrays import Array, Matrix, Vector
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel
from onnxplain_server.trees.descent import (
    FEATURE,
    INSIDE,
    LOW,
    MANY,
    OUTSIDE,
    SPAN,
    descent,
)
from onnxplain_server.trees.ensemble import Ensemble, Numbers
from onnxplain_server.trees.ranked import Ranked


class Spreader:
    """Counts rows in boxes by sending them down the trees.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
    ranked : Ranked
    """

    def __init__(self, ensemble: Ensemble, boxes: Boxes, ranked: Ranked) -> None:
        self._ensemble = ensemble
        self._boxes = boxes
        self._ranked = ranked
        self._way = descent(ensemble)

    def lifted(
        self, features: Sequence[int], leaves: Numbers, held: Numbers, *, with_others: bool = False
    ) -> tuple[Matrix, Matrix]:
        """Count with the conditions on some features lifted, in one thread.

        Parameters
        ----------
        features : sequence of int
        leaves : (n_leaves,)
            Those with conditions on all of the features.
        held : (n_leaves, n_features)
            These conditions.
        with_others : bool
            Whether, with one feature, the effect of all others is computed too.

        Returns
        -------
        shares : (n_leaves, 2 ** n_features)
            As `Counter.lifted` gives them.
        others : (n, n_targets)
            At the rows; zeros where not asked for.
        """
        boxes, ranked, way = self._boxes, self._ranked, self._way
        free = np.zeros(len(self._ensemble.axes), dtype=np.bool_)
        free[list(features)] = True
        holder = np.full(len(self._ensemble.leaf), -1, dtype=np.int32)
        holder[leaves] = np.arange(len(leaves))
        shares = np.zeros((len(leaves), 1 << len(features)))
        others = np.zeros((len(ranked), boxes.values.shape[1]))
        _send(
            self._ensemble.roots, self._ensemble.depth, free, way.nodes, way.run_start,
            way.run_low, way.run_high, holder, np.array(features, dtype=np.int32), held,
            boxes.run_start, boxes.low, boxes.high, boxes.values, ranked.codes, ranked.shares,
            ranked.below, with_others, shares, others,
        )  # fmt: skip
        return _accumulated(shares), others


def _accumulated(met: Matrix) -> Matrix:
    """From shares that meet exactly some lifted conditions to shares that meet at least these.

    Column bits of `met` are conditions that are met; of the result, conditions that are lifted.
    """
    count = met.shape[1].bit_length() - 1
    shares = met[:, ::-1].copy()  # bit set: not met
    for q in range(count):
        lifted = np.flatnonzero(np.arange(met.shape[1]) >> q & 1)
        shares[:, lifted] += shares[:, lifted ^ (1 << q)]
    return shares


@inlined
def _in_any(code, low, high, start, stop):  # type: ignore[no-untyped-def]
    """Whether a cell is in one of the runs."""
    for run in range(start, stop):
        if low[run] <= code < high[run]:
            return True
    return False


@inlined
def _part(rows, first, last, codes, nodes, node, run_start, low, high, spare):  # type: ignore[no-untyped-def]
    """Move the rows that are inside a node's run to the front: where the others start."""
    front, back = first, 0
    j, least, span = nodes[node, FEATURE], nodes[node, LOW], nodes[node, SPAN]
    for i in range(first, last):
        row = rows[i]
        code = codes[j, row]
        inside = 1 if least <= code < least + span else 0
        if span == MANY:
            inside = 1 if _in_any(code, low, high, run_start[node], run_start[node + 1]) else 0
        # Written to both places, and one of them kept: no branch to be guessed wrong.
        rows[front], spare[back] = row, row
        front += inside
        back += 1 - inside
    for i in range(back):
        rows[front + i] = spare[i]
    return front


@kernel
def _send(
    roots: Numbers, depth: int, free: Array, nodes: Numbers, run_start: Numbers, run_low: Numbers,
    run_high: Numbers, holder: Numbers, features: Numbers, held: Numbers, box_start: Numbers,
    box_low: Numbers, box_high: Numbers, values: Matrix, codes: Numbers, weights: Vector,
    below: Vector, with_others: bool, shares: Matrix, others: Matrix,
) -> None:  # fmt: skip
    """Send all rows down all trees."""
    n = codes.shape[1]
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    waiting = np.empty((depth + 2, 3), np.int32)
    for root in roots:
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = root, 0, n
        count = 1
        while count:
            count -= 1
            node, first, last = waiting[count, 0], waiting[count, 1], waiting[count, 2]
            if first == last:
                continue
            j = nodes[node, FEATURE]
            if j >= 0:
                start, stop = first, last
                if not free[j]:
                    start = stop = _part(
                        rows, first, last, codes, nodes, node, run_start, run_low, run_high, spare
                    )
                outside, inside = nodes[node, OUTSIDE], nodes[node, INSIDE]
                waiting[count, 0], waiting[count, 1], waiting[count, 2] = outside, start, last
                waiting[count + 1, 0], waiting[count + 1, 1], waiting[count + 1, 2] = (
                    inside, first, stop,
                )  # fmt: skip
                count += 2
                continue
            leaf = -1 - j
            h, met = holder[leaf], 1.0
            if h >= 0:
                for q in range(len(features)):
                    c, met = held[h, q], 0.0
                    for run in range(box_start[c], box_start[c + 1]):
                        met += below[box_high[run]] - below[box_low[run]]
                for i in range(first, last):
                    pattern = 0
                    for q in range(len(features)):
                        c, code = held[h, q], codes[features[q], rows[i]]
                        if _in_any(code, box_low, box_high, box_start[c], box_start[c + 1]):
                            pattern |= 1 << q
                    shares[h, pattern] += weights[rows[i]]
            for i in range(first, last if with_others else first):
                for k in range(values.shape[1]):
                    others[rows[i], k] += met * values[leaf, k]
