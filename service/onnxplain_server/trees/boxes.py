"""Leaves as boxes: the features on each leaf's path, and the set of cells each must be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Array, Matrix
from onnxplain_server.trees.compile import inlined, kernel
from onnxplain_server.trees.crew import Crew, blocks, run
from onnxplain_server.trees.ensemble import Ensemble, Numbers

_BLOCK = 4096
"""Leaves that one call works on."""


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The conditions of leaves, one per leaf and feature; those that are always met left out.

    Attributes
    ----------
    start : (n_leaves + 1,)
        Leaf l has the conditions start[l] to start[l + 1], in the order of its path.
    feature : (n_conditions,)
    run_start : (n_conditions + 1,)
        Condition c is met in the runs run_start[c] to run_start[c + 1].
    low, high : (n_runs,)
        Borders of cells.
    values : (n_leaves, n_targets)
        Of the leaves; 0 for a leaf that contradicts itself, which has no conditions.
    by_feature, feature_start : (n_conditions,), (n_features + 1,)
        Conditions sorted by feature, and where each feature's start.
    leaf : (n_conditions,)
        Leaf of each condition.
    """

    start: Numbers
    feature: Numbers
    run_start: Numbers
    low: Numbers
    high: Numbers
    values: Matrix
    by_feature: Numbers
    feature_start: Numbers
    leaf: Numbers

    def holders(self, features: Sequence[int]) -> tuple[Numbers, Numbers]:
        """Find the leaves that have conditions on all of some features.

        Returns
        -------
        leaves : (n_holders,)
            Ascending.
        conditions : (n_holders, n_features)
            The conditions on these features, in their order.
        """
        lists = [
            self.by_feature[self.feature_start[j] : self.feature_start[j + 1]] for j in features
        ]
        leaves, held = self.leaf[lists[0]], lists[0][:, np.newaxis]
        for conditions in lists[1:]:
            mine, theirs = _common(leaves, self.leaf[conditions])
            leaves = leaves[mine]
            held = np.column_stack([held[mine], conditions[theirs]])
        return leaves, np.ascontiguousarray(held)


def boxes(
    ensemble: Ensemble, crew: Crew | None, features: Sequence[int] | None = None
) -> Boxes:
    """Intersect what the nodes on each leaf's path demand.

    Parameters
    ----------
    crew : Crew or None
        None where the caller is one of its threads.
    features : sequence of int or None
        Leave all other features out; None keeps all.
    """
    wanted = np.zeros(len(ensemble.axes), dtype=np.bool_)
    wanted[slice(None) if features is None else list(features)] = True
    tree = (
        *(ensemble.leaf, ensemble.parent, ensemble.true, ensemble.feature),
        *(ensemble.run_start, ensemble.run_low, ensemble.run_high, ensemble.first),
    )
    most_runs = int(np.diff(ensemble.run_start).max(initial=0))
    room = 2 + ensemble.depth * (most_runs + 1)
    counts = np.zeros((len(ensemble.leaf), 2), dtype=np.int32)
    spans = blocks(len(counts), _BLOCK)
    run(crew, lambda span: _count(*span, *tree, wanted, room, counts), spans)
    values = np.where(counts[:, :1] < 0, 0.0, ensemble.values)
    counts = counts.clip(min=0)
    start, runs = (
        np.concatenate([[0], np.cumsum(counts[:, i])]).astype(np.int32) for i in range(2)
    )
    feature, run_start = np.empty(start[-1], np.int32), np.empty(start[-1] + 1, np.int32)
    low, high = np.empty(runs[-1], np.int32), np.empty(runs[-1], np.int32)
    run_start[-1] = runs[-1]
    filled = (start, runs, feature, run_start, low, high)
    run(crew, lambda span: _fill(*span, *tree, wanted, room, *filled), spans)
    by_feature, feature_start = _sort(feature, len(ensemble.axes))
    leaf = np.repeat(np.arange(len(counts), dtype=np.int32), counts[:, 0])
    return Boxes(
        start, feature, run_start, low, high, values, by_feature, feature_start, leaf
    )


