"""Effects over tables in blocks, against the engine that holds all rows, and by their definitions.

Blocks are of a few rows here, so that a small table has many.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.effects.background import merge
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions.compute import compute, compute_streamed
from onnxplain_server.trees.attributing import leaf_groups
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming import block_effects, blocks, counts, pure_tables
from onnxplain_server.trees.streaming import engine as engine_module
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.engine import StreamedTrees

from tests.trees.test_exact import drawn, grown

WIDTH = 4
NAMES = tuple(f"x{j}" for j in range(WIDTH))
SINGLES = [(j,) for j in range(WIDTH)]
ALL_OF = [*combinations(range(WIDTH), 2), *combinations(range(WIDTH), 3)]
ANY_FIXTURE = settings(
    max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


class Rows:
    """Rows in memory, as blocks of some size."""

    def __init__(self, ensemble, rows, weights, size) -> None:
        self.row_count = len(rows)
        self._dtypes = tuple(axis.dtype for axis in ensemble.axes)
        self._rows, self._weights, self._size = rows, weights, size

    def read(self, first, last, columns=None):
        for start in range(first * self._size, min(last * self._size, len(self._rows)), self._size):
            part = slice(start, start + self._size)
            features = Features(NAMES, tuple(self._rows[part].T), self._dtypes, "X")
            weights = self._weights[part]
            source = np.arange(start, start + len(weights))
            yield RowBlock(len(weights), merge(features, weights, source))


@pytest.fixture
def streamed(monkeypatch, ledger):
    """Stream rows in blocks: ensemble, rows, weights, size, threads -> StreamedTrees."""

    def make(ensemble, rows, weights, size, threads=2):
        monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
        count = len(ensemble.offset)
        outputs = AffineOutputs.of(ensemble, [f"y{k}" for k in range(count)], np.arange(count))
        pool = BlockPool(ThreadPoolExecutor(threads), ledger)
        of_rows = Rows(ensemble, rows, weights, size)
        return StreamedTrees(ensemble, Leaves(ensemble), of_rows, outputs, pool, 1 << 30)

    return make


class Collected:
    """Effects at all rows, one block below the other: what a measure may ask for."""

    def __init__(self, effects, groups) -> None:
        self.outputs = effects.outputs()
        self.single = {s.feature: (s.own, s.others) for s in effects.single(range(WIDTH))}
        self.joint = {j.features: (j.whole, j.pure) for j in effects.joint(groups)}

    def add(self, later) -> None:
        self.outputs = np.concatenate([self.outputs, later.outputs])
        for own, others in ((self.single, later.single), (self.joint, later.joint)):
            for key, pair in others.items():
                first, second = map(np.concatenate, zip(own[key], pair, strict=True))
                own[key] = first, second


def weights_of(rng, n, kind):
    return {"e": np.ones(n), "w": rng.integers(1, 4, n) * 1.0, "r": rng.random(n) + 0.1}[kind]


def case(rng, n, targets=2):
    """Grow trees, and draw rows without duplicates: merging them would reorder the effects."""
    rows = drawn(rng, n, WIDTH)
    rows[:, 0] = rng.permutation(n) / n
    trees = [grown(rng, 5, WIDTH, targets) for _ in range(5)]
    return trees, rows


@pytest.mark.parametrize("spreads", [False, True], ids=["counting", "spreading"])
@ANY_FIXTURE
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(3, 200),
    weigh=st.sampled_from("ewr"),
    tables=st.booleans(),
    missed=st.booleans(),
)
def test_effects_at_rows_are_those_of_the_engine_in_memory(
    streamed, engine, regressor, monkeypatch, spreads, seed, size, weigh, tables, missed
) -> None:
    monkeypatch.setattr(counts, "prefers_bitsets", lambda *_: not spreads)
    monkeypatch.setattr(pure_tables, "_MAX_ENTRIES", 1 << 20 if tables else 0)
    if not missed:
        monkeypatch.setattr(counts, "count_missed", lambda *_: None)
    rng = np.random.default_rng(seed)
    trees, rows = case(rng, 150)
    weights = weights_of(rng, 150, weigh)
    exact = engine(regressor(trees, WIDTH), rows, weights)

    of_blocks = streamed(exact._ensemble, rows, weights, size)
    counted = of_blocks.count([*SINGLES, *ALL_OF])
    found = of_blocks.measure(counted, [*SINGLES, *ALL_OF], lambda e: Collected(e, ALL_OF))

    close = pytest.approx
    assert found.outputs == close(exact.outputs(), abs=1e-13)
    for single in exact.single(range(WIDTH)):
        own, others = found.single[single.feature]
        assert own == close(single.own, rel=1e-12, abs=1e-12)
        assert others == close(single.others, rel=1e-12, abs=1e-12)
    for joint in exact.joint(ALL_OF):
        whole, pure = found.joint[joint.features]
        assert whole == close(joint.whole, rel=1e-12, abs=1e-12)
        assert pure == close(joint.pure, rel=1e-12, abs=1e-12)


def test_effects_of_one_block_are_those_of_their_definition(streamed, brute, engine, regressor):
    """Rows of the second block are averaged over those of both."""
    trees, rows = case(np.random.default_rng(3), 40, targets=1)
    weights = np.arange(1.0, 41.0)
    of_blocks = streamed(engine(regressor(trees, WIDTH), rows)._ensemble, rows, weights, 25)
    groups = [*SINGLES, (1, 3)]

    found = of_blocks.measure(of_blocks.count(groups), groups, lambda e: Collected(e, [(1, 3)]))

    reference, at = brute(trees, rows, weights), rows[25:]
    for j in range(WIDTH):
        others = [k for k in range(WIDTH) if k != j]
        own, rest = found.single[j]
        assert own[25:] == pytest.approx(reference.partial_dependence([j], at[:, [j]]))
        assert rest[25:] == pytest.approx(reference.partial_dependence(others, at[:, others]))
    both = reference.partial_dependence([1, 3], at[:, [1, 3]])
    assert found.joint[1, 3][0][25:] == pytest.approx(both)


def statistics(result):
    """All numerators and denominators of a result: (n, 2, n_outputs)."""
    parts = (result.total, *result.overall, *result.pairwise, *result.threeway, *result.importance)
    return np.array([[each.numerators, each.denominators] for each in parts])


OPTIONS = interactions.resolve(
    interactions.Options(pairwise_feature_count=3, threeway_feature_count=3), NAMES, ""
)


@ANY_FIXTURE
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(5, 300), weigh=st.sampled_from("ewr"))
def test_interactions_are_those_of_the_engine_in_memory(
    streamed, engine, regressor, seed, size, weigh
) -> None:
    """Also where rows repeat, in one block and in several."""
    rng = np.random.default_rng(seed)
    rows = drawn(rng, 250, WIDTH)[rng.integers(0, 200, 300)]
    weights = weights_of(rng, 300, weigh)
    exact = engine(regressor([grown(rng, 5, WIDTH, 2) for _ in range(5)], WIDTH), rows, weights)

    found = compute_streamed(streamed(exact._ensemble, rows, weights, size), NAMES, OPTIONS)
    expected = compute(exact, OPTIONS, 0)

    of_all = statistics(expected)
    assert [s.features for s in found.pairwise] == [s.features for s in expected.pairwise]
    scale = expected.mean_squares.max()
    assert statistics(found) == pytest.approx(of_all, rel=1e-12, abs=1e-12 * max(scale, 1e-30))


def test_bits_do_not_depend_on_the_number_of_threads(streamed, engine, regressor) -> None:
    rng = np.random.default_rng(5)
    trees, rows = case(rng, 1_000)
    weights = rng.random(1_000) + 0.1
    ensemble = engine(regressor(trees, WIDTH), rows)._ensemble

    results = [
        statistics(compute_streamed(streamed(ensemble, rows, weights, 37, n), NAMES, OPTIONS))
        for n in (1, 2, 4)
    ]

    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


def test_repeating_the_table_changes_no_share(streamed, engine, regressor) -> None:
    rng = np.random.default_rng(6)
    trees, rows = case(rng, 90)
    ensemble = engine(regressor(trees, WIDTH), rows)._ensemble

    once = compute_streamed(streamed(ensemble, rows, np.ones(90), 32), NAMES, OPTIONS)
    thrice = np.tile(rows, (3, 1))
    again = compute_streamed(streamed(ensemble, thrice, np.ones(270), 32), NAMES, OPTIONS)

    assert statistics(again) == pytest.approx(statistics(once), rel=1e-11, abs=1e-14)


def test_additive_trees_have_no_interactions(streamed, engine, regressor) -> None:
    """The threshold that sets rounding errors to 0 is that of the engine in memory."""
    trees = [((j, "LEQ", 0.0), [1.0 + j], [-1.0]) for j in range(WIDTH)]
    rows = drawn(np.random.default_rng(7), 200, WIDTH, missing=False)
    ensemble = engine(regressor(trees, WIDTH), rows)._ensemble

    result = compute_streamed(streamed(ensemble, rows, np.ones(200), 64), NAMES, OPTIONS)

    assert result.total.numerators.tolist() == [0.0]
    assert [each.numerators.tolist() for each in result.overall] == [[0.0]] * WIDTH
    assert all(each.numerators[0] == 0 for each in result.pairwise)


def test_two_features_worked_by_hand(streamed, engine, regressor) -> None:
    """The model is 4 where x0 and x1 are 1, else 0, on four corners of a square.

    Then F_0 = F_1 = 0 or 2, f - F_0 - F_1 is 0, -2, -2, 0 or, centred, 1, -1, -1, 1: its mean
    square is 1, and that of f, 4 with probability 1/4, is 3.
    """
    tree = ((0, "LEQ", 0.5), [0.0], ((1, "LEQ", 0.5), [0.0], [4.0]))
    rows = np.array([[0.0, 0, 7, 7], [0, 1, 7, 7], [1, 0, 7, 7], [1, 1, 7, 7]])
    model = regressor([tree], WIDTH)
    ensemble = engine(model, rows)._ensemble
    options = interactions.resolve(interactions.Options(features=("x0", "x1")), NAMES, "")

    result = compute_streamed(streamed(ensemble, rows, np.ones(4), 3), NAMES, options)

    assert result.mean_squares == pytest.approx([3.0], rel=1e-14)
    assert [each.numerators[0] for each in result.overall] == pytest.approx([1, 1], rel=1e-14)
    (pair,) = result.pairwise
    assert (pair.numerators[0], pair.denominators[0]) == pytest.approx((1, 3), rel=1e-14)
    assert result.total.values == pytest.approx([1 / 3], rel=1e-14)


def test_an_infinite_prediction_names_the_rows_of_the_table(streamed, engine, regressor) -> None:
    tree = ((0, "LEQ", 0.5), [0.0], [float("inf")])
    rows = np.array([[0.0, 0, 0, 0]] * 7 + [[1.0, 0, 0, 0]])
    ensemble = engine(regressor([tree], WIDTH), rows[:2])._ensemble

    with pytest.raises(ExplainError, match=r"not finite for row 7 \(counted from 0\)") as error:
        compute_streamed(streamed(ensemble, rows, np.ones(8), 3), NAMES, OPTIONS)

    assert error.value.reason is Reason.NON_FINITE_PREDICTION


def test_effects_in_parts_are_the_same(streamed, engine, regressor, monkeypatch) -> None:
    """Where effects of all features at once would take too much memory."""
    rng = np.random.default_rng(8)
    trees, rows = case(rng, 200)
    ensemble = engine(regressor(trees, WIDTH), rows)._ensemble
    of_blocks = streamed(ensemble, rows, np.ones(200), 64)

    whole = statistics(compute_streamed(of_blocks, NAMES, OPTIONS))
    monkeypatch.setattr(block_effects, "_MAX_EFFECT_BYTES", 1)

    assert statistics(compute_streamed(of_blocks, NAMES, OPTIONS)).tobytes() == whole.tobytes()


def test_affine_outputs_are_those_of_the_engine_in_memory(streamed, engine, regressor) -> None:
    rng = np.random.default_rng(9)
    trees, rows = case(rng, 200)
    ensemble = engine(regressor(trees, WIDTH), rows)._ensemble
    matrix, offset = np.array([[2.0, -1.0], [0.5, 3.0], [0.0, 1.0]]), np.array([1.0, 100.0, -3.0])
    combined = replace(ensemble, matrix=matrix, offset=offset)

    found = compute_streamed(streamed(combined, rows, np.ones(200), 64), NAMES, OPTIONS)
    expected = compute(engine(combined, rows), OPTIONS, 0)

    assert statistics(found) == pytest.approx(statistics(expected), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("perturbation", Perturbation)
@ANY_FIXTURE
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(3, 200),
    weigh=st.sampled_from("ewr"),
    value=st.sampled_from(GameValue),
    are_grouped=st.booleans(),
)
def test_attributions_against_blocks_are_those_against_rows_in_memory(
    streamed, engine, regressor, monkeypatch, perturbation, seed, size, weigh, value, are_grouped
) -> None:
    if not are_grouped:  # leaves, each by itself
        monkeypatch.setattr(leaf_groups, "MOST_TESTS", 0)
    rng = np.random.default_rng(seed)
    trees, rows = case(rng, 150)
    weights = weights_of(rng, 150, weigh)
    exact = engine(regressor(trees, WIDTH), rows, weights)
    of_blocks = streamed(exact._ensemble, rows, weights, size)
    explained = exact.background.take(np.arange(7, 60, 9))
    players, game = ((0, 2), (1,), (3,)), Game(perturbation, value, 2)

    assert of_blocks.can_attribute(players, game)
    found, base = of_blocks.attribute(explained, players, game)

    expected = exact.attribute(explained, players, game)
    assert found.values == pytest.approx(expected.values, rel=1e-9, abs=1e-12)
    assert found.interactions == pytest.approx(expected.interactions, rel=1e-9, abs=1e-12)
    assert base == pytest.approx(np.average(exact.outputs(), axis=0, weights=weights))


def test_leaves_of_more_players_than_rows_tell_are_summed_over_blocks(
    streamed, engine, regressor
) -> None:
    """Rows in memory find the patterns that occur there; of blocks, all are known."""
    tree: Any = [1.0, -2.0]
    for j in range(WIDTH):
        tree = ((j, "LEQ", 0.0), tree, [float(j), 3.0])
    rows = np.array([[-1, 1, -1, 1], [-1, -1, -1, -1], [1, 1, 1, -1]]) / 2.0
    exact = engine(regressor([tree], WIDTH), rows)
    game = Game(Perturbation.INTERVENTIONAL, GameValue.SHAPLEY)
    explained = exact.background.take(np.array([1]))

    found, _ = streamed(exact._ensemble, rows, np.ones(3), 2).attribute(explained, SINGLES, game)

    assert found.values == pytest.approx(exact.attribute(explained, SINGLES, game).values)
    assert found.values.any()


def test_leaves_with_many_patterns_are_not_summed_over_blocks(
    streamed, engine, regressor, monkeypatch
) -> None:
    trees, rows = case(np.random.default_rng(5), 20)
    of_blocks = streamed(engine(regressor(trees, WIDTH), rows)._ensemble, rows, np.ones(20), 7)
    monkeypatch.setattr(engine_module, "MOST_NUMBERS", 10)

    fits = [
        of_blocks.can_attribute(SINGLES, Game(each, GameValue.SHAPLEY)) for each in Perturbation
    ]
    assert fits == [False, True]  # paths need no patterns
