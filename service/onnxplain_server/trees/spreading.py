"""Shares of rows in leaves of which some features are free, by sending rows down the trees.

At a node that looks at a free feature all rows go both ways; at any other each row goes its way.
The rows that arrive at a leaf are those that meet its conditions on all features that are not
free. The cost is rows times depth, whatever the number of leaves: for very deep trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.arrays import Array, Matrix
from onnxplain_server.trees.boxes import Boxes
from onnxplain_server.trees.compile import inlined, kernel
from onnxplain_server.trees.ensemble import Ensemble, Numbers
from onnxplain_server.trees.ranked import Ranked


class Spreader:
    """Counts rows in boxes by sending them down the trees.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
        Of all features that will be free.
    ranked : Ranked
    """

    def __init__(self, ensemble: Ensemble, boxes: Boxes, ranked: Ranked) -> None:
        self._ensemble = ensemble
        self._boxes = boxes
        self._ranked = ranked

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
            Whether, with one feature, its `others` are computed too.

        Returns
        -------
        shares : (n_leaves, 2 ** n_features)
            As `Counter.lifted` gives them.
        others : (n, n_targets)
            Effect of all other features at the rows; zeros where not asked for.
        """
        ensemble, boxes, ranked = self._ensemble, self._boxes, self._ranked
        free = np.zeros(len(ensemble.axes), dtype=np.bool_)
        free[list(features)] = True
        holder = np.full(len(ensemble.leaf), -1, dtype=np.int32)
        holder[leaves] = np.arange(len(leaves))
        shares = np.zeros((len(leaves), 1 << len(features)))
        others = np.zeros((len(ranked), boxes.values.shape[1]))
        _send(
            ensemble.roots, ensemble.feature, ensemble.true, ensemble.false, ensemble.run_start,
            ensemble.run_low, ensemble.run_high, ensemble.leaf, free,
            np.array(features, dtype=np.int32), holder, held, boxes.run_start, boxes.low,
            boxes.high, boxes.values, ranked.codes, ranked.shares, ranked.below,
            ensemble.depth, with_others, shares, others,
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
def _inside(code, low, high, start, stop):  # type: ignore[no-untyped-def]
    """Whether a cell is in one of the runs."""
    for run in range(start, stop):
        if low[run] <= code < high[run]:
            return True
    return False


@inlined
def _part(rows, first, last, codes, low, high, start, stop, spare):  # type: ignore[no-untyped-def]
    """Move the rows that are in one of the runs to the front: where the others start."""
    front, back = first, 0
    for i in range(first, last):
        row = rows[i]
        inside = _inside(codes[row], low, high, start, stop)
        rows[front], spare[back] = row, row
        front += inside
        back += not inside
    rows[front:last] = spare[:back]
    return front


@kernel
def _send(
    roots: Numbers, feature: Numbers, true: Numbers, false: Numbers, run_start: Numbers,
    run_low: Numbers, run_high: Numbers, leaf_nodes: Numbers, free: Array, features: Numbers,
    holder: Numbers, held: Numbers, box_start: Numbers, box_low: Numbers, box_high: Numbers,
    values: Matrix, codes: Numbers, weights: Array, below: Array, depth: int, with_others: bool,
    shares: Matrix, others: Matrix,
) -> None:  # fmt: skip
    """Send all rows down all trees."""
    n = codes.shape[1]
    rows, spare = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    waiting = np.empty((2 * depth + 2, 3), np.int64)
    number = np.full(len(feature), -1, np.int32)
    for leaf in range(len(leaf_nodes)):
        number[leaf_nodes[leaf]] = leaf
    for root in roots:
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = root, 0, n
        count = 1
        while count:
            count -= 1
            node, first, last = waiting[count]
            if first == last:
                continue
            j = feature[node]
            if j < 0:
                leaf = number[node]
                h = holder[leaf]
                met = 1.0
                if h >= 0:
                    for q in range(len(features)):
                        c = held[h, q]
                        met = 0.0
                        for run in range(box_start[c], box_start[c + 1]):
                            met += below[box_high[run]] - below[box_low[run]]
                    for i in range(first, last):
                        pattern = 0
                        for q in range(len(features)):
                            c = held[h, q]
                            code = codes[features[q], rows[i]]
                            inside = _inside(code, box_low, box_high, box_start[c], box_start[c + 1])
                            pattern |= inside << q
                        shares[h, pattern] += weights[rows[i]]
                if with_others:
                    for i in range(first, last):
                        for k in range(values.shape[1]):
                            others[rows[i], k] += met * values[leaf, k]
                continue
            middle, other = last, first
            if not free[j]:
                middle = other = _part(
                    rows, first, last, codes[j], run_low, run_high,
                    run_start[node], run_start[node + 1], spare,
                )  # fmt: skip
            waiting[count, 0], waiting[count, 1], waiting[count, 2] = false[node], other, last
            count += 1
            waiting[count, 0], waiting[count, 1], waiting[count, 2] = true[node], first, middle
            count += 1
