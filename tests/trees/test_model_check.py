"""The check of trees against the model asks rows that no table has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import unmerged
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.model_check import check_trees, made_rows
from onnxplain_server.trees.reading.check import compare_with_made
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble


class Shifted:
    """A model that the trees x + y say everything of, but where `is_odd` holds."""

    output_names = ("y",)

    def __init__(self, is_odd) -> None:
        self._is_odd = is_odd

    def predict(self, feeds):
        rows = feeds["X"]
        return ((rows > 0).sum(axis=1) + self._is_odd(rows))[:, np.newaxis].astype(np.float32)


@pytest.fixture
def trees(regressor) -> Ensemble:
    ensemble = read_ensemble(regressor([((j, "GT", 0.0), [1.0], [0.0]) for j in range(2)], 2))
    assert isinstance(ensemble, Ensemble)
    return ensemble


@pytest.fixture
def rows():
    """Rows in which at most one of two features is above 0."""
    columns = (np.tile([-1.0, 1.0], 50), np.tile([1.0, -1.0], 50))
    features = Features(("a", "b"), columns, (np.dtype(np.float32),) * 2, "X")
    return unmerged(features, np.ones(100), np.arange(100))


@pytest.mark.parametrize(
    ("is_odd", "finds"),
    [
        (lambda _: False, False),
        (lambda rows: (rows > 0).all(axis=1), True),
        (lambda rows: rows[:, 0] == 0, True),
        (lambda rows: rows[:, 1] > 1, False),
    ],
    ids=["nothing", "two features above 0", "at a threshold", "outside of the table"],
)
def test_made_rows_reach_what_rows_of_the_table_do_not(
    trees, rows, threads, ledger, is_odd, finds: bool
) -> None:
    model: Any = Shifted(is_odd)
    mismatch = check_trees(trees, model, rows, BlockPool(threads, ledger))
    assert (mismatch is not None) == finds


def test_made_rows_are_the_same_each_time(trees, rows) -> None:
    first, second = (np.stack(made_rows(trees, rows.columns)) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.abs(first).max() == 1


def test_made_rows_that_a_model_does_not_take_say_nothing() -> None:
    def compare(columns: Sequence[Array]) -> None:
        if len(columns) == 2:
            raise ExplainError(Reason.PREDICTION_FAILED, "no such rows")

    assert compare_with_made(compare, [np.zeros(1)], lambda: [np.zeros(1)] * 2) is None


def test_other_faults_on_made_rows_are_raised() -> None:
    def compare(columns: Sequence[Array]) -> None:
        if len(columns) == 2:
            raise ExplainError(Reason.OUT_OF_MEMORY, "no memory")

    with pytest.raises(ExplainError, match="no memory"):
        compare_with_made(compare, [np.zeros(1)], lambda: [np.zeros(1)] * 2)
