"""Leaf conditions: the splits on each leaf's path, intersected to one condition per feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Flags, Int32Matrix, Int32Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

_BLOCK = 4096
"""Leaves per kernel call."""
_MANY = -1
"""End of a set of cells that is not a single run."""


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Conditions of leaves; see `Boxes`.

    Attributes
    ----------
    start : (n_leaves + 1,)
    feature : (n_conditions,)
    met : CellSets
    contradicts : (n_leaves,)
        Whether no cell of some feature meets all splits on the leaf's path.
    """

    start: Int32Vector
    feature: Int32Vector
    met: CellSets
    contradicts: Flags


class _Paths(NamedTuple):
    """Paths to leaves; `low` and `high` are the run of cells that go from parent to node."""

    leaf: Int32Vector
    parent: Int32Vector
    true: Int32Vector
    feature: Int32Vector
    first: Int32Vector
    truth: CellSets
    low: Int32Vector
    high: Int32Vector
    capacity: int


def leaf_conditions(ensemble: Ensemble, pool: BlockPool) -> Conditions:
    """Intersect the splits on each leaf's path, feature by feature."""
    max_runs = int(np.diff(ensemble.truth.start).max(initial=0))
    paths = _Paths(
        *(ensemble.leaf, ensemble.parent, ensemble.true, ensemble.feature, ensemble.first),
        *(ensemble.truth, *_branch_runs(ensemble), 2 + ensemble.depth * (max_runs + 1)),
    )
    counts = np.zeros((len(ensemble.leaf), 2), dtype=np.int32)
    spans = blocks(len(counts), _BLOCK)
    pool.run(lambda span: _count(*span, paths, counts), spans)
    contradicts = counts[:, 0] < 0
    counts[contradicts] = 0
    starts = np.zeros((2, len(counts) + 1), dtype=np.int32)
    starts[:, 1:] = np.cumsum(counts, axis=0).T
    condition_count, run_count = starts[:, -1]
    feature = np.empty(condition_count, np.int32)
    met = CellSets(
        np.full(condition_count + 1, run_count, np.int32),
        *(np.empty(run_count, np.int32) for _ in range(2)),
    )
    pool.run(lambda span: _fill(*span, paths, starts, feature, met), spans)
    return Conditions(starts[0], feature, met, contradicts)


def _branch_runs(ensemble: Ensemble) -> tuple[Int32Array, Int32Array]:
    """Return the run of cells that go from each node's parent to it, or `_MANY`: (n_nodes,)."""
    inner = np.flatnonzero(ensemble.feature >= 0)
    begin, feature = ensemble.truth.start[inner], ensemble.feature[inner]
    first, last = ensemble.first[feature], ensemble.first[feature + 1] - 1
    is_single = ensemble.truth.start[inner + 1] == begin + 1
    low, high = (ends[np.where(is_single, begin, 0)] for ends in ensemble.truth[1:])
    runs = np.full((2, len(ensemble.feature)), _MANY, dtype=np.int32)
    runs[:, ensemble.true[inner]] = np.where(is_single, [low, high], _MANY)
    rest = np.where(low == first, [high, last], np.where(high == last, [first, low], _MANY))
    runs[:, ensemble.false[inner]] = np.where(is_single, rest, _MANY)
    return runs[0], runs[1]


class _Scratch(NamedTuple):
    """Buffers for the conditions of one leaf.

    `seen` is the last leaf with each feature, `features` are those of this leaf, `lower` and
    `upper` the ends of their runs; `feature` and `run` are the conditions, `low` and `high` their
    runs, and `fresh` receives the runs of an intersection.
    """

    seen: Int32Vector
    features: Int32Vector
    lower: Int32Vector
    upper: Int32Vector
    feature: Int32Vector
    run: Int32Vector
    low: Int32Vector
    high: Int32Vector
    fresh: Int32Matrix


@inlined
def _make_scratch(paths: Any) -> Any:
    n_features = len(paths.first) - 1
    return _Scratch(
        np.full(n_features, -1, np.int32),
        np.empty(n_features, np.int32),
        np.empty(n_features, np.int32),
        np.empty(n_features, np.int32),
        np.empty(n_features, np.int32),
        np.empty(n_features, np.int32),
        np.empty(paths.capacity, np.int32),
        np.empty(paths.capacity, np.int32),
        np.empty((2, paths.capacity), np.int32),
    )