@inlined
def _intersect(low, high, count, run_low, run_high, start, stop, is_true, first, last, fresh):  # type: ignore[no-untyped-def]
    """Cut runs, in place, with those of a node where it is true, or with the gaps between them."""
    made = 0
    pieces = stop - start if is_true else stop - start + 1
    i = piece = 0
    while i < count and piece < pieces:
        if is_true:
            lower, upper = run_low[start + piece], run_high[start + piece]
        else:
            lower = first if piece == 0 else run_high[start + piece - 1]
            upper = last if piece == pieces - 1 else run_low[start + piece]
        cut_low, cut_high = max(low[i], lower), min(high[i], upper)
        if cut_low < cut_high:
            fresh[0, made], fresh[1, made] = cut_low, cut_high
            made += 1
        if high[i] < upper:
            i += 1
        else:
            piece += 1
    low[:made], high[:made] = fresh[0, :made], fresh[1, :made]
    return made


@inlined
def _box(leaf, parent, true, feature, run_start, run_low, run_high, first, wanted, scratch):  # type: ignore[no-untyped-def]
    """Collect a leaf's conditions in scratch arrays: their number, or -1 for a contradiction."""
    path, stamp, condition, low, high, fresh = scratch
    length, node = 0, leaf
    while parent[node] >= 0:
        path[length] = node
        node, length = parent[node], length + 1
    count = runs = 0
    for step in range(length - 1, -1, -1):
        j = feature[parent[path[step]]]
        if not wanted[j] or stamp[j] == leaf:
            continue
        stamp[j] = leaf
        low[runs], high[runs], made = first[j], first[j + 1] - 1, 1
        for below in range(step, -1, -1):
            split = parent[path[below]]
            if feature[split] == j:
                made = _intersect(
                    *(low[runs:], high[runs:], made, run_low, run_high),
                    *(run_start[split], run_start[split + 1], true[split] == path[below]),
                    *(first[j], first[j + 1] - 1, fresh),
                )
        if made == 0:
            return -1, 0
        if made > 1 or low[runs] > first[j] or high[runs] < first[j + 1] - 1:
            condition[0, count], condition[1, count] = j, runs
            count, runs = count + 1, runs + made
    return count, runs


@inlined
def _scratch(n_features, room):  # type: ignore[no-untyped-def]
    return (
        np.empty(room, np.int32),
        np.full(n_features, -1, np.int32),
        np.empty((2, room), np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((2, room), np.int32),
    )


@kernel
def _count(a, b, leaf, parent, true, feature, run_start, run_low, run_high, first, wanted, room, counts):  # type: ignore[no-untyped-def]  # noqa: E501
    """Count conditions and runs of the leaves from a to b; -1 for a contradiction."""
    scratch = _scratch(len(wanted), room)
    for i in range(a, b):
        counts[i, 0], counts[i, 1] = _box(
            leaf[i], parent, true, feature, run_start, run_low, run_high, first, wanted, scratch
        )


@kernel
def _fill(a, b, leaf, parent, true, feature, run_start, run_low, run_high, first, wanted, room, starts, run_starts, features, condition_runs, lows, highs):  # type: ignore[no-untyped-def]  # noqa: E501
    """Write the conditions of the leaves from a to b where they belong."""
    scratch = _scratch(len(wanted), room)
    condition, low, high = scratch[2], scratch[3], scratch[4]
    for i in range(a, b):
        count, runs = _box(
            leaf[i], parent, true, feature, run_start, run_low, run_high, first, wanted, scratch
        )
        for c in range(count):
            features[starts[i] + c] = condition[0, c]
            condition_runs[starts[i] + c] = run_starts[i] + condition[1, c]
        for r in range(runs):
            lows[run_starts[i] + r], highs[run_starts[i] + r] = low[r], high[r]


@kernel
def _sort(keys: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Sort positions by small keys, equal ones in order: positions, and where each key starts."""
    start = np.zeros(count + 1, np.int32)
    for key in keys:
        start[key + 1] += 1
    for key in range(count):
        start[key + 1] += start[key]
    place, order = start[:-1].copy(), np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        order[place[keys[i]]] = i
        place[keys[i]] += 1
    return order, start


@kernel
def _common(left: Array, right: Array) -> tuple[Numbers, Numbers]:
    """Find where two ascending lists are equal: positions in each."""
    most = min(len(left), len(right))
    mine, theirs = np.empty(most, np.int32), np.empty(most, np.int32)
    i = k = made = 0
    while i < len(left) and k < len(right):
        if left[i] == right[k]:
            mine[made], theirs[made] = i, k
            made += 1
        if left[i] <= right[k]:
            i += 1
        else:
            k += 1
    return mine[:made], theirs[:made]
