"""Effects of trees, against their definitions and against cases worked by hand."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.trees import leaves
from onnxplain_server.trees.reading.ensemble import read_ensemble

FORMS = pytest.mark.parametrize("counting", [True, False], ids=["counting", "spreading"])


@pytest.fixture
def form(monkeypatch):
    """Choose how rows are counted."""

    def choose(counting):
        monkeypatch.setattr(leaves, "prefers_bitsets", lambda *_: counting)

    return choose


def grown(rng, depth, width, targets=1, values=None, missing=True):
    """A random tree whose thresholds are values of a coarse grid, so that rows tie with them."""
    if depth == 0 or rng.random() < 0.15:
        return rng.normal(size=targets).tolist()
    mode = rng.choice(["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"], p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    threshold = float(rng.integers(-3, 4)) if values is None else float(rng.choice(values))
    test = (int(rng.integers(width)), str(mode), threshold, missing and rng.random() < 0.3)
    branches = (grown(rng, depth - 1, width, targets, values, missing) for _ in range(2))
    return (test, *branches)


def drawn(rng, n, width, missing=True):
    rows = rng.integers(-4, 5, size=(n, width)) / rng.choice([1.0, 2.0])
    rows[rng.random(size=rows.shape) < (0.1 if missing else 0)] = np.nan
    return rows


def close(actual, expected):
    return actual == pytest.approx(expected, rel=1e-10, abs=1e-10)


def check(engine, brute, trees, rows, weights=None, groups=3) -> None:
    """Compare all effects up to an order with their definitions."""
    width = rows.shape[1]
    own = engine.background.columns
    at = np.stack(own, axis=1)
    reference = brute(trees, at, engine.background.weights)
    assert close(engine.outputs(), reference.predict(at))
    pure = {}
    for single in engine.single(range(width)):
        j = single.feature
        assert close(single.own, reference.partial_dependence([j], at[:, [j]]))
        others = [k for k in range(width) if k != j]
        assert close(single.others, reference.partial_dependence(others, at[:, others]))
        pure[j,] = single.own
    for order in range(2, groups + 1):
        for joint in engine.joint(list(combinations(range(width), order))):
            group = joint.features
            whole = reference.partial_dependence(group, at[:, list(group)])
            assert close(joint.whole, whole)
            pure[group] = whole
            parts = [p for size in range(1, order) for p in combinations(group, size)]
            rest = whole + sum((-1) ** (order - len(p)) * pure[p] for p in parts)
            shift = joint.pure - rest  # known up to a constant
            assert close(shift, shift[:1].repeat(len(shift), axis=0))
    sets = [group for size in range(1, width) for group in combinations(range(width), size)]
    both = zip(sets, engine.wholes(sets), engine.own_and_others(sets), strict=True)
    for group, whole, (own, others) in both if width <= 4 else ():
        rest = [k for k in range(width) if k not in group]
        assert close(whole, reference.partial_dependence(group, at[:, list(group)]))
        assert (own == whole).all()
        assert close(others, reference.partial_dependence(rest, at[:, rest]))


@FORMS
@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1), targets=st.integers(1, 3), weigh=st.sampled_from("ewr"))
def test_effects_are_those_of_their_definitions(
    form,
    regressor,
    engine,
    brute,
    counting,
    seed,
    targets,
    weigh,
) -> None:
    """Random trees of all modes, with ties, missing values and repeated features on a path."""
    form(counting)
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 4, 3, targets) for _ in range(3)]
    rows = drawn(rng, int(rng.integers(2, 20)), 3)
    weights = {"e": None, "w": rng.integers(0, 3, len(rows)) + (np.arange(len(rows)) == 0)}
    weights["r"] = rng.random(len(rows)) + 0.1
    bound = engine(regressor(trees, 3), rows, weights[weigh])
    check(bound, brute, trees, rows)


@FORMS
@pytest.mark.parametrize("n", [1, 64, 129])
def test_row_counts_that_do_not_fill_a_word(form, regressor, engine, brute, counting, n) -> None:
    """Bits after the last row must not be counted where few conditions are left."""
    form(counting)
    rng = np.random.default_rng(n)
    trees = [
        ((0, "LEQ", 0.0), [1.0], [2.0]),
        ((0, "LEQ", 0.5), ((1, "GT", 0.0), [1.0], [3.0]), [5.0]),
    ]
    rows = rng.normal(size=(n, 2))
    check(engine(regressor(trees, 2), rows), brute, trees, rows, groups=2)


@pytest.mark.parametrize("counting", [True, False])
def test_more_than_one_chunk_of_rows(form, regressor, engine, brute, counting) -> None:
    form(counting)
    rng = np.random.default_rng(0)
    trees = [grown(rng, 4, 2) for _ in range(2)]
    rows = rng.normal(size=(9000, 2))
    bound = engine(regressor(trees, 2), rows)
    reference = brute(trees, rows)
    points = np.linspace(-1, 1, 2)
    assert close(bound.curve([0], [points]), reference.partial_dependence([0], points[:, None]))
    single = next(bound.single([1]))
    some = rows[:3].astype(np.float32)
    assert close(single.own[:3], reference.partial_dependence([1], some[:, [1]]))
    assert close(single.others[:3], reference.partial_dependence([0], some[:, [0]]))


@FORMS
def test_a_tree_may_be_a_leaf(form, regressor, engine, counting) -> None:
    form(counting)
    bound = engine(regressor([[2.0], [3.0]], 2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    single = next(bound.single([0]))
    assert bound.outputs().tolist() == [[5.0], [5.0]]
    assert single.own.tolist() == single.others.tolist() == [[5.0], [5.0]]


@FORMS
def test_features_that_share_no_leaf_do_not_interact_at_all(
    form, regressor, engine, counting
) -> None:
    form(counting)
    rng = np.random.default_rng(0)
    trees = [((j, "LEQ", t), [rng.normal()], [rng.normal()]) for j in range(3) for t in (-0.1, 0.3)]
    bound = engine(regressor(trees, 3), rng.normal(size=(100, 3)))
    list(bound.single(range(3)))
    groups = [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert all((joint.pure == 0).all() for joint in bound.joint(groups))


@FORMS
def test_one_hot_columns_together_have_the_effects_of_their_category(
    form, regressor, engine, counting
) -> None:
    """Whatever the order in which trees ask for the columns."""
    form(counting)
    rng = np.random.default_rng(2)
    category, other = rng.integers(0, 3, 70).astype(float), rng.normal(size=70)

    def trees(*is_level):
        above = (len(is_level), "GT", 0.0) if is_level else (1, "GT", 0.0)
        first, second = is_level or ((0, "EQ", 1.0), (0, "EQ", 2.0))
        return [
            (first, (above, [1.0], [2.0]), (second, [4.0], (above, [8.0], [16.0]))),
            (above, (second, (above, [3.0], [5.0]), (first, [7.0], [0.5])), [9.0]),
        ]

    hot = np.stack([category == 1, category == 2, other], axis=1).astype(float)
    raw = engine(regressor(trees(), 2), np.stack([category, other], axis=1))
    grouped = engine(regressor(trees((0, "GT", 0.5), (1, "GT", 0.5)), 3), hot)

    single, _ = raw.single([0, 1])
    (joint,) = raw.joint([(0, 1)])
    ((own, others),) = grouped.own_and_others([(0, 1)])

    assert close(own, single.own)
    assert close(others, single.others)
    assert close(joint.whole, grouped.outputs())


@FORMS
def test_a_path_with_a_hundred_features(form, regressor, engine, counting) -> None:
    """A chain of conditions: the product of 100 indicators, whose effects are known."""
    form(counting)
    tree: Any = [1.0]
    for j in range(100):
        tree = ((j, "GT", 0.0), tree, [0.0])
    rows = np.ones((4, 100))
    rows[0, 7], rows[1, :2] = -1, -1  # misses one, misses two
    bound = engine(regressor([tree], 100), rows)
    singles = {single.feature: single for single in bound.single([0, 7, 50])}
    # With x7 set to 1 rows 0, 2 and 3 pass (the last two are equal); with -1 none.
    assert singles[7].own.tolist() == [[0.0], [0.75], [0.75]]
    assert singles[7].others.tolist() == [[0.75], [0.0], [0.75]]
    assert singles[50].own.tolist() == [[0.5]] * 3
    joint = next(bound.joint([(0, 1)]))
    assert joint.whole.tolist() == [[0.75], [0.0], [0.75]]


@FORMS
def test_rows_that_miss_a_condition_deep_in_a_path_of_a_hundred(
    form, regressor, engine, counting
) -> None:
    form(counting)
    tree: Any = [1.0]
    for j in range(100):
        tree = ((j, "GT", 0.0), tree, [0.0])
    rows = np.ones((4, 100))
    for row, j in enumerate([5, 64, 90]):
        rows[row, j] = -1
    singles = {
        single.feature: single
        for single in engine(regressor([tree], 100), rows).single([5, 64, 90])
    }
    # A row passes with the value of any row that does not miss the same condition.
    for row, j in enumerate([5, 64, 90]):
        expected = [0.0, 0.0, 0.0, 0.75]
        expected[row] = 0.75
        assert singles[j].others.ravel().tolist() == expected


def test_ten_outputs_have_the_effects_of_their_definitions(regressor, engine, brute) -> None:
    rng = np.random.default_rng(3)
    trees = [grown(rng, 3, 3, 10) for _ in range(4)]
    rows = drawn(rng, 30, 3)
    check(engine(regressor(trees, 3), rows), brute, trees, rows, groups=2)


@FORMS
def test_curves_are_right_between_thresholds_and_for_missing_values(
    form, regressor, engine, brute, counting
) -> None:
    form(counting)
    rng = np.random.default_rng(5)
    trees = [grown(rng, 5, 4, 2) for _ in range(5)]
    rows = drawn(rng, 40, 4)
    bound = engine(regressor(trees, 4), rows)
    reference = brute(trees, rows)
    points = np.append(np.linspace(-5, 5, 41), [np.nan, np.inf, -np.inf]).astype(np.float32)
    for features in ([1], [2, 0], [0, 1, 3], [3, 2, 1, 0]):
        grid = [rng.permutation(points) for _ in features]
        expected = reference.partial_dependence(features, np.stack(grid, axis=1))
        assert close(bound.curve(features, grid), expected)
        assert close(bound.individual(features, grid).mean(axis=0), expected)


def test_a_group_of_rows_is_explained_on_its_own(regressor, engine, brute) -> None:
    rng = np.random.default_rng(6)
    trees = [grown(rng, 4, 2) for _ in range(3)]
    rows = rng.normal(size=(20, 2))
    bound = engine(regressor(trees, 2), rows)
    part = bound.restrict(bound.background.take(np.arange(7)))
    points = np.linspace(-2, 2, 9)
    expected = brute(trees, rows[:7]).partial_dependence([1], points[:, None])
    assert close(part.curve([1], [points]), expected)


@FORMS
@pytest.mark.parametrize(
    ("n", "weigh"), [(1500, lambda rows: rows), (9000, np.ones_like)], ids=["shares", "counts"]
)
def test_the_number_of_threads_changes_nothing(form, regressor, engine, counting, n, weigh) -> None:
    """Few rows are divided by leaves, many in blocks."""
    form(counting)
    rng = np.random.default_rng(7)
    trees = [grown(rng, 7, 5, 2) for _ in range(60 if n < 9000 else 10)]
    rows, weights = rng.normal(size=(n, 5)), weigh(rng.random(n))
    ensemble = read_ensemble(regressor(trees, 5))
    points = np.linspace(-3, 3, 50)
    requests = [([0], [points]), ([2, 1], [points, points[::-1]]), ([3, 4, 0], [points] * 3)]
    answers = []
    for count in (1, 5):
        with ThreadPoolExecutor(count) as pool:
            bound = engine(ensemble, rows, weights, pool)
            curves = [curve.tobytes() for curve in bound.curves(requests)]
            singles = [(s.own, s.others) for s in bound.single(range(5))]
            joints = [(j.whole, j.pure) for j in bound.joint([(0, 1), (2, 3), (0, 1, 4)])]
            answers.append([bound.outputs().tobytes(), np.array(singles).tobytes(), *curves])
            answers[-1].append(np.array(joints).tobytes())
    assert answers[0] == answers[1]


def test_repeating_a_row_is_doubling_its_weight(regressor, engine) -> None:
    rng = np.random.default_rng(8)
    trees = [grown(rng, 4, 3) for _ in range(3)]
    rows = rng.normal(size=(30, 3))
    twice = engine(regressor(trees, 3), np.vstack([rows, rows[:10]]))
    weighed = engine(regressor(trees, 3), rows, np.repeat([2.0, 1.0], [10, 20]))
    for one, other in zip(twice.single(range(3)), weighed.single(range(3)), strict=True):
        assert one.own.tolist() == other.own.tolist()
        assert one.others.tolist() == other.others.tolist()


def test_a_prediction_that_is_not_finite_is_an_error(regressor, engine) -> None:
    bound = engine(regressor([((0, "LEQ", 0.0), [np.inf], [1.0])], 1), np.array([[1.0], [-1.0]]))
    with pytest.raises(Exception, match="not finite for row 1 "):
        bound.outputs()


@FORMS
def test_an_infinite_leaf_that_no_row_can_reach_changes_nothing(
    form, regressor, engine, counting
) -> None:
    form(counting)
    tree = ((0, "LEQ", 0.0), [1.0], ((1, "LEQ", 0.0), [2.0], [np.inf]))
    bound = engine(regressor([tree], 2), np.array([[-1.0, -1.0], [1.0, -2.0], [2.0, -3.0]]))
    assert bound.curve([0], [np.array([-5.0, 5.0])]).tolist() == [[1.0], [2.0]]