@inlined
def _cut(
    paths: Any,
    split: int,
    is_true: bool,
    low: Int32Vector,
    high: Int32Vector,
    count: int,
    fresh: Any,
) -> int:
    """Intersect runs, in place, with a node's true or false runs: the number of runs left."""
    start, j = paths.truth.start[split], paths.feature[split]
    pieces = paths.truth.start[split + 1] - start + (0 if is_true else 1)
    size = i = piece = 0
    while i < count and piece < pieces:
        if is_true:
            lower, upper = paths.truth.low[start + piece], paths.truth.high[start + piece]
        else:
            lower, upper = paths.first[j], paths.first[j + 1] - 1
            if piece > 0:
                lower = paths.truth.high[start + piece - 1]
            if piece < pieces - 1:
                upper = paths.truth.low[start + piece]
        cut_low, cut_high = max(low[i], lower), min(high[i], upper)
        if cut_low < cut_high:
            fresh[0, size], fresh[1, size] = cut_low, cut_high
            size += 1
        if high[i] < upper:
            i += 1
        else:
            piece += 1
    low[:size], high[:size] = fresh[0, :size], fresh[1, :size]
    return size


@inlined
def _intersect(
    paths: Any, leaf: int, j: int, low: Int32Vector, high: Int32Vector, fresh: Any
) -> int:
    """Intersect all splits of a path on a feature, as runs: the number of runs."""
    low[0], high[0], count, node = paths.first[j], paths.first[j + 1] - 1, 1, leaf
    while paths.parent[node] >= 0:
        split = paths.parent[node]
        if paths.feature[split] == j:
            count = _cut(paths, split, paths.true[split] == node, low, high, count, fresh)
        node = split
    return count


@inlined
def _climb(paths: Any, leaf: int, scratch: Any) -> int:
    """Climb from a leaf to its root and narrow the run of each feature: the number of features."""
    # Looked up once: a lookup in a tuple takes longer than a step up.
    parent, feature, first, low, high = (
        paths.parent, paths.feature, paths.first, paths.low, paths.high,
    )  # fmt: skip
    seen, features, lower, upper = scratch.seen, scratch.features, scratch.lower, scratch.upper
    count, node = 0, leaf
    while parent[node] >= 0:
        j = feature[parent[node]]
        if seen[j] != leaf:
            seen[j], features[count] = leaf, j
            lower[j], upper[j] = first[j], first[j + 1] - 1
            count += 1
        if high[node] == _MANY:
            upper[j] = _MANY
        elif upper[j] != _MANY:
            lower[j], upper[j] = max(lower[j], low[node]), min(upper[j], high[node])
        node = parent[node]
    return count


@inlined
def _box(paths: Any, leaf: int, scratch: Any) -> tuple[int, int]:
    """Collect a leaf's conditions: their number, -1 for a contradiction, and that of runs."""
    count = runs = 0
    first, features, lower, upper = paths.first, scratch.features, scratch.lower, scratch.upper
    lows, highs, conditions, starts = scratch.low, scratch.high, scratch.feature, scratch.run
    for f in range(_climb(paths, leaf, scratch)):
        j = features[f]
        low, high, size = lower[j], upper[j], 1
        if high == _MANY:
            size = _intersect(paths, leaf, j, lows[runs:], highs[runs:], scratch.fresh)
            low, high = lows[runs], highs[runs]
        if size == 0 or low >= high:
            return -1, 0
        if size > 1 or low > first[j] or high < first[j + 1] - 1:
            lows[runs], highs[runs] = low, high
            conditions[count], starts[count] = j, runs
            count, runs = count + 1, runs + size
    return count, runs


@kernel
def _count(a: int, b: int, paths: _Paths, counts: Int32Matrix) -> None:
    """Count conditions and runs of the leaves from a to b."""
    scratch = _make_scratch(paths)
    for i in range(a, b):
        counts[i, 0], counts[i, 1] = _box(paths, paths.leaf[i], scratch)


@kernel
def _fill(
    a: int, b: int, paths: _Paths, starts: Int32Matrix, feature: Int32Vector, met: CellSets
) -> None:
    """Write the conditions of the leaves from a to b."""
    scratch = _make_scratch(paths)
    for i in range(a, b):
        count, runs = _box(paths, paths.leaf[i], scratch)
        condition, run = starts[0, i], starts[1, i]
        for c in range(count):
            feature[condition + c] = scratch.feature[c]
            met.start[condition + c] = run + scratch.run[c]
        for r in range(runs):
            met.low[run + r], met.high[run + r] = scratch.low[r], scratch.high[r]
