"""Rows counted by the conditions that they miss, against other ways to count the same rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.trees.counting import missed_conditions, pure_effects
from onnxplain_server.trees.counting.bitset_counting import BitsetCounter
from onnxplain_server.trees.counting.missed_conditions import count_missed
from onnxplain_server.trees.counting.pure_effects import evaluate_pure
from onnxplain_server.trees.counting.ranked_rows import build_bitsets
from onnxplain_server.trees.counting.strategies import BitsetCounting
from onnxplain_server.trees.leaves import Leaves

from tests.trees.test_exact import drawn, grown

WIDTH = 5
EVERY = [*((j,) for j in range(WIDTH)), *combinations(range(WIDTH), 2)]
ANY_FIXTURE = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture
def counters(regressor, engine):
    """Grow trees and draw rows: seed, n, weights -> ensemble, boxes, rows as cells, pool."""

    def make(seed, n, weigh):
        rng = np.random.default_rng(seed)
        trees = [grown(rng, 5, WIDTH, 2) for _ in range(4)]
        weights = {"e": np.ones(n), "w": rng.integers(1, 4, n), "r": rng.random(n) + 0.1}[weigh]
        bound = engine(regressor(trees, WIDTH), drawn(rng, n, WIDTH), weights)
        boxes = Leaves(bound._ensemble).boxes(bound._pool)
        return bound._ensemble, boxes, bound._bound.ranked, bound._pool

    return make


def conditions_met(boxes, ranked):
    """Whether each row meets each condition, by comparing its cell: (n_conditions, n)."""
    met = np.zeros((len(boxes.feature), len(ranked)), bool)
    for c, j in enumerate(boxes.feature):
        for run in range(boxes.met.start[c], boxes.met.start[c + 1]):
            low, high = boxes.met.low[run], boxes.met.high[run]
            met[c] |= (low <= ranked.codes[j]) & (ranked.codes[j] < high)
    return met


@ANY_FIXTURE
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 700),
    weigh=st.sampled_from("ewr"),
    groups=st.sets(st.sampled_from(EVERY), min_size=1),
)
def test_shares_are_those_of_the_rows_that_meet_all_other_conditions(
    counters, seed, n, weigh, groups
) -> None:
    ensemble, boxes, ranked, pool = counters(seed, n, weigh)
    counting = BitsetCounting(ensemble, boxes, ranked)
    count = counting.prepare(sorted(groups), pool)
    met = conditions_met(boxes, ranked)
    for group in groups:
        counted = count(group)
        for i, leaf in enumerate(counted.leaves):
            own = np.arange(boxes.start[leaf], boxes.start[leaf + 1])
            for lifted in range(1 << len(group)):
                left_out = [c for q, c in enumerate(counted.conditions[i]) if lifted >> q & 1]
                inside = met[np.setdiff1d(own, left_out)].all(axis=0)
                expected = ranked.shares[inside].sum()
                assert counted.shares[i, lifted] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("weigh", "ewr")
@pytest.mark.parametrize("n", [64 * 64, 64 * 64 + 1, 20_000])
def test_blocks_of_rows_count_what_a_single_leaf_at_a_time_does(
    counters, monkeypatch, n, weigh
) -> None:
    monkeypatch.setattr(missed_conditions, "_MAX_SCRATCH_WORDS", 1)  # bitsets of 512 rows
    ensemble, boxes, ranked, pool = counters(3, n, weigh)
    counting = BitsetCounting(ensemble, boxes, ranked)
    count = counting.prepare(EVERY, pool)
    bits = build_bitsets(ensemble, list(ranked.codes), range(WIDTH))
    one_by_one = BitsetCounter(boxes, ranked, bits)
    for group in EVERY:
        found, conditions = boxes.with_all(group)
        expected = one_by_one.count(found, conditions, None)
        counted = count(group)
        shares = np.zeros_like(expected)
        shares[np.isin(found, counted.leaves)] = counted.shares
        assert shares == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_equal_weights_are_counted_without_rounding(counters) -> None:
    ensemble, boxes, ranked, pool = counters(1, 20_000, "e")
    counting = BitsetCounting(ensemble, boxes, ranked)
    count = counting.prepare(EVERY, pool)
    n = len(ranked) if ranked.unit == 1 / len(ranked) else 1 / ranked.unit
    for group in EVERY:
        counts = count(group).shares * n
        assert counts == pytest.approx(np.rint(counts), rel=1e-15, abs=0)


def test_counts_that_take_too_much_memory_are_made_group_by_group(
    counters, regressor, engine, monkeypatch
) -> None:
    rng = np.random.default_rng(4)
    model = regressor([grown(rng, 5, WIDTH) for _ in range(4)], WIDTH)
    rows, points = drawn(rng, 300, WIDTH), np.linspace(-4, 4, 30)
    requests = [([j, k], [points, points]) for j, k in combinations(range(WIDTH), 2)]
    at_once = list(engine(model, rows).curves(requests))
    monkeypatch.setattr(missed_conditions, "_MAX_COUNTS", 1)
    ensemble, boxes, ranked, pool = counters(4, 300, "e")
    counting = BitsetCounting(ensemble, boxes, ranked)
    numbers = counting._numbers
    assert count_missed(boxes, numbers, ranked, EVERY, pool) is None
    singly = list(engine(model, rows).curves(requests))
    assert np.array(at_once) == pytest.approx(np.array(singly), rel=1e-12, abs=1e-12)


@ANY_FIXTURE
@given(seed=st.integers(0, 2**32 - 1), points=st.sampled_from([3, 40, 400]))
def test_a_table_of_cells_gives_what_the_sweep_line_gives(counters, seed, points) -> None:
    ensemble, boxes, ranked, pool = counters(seed, 60, "r")
    rng = np.random.default_rng(seed)
    first = ensemble.first
    counting = BitsetCounting(ensemble, boxes, ranked)
    count = counting.prepare(EVERY, pool)
    for group in combinations(range(WIDTH), 2):
        codes = [rng.integers(first[j], first[j + 1] - 1, points).astype(np.int32) for j in group]
        counted = count(group)
        by_table = evaluate_pure(ensemble, counted, codes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pure_effects, "_MAX_TABLE", 0)
            by_sweep = evaluate_pure(ensemble, counted, codes)
        assert by_table == pytest.approx(by_sweep, rel=1e-11, abs=1e-12)
