"""Attributions on trees, beside all coalitions by brute force, and by their laws."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.trees.attributing import attributions, leaf_slots
from onnxplain_server.trees.attributing.tabulation import Tabulation

INTERVENTIONAL, PATHS = Perturbation.INTERVENTIONAL, Perturbation.PATH_DEPENDENT
SHAPLEY, BANZHAF = GameValue.SHAPLEY, GameValue.BANZHAF
WIDTH = 4
VALUES = [0.0, 1.0, 2.0, 3.0, np.nan]

# A feature that comes twice on a path, one that is tested for equality, missing values that take
# either branch, two targets, and a leaf that no row reaches.
TREES = [
    (
        (0, "LEQ", 1, True),
        ((1, "LEQ", 2), ((0, "LT", 1), [1, 0], [2, -1]), ((2, "EQ", 2), [4, 2], [8, 0])),
        ((1, "GT", 0, True), ((3, "LEQ", 1), [16, 3], [-5, 0]), ((0, "GT", 2), [7, 1], [9, 1])),
    ),
    ((2, "LEQ", 1), ((3, "GTE", 2), [3, 0], [-2, 5]), ((3, "LEQ", 0, True), [1, 1], [0, 6])),
]
ROWS = np.random.default_rng(0).choice(VALUES, (9, WIDTH))
WEIGHTS = [1, 2, 0.5, 1, 1, 3, 1, 1, 0.25]
EXPLAINED = np.array([[0, 1, 2, 3], [3, 0, 1, np.nan], [np.nan, 2, 0, 0], [2, 3, 3, 1]])
SINGLE = tuple((j,) for j in range(WIDTH))
GROUPED = ((0, 2), (1,), (3,))


def rows_of(engine: Any, rows: Array) -> Background:
    features = engine.background.features
    columns = tuple(np.asarray(rows, dtype=float).T)
    own = type(features)(features.names, columns, features.dtypes, features.matrix)
    return unmerged(own, np.ones(len(rows)), np.arange(len(rows)))


def games() -> Iterator[Any]:
    for perturbation in Perturbation:
        for value in GameValue:
            for players in (SINGLE, GROUPED):
                yield perturbation, value, players


def worth_of(
    brute: Any, perturbation: Perturbation, players: Any, row: Array
) -> Callable[..., Any]:
    """The worth of coalitions for one row, by their definitions."""

    def worth(coalition: Sequence[int]) -> Any:
        own = [j for p in coalition for j in players[p]]
        if perturbation is INTERVENTIONAL:
            (effect,) = brute.partial_dependence(own, row[None, own].astype(np.float32))
            return effect
        return np.sum([expected(brute, tree, own, row, brute.weights) for tree in brute.trees], 0)

    return worth


def expected(brute: Any, tree: Any, own: Sequence[int], row: Array, weights: Array) -> Any:
    """Go down as the row does at its own features, and elsewhere both ways by shares of rows."""
    if isinstance(tree, list):
        return np.array(tree, dtype=float)
    test, true, false = tree
    goes = np.array([brute.descend((test, [1], [0]), r)[0] for r in brute.rows]) == 1
    if test[0] in own:
        is_true = brute.descend((test, [1], [0]), row.astype(np.float32))[0] == 1
        branch, kept = (true, goes) if is_true else (false, ~goes)
        return expected(brute, branch, own, row, np.where(kept, weights, 0))
    total = weights.sum()
    share = weights[goes].sum() / total if total > 0 else 0.5
    parts = ((true, goes, share), (false, ~goes, 1 - share))
    return np.sum(
        [s * expected(brute, b, own, row, np.where(k, weights, 0)) for b, k, s in parts if s > 0], 0
    )


def by_coalitions(worth: Callable[..., Any], count: int, value: GameValue, moved: Any) -> Array:
    """Shapley and Banzhaf values of players, or their interaction indices, by definition."""
    others = [p for p in range(count) if p not in moved]
    total: Any = 0
    for size in range(len(others) + 1):
        free = count - len(moved) + 1
        weight = factorial(size) * factorial(free - 1 - size) / factorial(free)
        if value is BANZHAF:
            weight = 0.5 ** (free - 1)
        for coalition in combinations(others, size):
            for k in range(len(moved) + 1):
                for part in combinations(moved, k):
                    sign = (-1) ** (len(moved) - k)
                    total = total + sign * weight * worth((*coalition, *part))
    return np.asarray(total)


@pytest.fixture(params=[16, 0], ids=["tables", "occurring patterns"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributions, "MOST_TABLE_PLAYERS", request.param)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize(("perturbation", "value", "players"), list(games()))
def test_values_are_those_of_all_coalitions(
    regressor, engine, brute, perturbation, value, players
) -> None:
    exact = engine(regressor(TREES, WIDTH), ROWS, WEIGHTS)

    found = exact.attribute(rows_of(exact, EXPLAINED), players, Game(perturbation, value, 2))

    by_hand = brute(TREES, ROWS, WEIGHTS)
    pairs = list(combinations(range(len(players)), 2))
    for i, row in enumerate(EXPLAINED):
        worth = worth_of(by_hand, perturbation, players, row)
        own = [by_coalitions(worth, len(players), value, (p,)) for p in range(len(players))]
        joint = [by_coalitions(worth, len(players), value, pair) for pair in pairs]
        assert found.values[i] == pytest.approx(np.array(own), abs=1e-9)
        assert found.interactions[i] == pytest.approx(np.array(joint), abs=1e-9)


def chain(depth: int) -> Any:
    """A tree whose deepest leaf tests a feature at each step."""
    tree: Any = [float(depth)]
    for j in range(depth):
        tree = ((j, "LEQ", 1), tree, [float(j)])
    return tree


@pytest.mark.parametrize("perturbation", Perturbation)
def test_deep_leaves_are_those_of_tables(regressor, engine, monkeypatch, perturbation) -> None:
    rng = np.random.default_rng(1)
    rows, explained = rng.integers(0, 4, (300, 12)), rng.integers(0, 4, (40, 12))
    exact = engine(regressor([chain(12)], 12), rows)
    game, players = Game(perturbation, SHAPLEY, 2), tuple((j,) for j in range(12))

    def attribute(table_players: int) -> Any:
        monkeypatch.setattr(attributions, "MOST_TABLE_PLAYERS", table_players)
        return exact.attribute(rows_of(exact, explained), players, game)

    tables, occurring = attribute(16), attribute(4)
    assert tables.values == pytest.approx(occurring.values, abs=1e-12)
    assert tables.interactions == pytest.approx(occurring.interactions, abs=1e-12)


@pytest.mark.parametrize("table_players", [16, 0], ids=["tables", "occurring patterns"])
def test_numbers_of_many_leaves_are_laid_out_in_parts(
    regressor, engine, monkeypatch, table_players
) -> None:
    """Of a forest of full trees, pairs of all leaves at once would take more than the answer."""
    monkeypatch.setattr(attributions, "MOST_TABLE_PLAYERS", table_players)
    exact = engine(regressor([chain(12)] * 3, 12), np.eye(12))
    game, players = Game(INTERVENTIONAL, SHAPLEY, 2), tuple((j,) for j in range(12))
    explained, laid_out = rows_of(exact, 2 * np.eye(12)), list[int]()
    slots = Tabulation.slots

    def counted(self: Tabulation, order: int, is_used: Array) -> Any:
        found = slots(self, order, is_used)
        laid_out.append(len(found.number))
        return found

    monkeypatch.setattr(Tabulation, "slots", counted)
    whole = exact.attribute(explained, players, game)
    assert max(laid_out) > 500
    laid_out.clear()
    monkeypatch.setattr(leaf_slots, "_CHUNK_SLOTS", 100)
    in_parts = engine(regressor([chain(12)] * 3, 12), np.eye(12)).attribute(
        explained, players, game
    )

    assert max(laid_out) <= 100
    assert in_parts.values == pytest.approx(whole.values, abs=1e-12)
    assert in_parts.interactions == pytest.approx(whole.interactions, abs=1e-12)


def test_values_of_many_rows_take_little_more_memory_than_the_answer(regressor, engine) -> None:
    exact = engine(regressor([chain(10)], 10), np.eye(10))
    explained = rows_of(exact, np.tile(2 * np.eye(10), (4_000, 1)))
    players = tuple((j,) for j in range(10))
    exact.attribute(explained.take(np.arange(2)), players, Game(INTERVENTIONAL, SHAPLEY, 2))
    tracemalloc.start()
    try:
        found = exact.attribute(explained, players, Game(INTERVENTIONAL, SHAPLEY, 2))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1.6 * (found.values.nbytes + found.interactions.nbytes)


def test_leaves_of_very_many_features_are_refused(regressor, engine) -> None:
    exact = engine(regressor([chain(63)], 63), [[0] * 63, [2] * 63])
    players = tuple((j,) for j in range(63))
    explained = rows_of(exact, np.ones((1, 63)))

    with pytest.raises(ExplainError, match="depends on 63 features"):
        exact.attribute(explained, players, Game(INTERVENTIONAL, SHAPLEY))
    grouped = exact.attribute(explained, ((0, 1), *players[2:]), Game(INTERVENTIONAL, SHAPLEY))
    assert grouped.values.sum() + exact.outputs().mean() == pytest.approx(63)


def test_tables_are_made_once_for_a_background_and_a_game(
    make_engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    tables = Tabulation.tables

    def counted(self: Tabulation, order: int, *rest: Any) -> Any:
        made.append(order)
        return tables(self, order, *rest)

    monkeypatch.setattr(Tabulation, "tables", counted)
    exact = make_engine(TREES, WIDTH, ROWS, WEIGHTS)

    def attribute(row: int, players: Any, order: int, perturbation: Perturbation) -> Any:
        explained = rows_of(exact, EXPLAINED[row : row + 1])
        return exact.attribute(explained, players, Game(perturbation, SHAPLEY, order)).values

    first = [attribute(row, SINGLE, 1, INTERVENTIONAL) for row in (0, 1, 0)]
    assert made == [1]
    assert first[0].tolist() == first[2].tolist() != first[1].tolist()
    assert attribute(0, SINGLE, 2, INTERVENTIONAL).tolist() == first[0].tolist()
    assert made == [1, 2]
    assert attribute(0, GROUPED, 1, INTERVENTIONAL).shape != first[0].shape
    assert attribute(0, SINGLE, 1, PATHS).tolist() != first[0].tolist()
    other = exact.restrict(exact.background.take(np.arange(4)))
    assert other.attribute(rows_of(other, EXPLAINED[:1]), SINGLE, Game(INTERVENTIONAL, SHAPLEY))
    assert made == [1, 2, 1, 1, 1]


def test_a_tree_worked_by_hand(regressor, engine) -> None:
    """Of x0 <= 0 and x1 <= 0 both a prediction of 12: against rows of (1, 0) and (1, 1)."""
    both = ((0, "LEQ", 0), ((1, "LEQ", 0), [12], [0]), [0])
    exact = engine(regressor([both], 2), [[1, 0], [1, 1]])
    explained = rows_of(exact, np.array([[0, 0]]))

    # Against (1, 0), x0 alone makes 12; against (1, 1), both do: 6 each.
    found = exact.attribute(explained, ((0,), (1,)), Game(INTERVENTIONAL, SHAPLEY, 2))
    assert found.values[0, :, 0].tolist() == pytest.approx([9, 3])
    assert found.interactions[0, :, 0].tolist() == pytest.approx([6])

    # No row takes x0 <= 0, whose node below then has a half for each branch.
    found = exact.attribute(explained, ((0,), (1,)), Game(PATHS, SHAPLEY))
    assert found.values[0, :, 0].tolist() == pytest.approx([9, 3])


small = st.floats(-4, 4, width=32).map(lambda x: [round(x, 2)])
node_tests = st.tuples(
    st.integers(0, WIDTH - 1),
    st.sampled_from(["LEQ", "LT", "GT", "EQ", "NEQ"]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.booleans(),
)
trees = st.lists(
    st.recursive(small, lambda inner: st.tuples(node_tests, inner, inner), max_leaves=12),
    min_size=1,
    max_size=3,
).filter(lambda grown: any(isinstance(tree, tuple) for tree in grown))
tables = st.lists(
    st.lists(st.sampled_from(VALUES), min_size=WIDTH, max_size=WIDTH), min_size=2, max_size=6
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grown=trees, rows=tables, explained=tables, perturbation=st.sampled_from(Perturbation))
def test_laws_of_shapley_values(grown, rows, explained, perturbation, make_engine) -> None:
    exact = make_engine(grown, WIDTH, rows)
    game = Game(perturbation, SHAPLEY, 2)
    own = rows_of(exact, np.array(explained))

    found = exact.attribute(own, SINGLE, game)

    # Additivity: values add up to the prediction less the average; so do main effects and pairs.
    base = exact.background.weights @ exact.outputs() / exact.background.weights.sum()
    predicted = exact.restrict(own).outputs()
    assert found.values.sum(axis=1) + base == pytest.approx(predicted, abs=1e-9)
    # Dummy: a feature that no node tests has no value, and no interaction.
    used = {test[0] for tree in grown for test in conditions_of(tree)}
    unused = [j for j in range(WIDTH) if j not in used]
    assert not found.values[:, unused].any()
    pairs = list(combinations(range(WIDTH), 2))
    assert not found.interactions[:, [i for i, p in enumerate(pairs) if {*p} & {*unused}]].any()
    # Linearity: trees add up.
    parts = [make_engine([tree], WIDTH, rows) for tree in grown if isinstance(tree, tuple)]
    alone = [part.attribute(rows_of(part, np.array(explained)), SINGLE, game) for part in parts]
    assert sum(part.values for part in alone) == pytest.approx(found.values, abs=1e-9)
    # Weights: a row that stands twice is one of twice the weight.
    twice = make_engine(grown, WIDTH, [*rows, rows[0]])
    weights = [2.0, *[1.0] * (len(rows) - 1)]
    heavy = make_engine(grown, WIDTH, rows, weights)
    repeated = [
        each.attribute(rows_of(each, np.array(explained)), SINGLE, game) for each in (twice, heavy)
    ]
    assert repeated[0].values == pytest.approx(repeated[1].values, abs=1e-9)


def conditions_of(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple):
        yield tree[0]
        yield from conditions_of(tree[1])
        yield from conditions_of(tree[2])


@pytest.fixture
def make_engine(regressor, engine) -> Callable[..., Any]:
    return lambda grown, width, rows, weights=None: engine(regressor(grown, width), rows, weights)


def test_a_renamed_feature_has_the_values_of_the_old_one(make_engine) -> None:
    """Symmetry: where features change their places, so do their values."""
    for order in list(permutations(range(WIDTH)))[1::5]:
        place = np.argsort(order)
        moved = [renamed(tree, place) for tree in TREES]
        before = make_engine(TREES, WIDTH, ROWS, WEIGHTS)
        after = make_engine(moved, WIDTH, ROWS[:, order], WEIGHTS)
        game = Game(INTERVENTIONAL, SHAPLEY)

        old = before.attribute(rows_of(before, EXPLAINED), SINGLE, game)
        new = after.attribute(rows_of(after, EXPLAINED[:, order]), SINGLE, game)

        assert new.values == pytest.approx(old.values[:, order], abs=1e-9)


def renamed(tree: Any, place: Array) -> Any:
    if isinstance(tree, list):
        return tree
    (column, *test), true, false = tree
    return (int(place[column]), *test), renamed(true, place), renamed(false, place)
