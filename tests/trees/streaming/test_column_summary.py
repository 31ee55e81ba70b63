"""Distinct values and quantiles of columns in blocks, against those of the column in memory."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.core.contract_limits import (
    AverageLossOptions,
    FirmOptions,
    PartialDependenceOptions,
)
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.column_values import SortedColumn
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.streaming import column_summary, column_sums
from onnxplain_server.trees.streaming.blocks import CallingThread, RowBlock, add_up
from onnxplain_server.trees.streaming.column_summary import summarize
from onnxplain_server.trees.streaming.passes import run_task

from bench.shared.null_host import NullHost

ANY = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
SHARES = np.array([0.0, 0.01, 0.25, 0.5, 0.7, 0.99, 1.0])


def levels_of(column) -> list[Any]:
    """Return the levels of a column that has few."""
    levels: list[Any] = column.levels(0).tolist()
    return levels


class Weighted(NamedTuple):
    """Rows of which only the weights are read."""

    weights: np.ndarray


class Blocks:
    """Runs passes over a table in memory, in blocks of some size, and counts them."""

    def __init__(self, table: Table, size: int) -> None:
        self._table, self._size = table, size
        self.pass_count = 0

    def sum(self, work):
        self.pass_count += 1
        pool = BlockPool(CallingThread(), Ledger(NullHost()))
        starts = range(0, self._table.n_rows, self._size)
        rows = [np.arange(s, min(s + self._size, self._table.n_rows)) for s in starts]
        blocks = [
            RowBlock(
                len(part), cast("Background", Weighted(np.ones(len(part)))), self._table.take(part)
            )
            for part in rows
        ]
        summed = work.prepare(None, None, pool)
        return add_up(run_task(summed, [block], pool, lambda _rows: None) for block in blocks)


@pytest.fixture(params=[1 << 14, 3], ids=["levels", "cells"])
def kept(request, monkeypatch) -> None:
    """Keep few distinct values, so that short columns have many; and divide into few cells."""
    monkeypatch.setattr(column_sums, "MAX_LEVELS", request.param)
    monkeypatch.setattr(column_sums, "KEPT_LEVELS", 2)
    monkeypatch.setattr(column_summary, "_FIRST_CELLS", 4)
    monkeypatch.setattr(column_summary, "_CELLS", 3)
    monkeypatch.setattr(column_summary, "_MAX_RANGES", 2)


def table_of(*columns) -> Table:
    named = {f"x{j}": np.array(column) for j, column in enumerate(columns)}
    return Table(named, len(columns[0]))


numbers = st.floats(width=64, allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e308, float("nan")]
)


@ANY
@given(
    values=st.lists(numbers, min_size=1, max_size=60).filter(lambda v: not np.isnan(v).all()),
    size=st.integers(1, 20),
    sampled=st.integers(1, 10),
)
def test_quantiles_are_those_of_the_column_in_memory(kept, values, size, sampled) -> None:
    column = np.array(values)
    table = table_of(column)
    known = column[~np.isnan(column)]

    found = summarize(Blocks(table, size), table_of(known[:sampled]), {"x0": SHARES})["x0"]

    expected = SortedColumn(column)
    assert found.quantiles(SHARES).tolist() == expected.quantiles(SHARES).tolist()
    assert len(found.missing) == len(expected.missing)
    for place, at in found.places.items():
        assert (at.start, at.end) == ((known < at.value).sum(), (known <= at.value).sum())
        assert at.start <= place < at.end
        assert at.following == known[known > at.value].min(initial=np.inf)
    if found.sums.is_complete:
        assert levels_of(found) == levels_of(expected)


def test_several_columns_share_their_passes(kept) -> None:
    rng = np.random.default_rng(0)
    table = table_of(rng.normal(size=500), rng.integers(0, 2, 500).astype(float))
    blocks = Blocks(table, 64)

    found = summarize(blocks, table.take(np.arange(100)), dict.fromkeys(("x0", "x1"), SHARES))

    for name, summary in found.items():
        expected = SortedColumn(table.column(name)).quantiles(SHARES)
        assert summary.quantiles(SHARES).tolist() == expected.tolist()


def test_a_million_numbers_take_four_passes() -> None:
    """One for the distinct values, and three for cells, of which few have several values then."""
    values = np.random.default_rng(1).normal(size=1_000_000)
    blocks = Blocks(table_of(values), 65_536)

    found = summarize(blocks, table_of(values[::16]), {"x0": SHARES})["x0"]

    assert found.quantiles(SHARES).tolist() == SortedColumn(values).quantiles(SHARES).tolist()
    assert blocks.pass_count <= 4


def test_texts_have_their_levels_and_no_quantiles(kept) -> None:
    table = table_of(np.array(["b", "", "a", "b", "a"], object))

    found = summarize(Blocks(table, 2), table, {"x0": SHARES})["x0"]

    assert levels_of(found) == ["a", "b"]
    assert (found.sums.rows.tolist(), found.missing.tolist()) == ([2.0, 2.0], [""])


def test_whole_numbers_are_told_from_fractions_also_where_few_are_kept(monkeypatch) -> None:
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 2)
    monkeypatch.setattr(column_sums, "KEPT_LEVELS", 1)
    whole, fraction = [5.0, 4, 3, 2, 1], [5.0, 4, 3, 2, 0.5]

    found = summarize(Blocks(table_of(whole, fraction), 2), table_of([1.0], [1.0]),
                      {"x0": np.zeros(0), "x1": np.zeros(0)})  # fmt: skip

    assert [found[name].sums.is_whole for name in ("x0", "x1")] == [True, False]
    assert [found[name].levels(9) for name in ("x0", "x1")] == [None, None]
    assert found["x0"].sums.levels.tolist() == [1.0]


def test_few_values_by_the_contract_are_all_kept() -> None:
    """Grids, groups and bins of so many distinct values list them, and ask for no quantiles."""
    limits = (
        PartialDependenceOptions.grid_size,
        PartialDependenceOptions.group_count,
        AverageLossOptions.group_count,
        FirmOptions.bin_count,
    )

    assert all(limit.max <= column_sums.MAX_LEVELS for limit in limits)
