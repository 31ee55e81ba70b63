"""Interpolated effects equal what numpy interpolates of the definition at the same knots."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.effects.interpolated import Interpolated
from onnxplain_server.effects.knots import choose_knots

N = 40


def smooth(a, b, c, d):
    a = np.where(np.isnan(a), 9.0, a)
    text = np.array([len(value) for value in d]) if d.dtype == object else d
    return np.stack([np.exp(a / 3) * b + c * text, np.sin(a + b) * c], axis=1)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Dense a and b with ties and missing values, whole numbers, text; all rows distinct."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    a = random.normal(size=N).round(draw(st.integers(0, 3)))
    a[: draw(st.integers(0, 2))] = np.nan
    whole, text = random.integers(-9, 9, N), random.choice(["", "u", "vw"], N)
    return {"a": a, "b": random.normal(size=N), "c": whole.astype(float), "d": list(text)}


def at_knots(knots, values, table):
    """Interpolate (n_knots, ...) at values; missing ones are a knot of their own, the last."""
    finite = np.isfinite(knots)
    flat = table.reshape(len(knots), -1)
    columns = [np.interp(values, knots[finite], column[finite]) for column in flat.T]
    interpolated = np.stack(columns, axis=-1).reshape(len(values), *table.shape[1:])
    interpolated[np.isnan(values)] = table[-1]
    return interpolated


def cube(built, knots: dict[int, Any]):
    """Predictions with features at every combination of knots: (n_knots, ..., n_rows, 2)."""
    background, shape = built.background, [len(points) for points in knots.values()]
    cube = np.empty((*shape, len(background), 2))
    for place in np.ndindex(*shape):
        columns = list(background.columns)
        for i, (j, points) in zip(place, knots.items(), strict=True):
            columns[j] = np.full(len(background), points[i])
        cube[place] = smooth(*columns)
    return cube


@given(tables(), st.integers(0, 3), st.integers(3, 5))
def test_single_effects_are_interpolated_between_knots(
    make, columns: dict[str, Any], kind: int, count: int
) -> None:
    random = np.random.default_rng(5)
    weights = [np.ones(N), random.uniform(1, 2, N), np.arange(N) % 3, np.arange(N) + 1.0][kind]
    types = ["double", "double", "int64", "string"]
    built = make.engine(smooth, columns, weights, n_outputs=2, types=types)
    background = built.background
    own = background.weights / background.weights.sum()

    for single in Interpolated(built.effects, count).single(range(3)):
        j, values = single.feature, background.columns[single.feature].astype(float)
        knots = choose_knots(background.columns[j], count).points
        table = cube(built, {j: knots})
        expected = at_knots(knots.astype(float), values, table)
        np.testing.assert_allclose(single.own, np.einsum("i,xik->xk", own, expected), atol=1e-12)
        others = np.einsum("x,xik->ik", own, expected)
        np.testing.assert_allclose(single.others, others, atol=1e-12)


@pytest.mark.parametrize(("group", "count"), [((0, 1), 4), ((0, 2), 5), ((0, 1, 2), 3)])
def test_effects_of_several_features_are_interpolated_in_each(
    make, group: tuple[int, ...], count: int
) -> None:
    """So many rows that all combinations of knots are fewer than theirs."""
    random = np.random.default_rng(5)
    n = 200
    columns = {name: random.normal(size=n) for name in "abcd"}
    built = make.engine(smooth, columns, random.uniform(1, 2, n), n_outputs=2)
    effects, background = Interpolated(built.effects, count), built.background
    list(effects.single(range(4)))
    if len(group) == 3:
        list(effects.joint(list(combinations(group, 2))))

    (joint,) = effects.joint([group])

    knots = {j: choose_knots(background.columns[j], count).points for j in group}
    own = background.weights / background.weights.sum()
    table = np.einsum("...ik,i->...k", cube(built, knots), own)
    for row in range(0, n, 7):
        expected = table
        for j in group:
            at = np.array([background.columns[j][row]])
            expected = at_knots(knots[j], at, expected)[0]
        np.testing.assert_allclose(joint.whole[row], expected, atol=1e-12)


def test_features_with_no_more_values_than_knots_are_exact(make) -> None:
    columns = {name: np.arange(N) // step % 4 for step, name in enumerate("abc", 1)}
    columns["d"] = np.arange(N)
    built = [make.engine(smooth, columns, n_outputs=2) for _ in range(2)]
    results = []
    for effects in (Interpolated(built[0].effects, N), built[1].effects):
        singles = [(s.own.tolist(), s.others.tolist()) for s in effects.single(range(4))]
        pairs = [(j.whole.tolist(), j.pure.tolist()) for j in effects.joint([(0, 1), (1, 3)])]
        results.append((singles, pairs))

    assert results[0] == results[1]
    assert built[0].model.predicted == built[1].model.predicted


def test_effects_that_add_up_do_not_interact_however_coarse_the_knots(make) -> None:
    random = np.random.default_rng(5)
    n = 300
    columns = {name: random.normal(size=n) for name in "ab"}
    built = make.engine(lambda a, b: np.exp(a) + np.sin(3 * b), columns)
    effects = Interpolated(built.effects, 5)
    list(effects.single([0, 1]))

    (joint,) = effects.joint([(0, 1)])

    assert np.ptp(joint.pure) < 1e-12
    assert joint.error is not None
    assert joint.error > 0.01


def test_the_predicted_rows_equal_the_cost(make) -> None:
    random = np.random.default_rng(5)
    n = 120
    columns = {"a": random.normal(size=n), "b": random.normal(size=n), "c": np.arange(n) % 3}
    columns["d"] = random.normal(size=n)
    built = make.engine(smooth, columns, n_outputs=2)
    effects = Interpolated(built.effects, 7)

    list(effects.single([0, 1]))
    assert built.model.predicted == effects.cost((0,)) + effects.cost((1,)) == 2 * 7 * n
    before = built.model.predicted
    list(effects.joint([(0, 1)]))
    assert 40 * n < built.model.predicted - before <= effects.cost((0, 1)) == 49 * n


def test_pairs_are_evaluated_at_their_own_values_where_that_costs_less(make) -> None:
    random = np.random.default_rng(5)
    columns = {name: random.normal(size=N) for name in "abcd"}
    built, plain = (make.engine(smooth, columns, n_outputs=2) for _ in range(2))
    effects = Interpolated(built.effects, 12)
    list(effects.single([0, 1]))
    list(plain.effects.single([0, 1]))

    (joint,), (exact,) = effects.joint([(0, 1)]), plain.effects.joint([(0, 1)])

    assert effects.cost((0, 1)) == N * N
    np.testing.assert_allclose(joint.whole, exact.whole, rtol=1e-12)


def test_a_repeated_request_predicts_nothing(make) -> None:
    random = np.random.default_rng(5)
    host, columns = make.host(), {name: random.normal(size=N) for name in "abcd"}
    results = []
    for _ in range(2):
        built = make.engine(smooth, columns, n_outputs=2, host=host)
        effects = Interpolated(built.effects, 5)
        singles = [(s.own, s.others, s.own_error, s.others_error) for s in effects.single(range(4))]
        joints = [(j.whole, j.pure, j.error) for j in effects.joint([(0, 1), (2, 3)])]
        results.append(repr((singles, joints)))

    assert results[0] == results[1]
    assert built.model.predicted == 0


def test_replicates_equal_tables_with_their_weights(make) -> None:
    random = np.random.default_rng(5)
    columns = {name: random.normal(size=N) for name in "abcd"}
    weights = random.uniform(1, 2, (3, N))
    together = Interpolated(make.engine(smooth, columns, n_outputs=2).effects, 4)
    singles = list(together.single(range(4), weights))
    joints = list(together.joint([(0, 1)], weights))

    for replicate, given_weights in enumerate(weights):
        built = make.engine(smooth, columns, given_weights, n_outputs=2)
        alone = Interpolated(built.effects, 4)
        for ours, theirs in zip(singles, alone.single(range(4)), strict=True):
            np.testing.assert_allclose(ours.own[replicate], theirs.own, rtol=1e-9)
            np.testing.assert_allclose(ours.others[replicate], theirs.others, rtol=1e-9)
        for joint, other in zip(joints, alone.joint([(0, 1)]), strict=True):
            np.testing.assert_allclose(joint.pure[replicate], other.pure, rtol=1e-9, atol=1e-12)


def test_an_unused_feature_has_no_effect_between_knots_either(make) -> None:
    random = np.random.default_rng(5)
    columns = {name: random.normal(size=N) for name in "abcd"}
    built = make.engine(lambda a, b, c, _d: a * b + c, columns, without={0: [3]})
    effects = Interpolated(built.effects, 4)
    singles = list(effects.single(range(4)))
    joints = [*effects.joint([(0, 3)]), *effects.joint([(0, 1)]), *effects.joint([(0, 1, 3)])]

    assert np.ptp(singles[3].own) == 0
    assert not joints[0].pure.any()
    assert joints[2].whole.tolist() == joints[1].whole.tolist()


@pytest.mark.parametrize("count", [9, 17, 33])
@pytest.mark.parametrize("kind", ["uniform", "normal", "lognormal"])
def test_the_estimated_error_is_above_the_true_one_of_a_smooth_effect(
    make, count: int, kind: str
) -> None:
    random = np.random.default_rng(1)
    columns = {name: getattr(random, kind)(size=200) for name in "ab"}
    built, plain = (make.engine(lambda a, b: np.tanh(a) * np.cos(b), columns) for _ in range(2))

    (interpolated,) = Interpolated(built.effects, count).single([0])

    (exact,) = plain.effects.single([0])
    for error, ours, theirs in (
        (interpolated.own_error, interpolated.own, exact.own),
        (interpolated.others_error, interpolated.others, exact.others),
    ):
        true = np.std(ours - theirs)
        assert error is not None
        assert true < error[0] < 50 * true


def test_a_straight_line_has_no_error(make) -> None:
    random = np.random.default_rng(5)
    columns = {name: random.uniform(-2, 2, N) for name in "ab"}

    (single,) = Interpolated(make.engine(lambda a, b: 2 * a + b, columns).effects, 3).single([0])

    assert single.own_error is not None
    assert single.own_error < 1e-12


def test_knots_are_values_of_the_rows_and_missing_and_infinite_ones_are_their_own() -> None:
    column = np.array([3.0, 1, np.nan, 2, np.inf, 8, -np.inf, 5, 4, np.nan], np.float32)

    knots = choose_knots(column, 3)

    assert knots.points.dtype == np.float32
    assert knots.points[:3].tolist() == [1, 4, 8]
    assert sorted(knots.points[3:5].tolist()) == [-np.inf, np.inf]
    assert np.isnan(knots.points[5])
    apart = ~np.isfinite(column)
    np.testing.assert_array_equal(knots.points[knots.fine.lower[apart]], column[apart])
    on_knots = np.isin(column, knots.points) | apart
    assert (knots.fine.lower == knots.fine.upper).tolist() == on_knots.tolist()
    known = np.where(np.isfinite(knots.points), knots.points, 0)[:, None].astype(float)
    own = knots.fine.interpolate(known)[:, 0]
    assert own == pytest.approx(np.where(np.isfinite(column), column, 0))
