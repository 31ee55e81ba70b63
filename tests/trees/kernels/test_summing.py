"""Sums of leaves: cells as the axes find them, descents of any shape, progress by block."""

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.bound import BoundRows
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import CountedRows, Leaves
from onnxplain_server.trees.reading.axes import MISSING, Axis, key_of
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble

RANDOM = np.random.default_rng(0)
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 2.0)]


def chain(depth: int, cuts: np.ndarray) -> Ensemble:
    """One tree that goes on at one side only: leaf k for cells below cut k of feature k % 2."""
    inner = np.arange(depth)
    node, leaf = 2 * inner, np.append(2 * inner + 1, 2 * depth)
    feature = np.full(2 * depth + 1, -1, dtype=np.int32)
    feature[node] = inner % 2
    true, false = np.full((2, 2 * depth + 1), -1, dtype=np.int32)
    true[node], false[node] = node + 1, node + 2
    parent = np.full(2 * depth + 1, -1, dtype=np.int32)
    parent[true[node]], parent[false[node]] = node, node
    axis = Axis(np.dtype(np.float64), None, np.append(key_of(cuts), MISSING), ())
    first = (np.arange(3) * (len(axis.cuts) + 2)).astype(np.int32)
    is_inner = feature >= 0
    start = np.append(0, np.cumsum(is_inner)).astype(np.int32)
    low = first[inner % 2]
    high = low + 1 + inner.astype(np.int32) // 2
    return Ensemble(
        (axis, axis),
        first,
        np.zeros(1, np.int32),
        feature,
        true,
        false,
        parent,
        CellSets(start, low, high.astype(np.int32)),
        leaf.astype(np.int32),
        2.0 ** -np.arange(depth + 1.0)[:, None],
        np.eye(1),
        np.zeros(1),
        depth,
    )


def rows_of(*columns: np.ndarray) -> Any:
    dtypes = tuple(column.dtype for column in columns)
    features = Features(tuple("ab"), columns, dtypes, "")
    return unmerged(features, np.ones(len(columns[0])), np.arange(len(columns[0])))


@pytest.mark.parametrize("cut_count", [0, 1, 2, 3, 16, 1000])
def test_ranked_rows_have_the_cells_of_their_axes(cut_count, threads, ledger) -> None:
    cuts = np.unique(np.append(RANDOM.normal(size=cut_count), ENDS[:cut_count]))
    cuts = cuts[~np.isnan(cuts)][:cut_count] + 0.0
    ensemble = chain(2, cuts)
    column = np.concatenate([ENDS, cuts, RANDOM.normal(size=1000)])
    background = rows_of(column, column[::-1].copy())

    codes = rank_rows(ensemble, background, BlockPool(threads, ledger)).codes

    expected = [ensemble.codes(j, own) for j, own in enumerate(background.columns)]
    assert codes.tolist() == np.stack(expected).tolist()


def test_rows_of_a_block_descend_to_leaves_of_different_depths(threads, ledger) -> None:
    depth = 40
    ensemble = chain(depth, np.arange(depth / 2))
    columns = RANDOM.uniform(-1, depth, size=(2, 1030))
    background = rows_of(*columns)
    bound = BoundRows(
        ensemble,
        background,
        ("y",),
        np.zeros(1, int),
        lambda sums: sums,
        BlockPool(threads, ledger),
        CountedRows(Leaves(ensemble), len(background)),
    )

    expected = []
    for row in columns.T:
        below = [row[k % 2] < k // 2 for k in range(depth)]
        expected.append(2.0 ** -(below.index(True) if any(below) else depth))

    assert bound.outputs[:, 0].tolist() == expected


class Frames:
    """Host that keeps the progress."""

    def __init__(self) -> None:
        self.done: list[float] = []

    def advance(self, done: float, planned: float) -> None:
        assert done <= planned
        self.done.append(done)


def test_predicting_by_trees_reports_each_block_of_rows(threads) -> None:
    frames = Frames()
    ledger = Ledger(frames)  # type: ignore[arg-type]  # progress is all that is asked of it
    ledger.reserve(1300)
    ensemble = chain(4, np.arange(2.0))
    bound = BoundRows(
        ensemble,
        rows_of(*RANDOM.normal(size=(2, 1300))),
        ("y",),
        np.zeros(1, int),
        lambda sums: sums,
        BlockPool(threads, ledger),
        CountedRows(Leaves(ensemble), 1300),
    )

    assert len(bound.outputs) == 1300
    assert len(set(frames.done) - {0, 1300}) >= 2
    assert max(frames.done) == 1300
