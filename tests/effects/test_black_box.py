"""Black-box engine: effects equal their definition, computed row by row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

Floats = npt.NDArray[np.float64]

NUMBERS = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 1.5, float("nan")])
TEXTS = st.sampled_from(["", "a", "b", "long"])
FILLED = {"x": 1.0, "y": 1.0, "t": "a", "z": 1.0}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns with few values, so that rows repeat; the first row is filled."""
    row = st.tuples(NUMBERS, NUMBERS, TEXTS, st.floats(-3, 3, width=16))
    rows = draw(st.lists(row, min_size=1, max_size=7))
    rows += [rows[draw(st.integers(0, len(rows) - 1))] for _ in range(draw(st.integers(0, 3)))]
    return {
        name: [first, *(row[j] for row in rows)] for j, (name, first) in enumerate(FILLED.items())
    }


def plain(values) -> Floats:
    """Turn a column into numbers: text by its length, missing by a number of its own."""
    if values.dtype == object:
        return np.array([len(value) - 0.3 for value in values])
    return np.where(np.isnan(values), 0.7, values)


def function(n_outputs: int, seed: int) -> Callable[..., Floats]:
    """A smooth random function of all columns at once, so that everything interacts."""
    random = np.random.default_rng(seed)

    def predict(*columns) -> Floats:
        inputs = np.stack([plain(values) for values in columns], axis=1)
        return np.stack([np.tanh(inputs @ a) * 3 + np.cos(inputs @ b) for a, b in sides], axis=1)

    sides = random.normal(size=(n_outputs, 2, len(FILLED)))
    return predict


def defined(
    predict: Callable[..., Floats], columns: list[Any], weights: Floats, moved: tuple[int, ...]
) -> Floats:
    """Follow the definition, one row at a time: slow, obvious, shared with no one."""
    effect = []
    for row in range(len(weights)):
        hybrid = [
            np.array([column[row]] * len(weights), column.dtype) if j in moved else column
            for j, column in enumerate(columns)
        ]
        effect.append(np.average(predict(*hybrid), axis=0, weights=weights))
    return np.array(effect)


def close(actual: Floats, expected: Floats) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@given(tables(), st.integers(1, 3), st.integers(0, 99), st.data())
def test_every_effect_equals_its_definition(
    make, columns: dict[str, list[Any]], n_outputs: int, seed: int, data: st.DataObject
) -> None:
    n_rows = len(columns["x"])
    drawn = st.lists(
        st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n_rows - 1, max_size=n_rows - 1
    )
    weights = np.array([1.0, *data.draw(drawn)])
    predict = function(n_outputs, seed)
    arrays = [make.column(values) for values in columns.values()]

    engine = make.engine(predict, columns, weights, n_outputs=n_outputs)
    at = engine.background.source
    expected = {
        moved: defined(predict, arrays, weights, moved)[at]
        for size in range(5)
        for moved in combinations(range(4), size)
    }

    close(engine.effects.outputs(), expected[0, 1, 2, 3])
    for single in engine.effects.single(range(4)):
        close(single.own, expected[single.feature,])
        close(single.others, expected[tuple(j for j in range(4) if j != single.feature)])
    for pair in engine.effects.joint(list(combinations(range(4), 2))):
        j, k = pair.features
        close(pair.whole, expected[j, k])
        close(pair.pure, expected[j, k] - expected[j,] - expected[k,])
    for triple in engine.effects.joint(list(combinations(range(4), 3))):
        j, k, m = triple.features
        ones = expected[j,] + expected[k,] + expected[m,]
        close(triple.whole, expected[j, k, m])
        close(
            triple.pure, expected[j, k, m] - expected[j, k] - expected[j, m] - expected[k, m] + ones
        )


def test_effects_of_many_values_equal_their_definition_too(make) -> None:
    """Features of 31, 2 and 40 values; weights, and rows that differ in one feature only."""
    random = np.random.default_rng(2)
    columns = {
        "many": [*range(31), *range(9)],
        "few": [0.0, 1.0] * 20,
        "t": ["a", "b"] * 19 + ["a", "c"],
        "all": random.normal(size=40),
    }
    weights = random.integers(0, 4, 40).astype(float)
    predict = function(2, 7)
    arrays = [make.column(values) for values in columns.values()]

    for shown in (4, 3):
        given = dict(list(columns.items())[:shown])
        padding = [np.zeros(len(weights))] * (4 - shown)
        engine = make.engine(
            lambda *x: predict(*x, *[np.zeros(len(x[0]))] * (4 - len(x))),
            given,
            weights,
            n_outputs=2,
        )
        at = engine.background.source
        for single in engine.effects.single(range(shown)):
            others = tuple(j for j in range(4) if j != single.feature)
            full = [*arrays[:shown], *padding]
            close(single.own, defined(predict, full, weights, (single.feature,))[at])
            close(single.others, defined(predict, full, weights, others)[at])


@given(tables(), st.integers(0, 99))
def test_doubling_a_weight_equals_repeating_the_row(
    make, columns: dict[str, list[Any]], seed: int
) -> None:
    n_rows = len(columns["x"])
    repeated = {name: [*values, values[0]] for name, values in columns.items()}
    doubled = make.engine(function(2, seed), columns, [2.0] + [1.0] * (n_rows - 1), n_outputs=2)
    twice = make.engine(function(2, seed), repeated, n_outputs=2)

    for one, other in zip(
        doubled.effects.single(range(4)), twice.effects.single(range(4)), strict=True
    ):
        close(one.own, other.own)
        close(one.others, other.others)


@given(tables(), st.integers(0, 99), st.sampled_from([1e-30, 0.1, 7.0, 1e30]))
def test_only_the_ratios_of_weights_matter(
    make, columns: dict[str, list[Any]], seed: int, factor: float
) -> None:
    weights = 1.0 + np.arange(len(columns["x"]))
    one = make.engine(function(1, seed), columns, weights)
    other = make.engine(function(1, seed), columns, factor * weights)

    for a, b in zip(one.effects.single(range(4)), other.effects.single(range(4)), strict=True):
        close(a.own, b.own)
        close(a.others, b.others)


@pytest.mark.parametrize("factor", [1e-20, -3.0, 1e20])
def test_effects_scale_with_the_predictions(make, factor: float) -> None:
    columns = {"a": [0.0, 1, 2, 4], "b": [1.0, 3, 1, 0]}
    plain = make.engine(lambda a, b: a * b + a, columns)
    scaled = make.engine(lambda a, b: factor * (a * b + a), columns)

    for one, other in zip(plain.effects.single([0, 1]), scaled.effects.single([0, 1]), strict=True):
        np.testing.assert_allclose(other.own, factor * one.own, rtol=1e-12)
        np.testing.assert_allclose(other.others, factor * one.others, rtol=1e-12)


def test_effects_worked_by_hand(make) -> None:
    """Rows (0, 1), (1, 3), (2, 5) of a and b under a · b, weights 1, 1, 2."""
    engine = make.engine(lambda a, b: a * b, {"a": [0, 1, 2], "b": [1, 3, 5]}, [1, 1, 2])

    a, b = engine.effects.single([0, 1])
    (pair,) = engine.effects.joint([(0, 1)])

    # Weighted means: a 5/4, b 14/4.
    assert a.own.ravel().tolist() == [0, 3.5, 7]
    assert b.own.ravel().tolist() == [1.25, 3.75, 6.25]
    assert a.others.tolist() == b.own.tolist()
    assert b.others.tolist() == a.own.tolist()
    assert pair.whole.ravel().tolist() == [0, 3, 10]
    assert pair.pure.ravel().tolist() == [-1.25, -4.25, -3.25]


def test_a_curve_is_the_average_prediction_at_each_point_in_the_order_given(make) -> None:
    engine = make.engine(lambda a, b: a * b, {"a": [0, 1, 2], "b": [1, 3, 5]}, [1, 1, 2])

    points = np.array([4.0, -1.0, 4.0, 0.0])

    assert engine.effects.curve([0], [points]).ravel().tolist() == [14, -3.5, 14, 0]
    assert engine.model.predicted == 3 * 3


def test_a_curve_over_all_features_is_the_prediction_itself(make) -> None:
    engine = make.engine(lambda a, b: a * b, {"a": [0, 1, 2], "b": [1, 3, 5]})

    curve = engine.effects.curve([1, 0], [np.array([7.0, 2.0]), np.array([3.0, 10.0])])

    assert curve.ravel().tolist() == [21, 20]
    assert engine.model.predicted == 2


@pytest.mark.parametrize("outputs", [[2, 0], [1], [2, 1, 0], [0, 2, 1]])
def test_some_outputs_of_a_model_can_be_explained_in_any_order(make, outputs: list[int]) -> None:
    columns = {"a": [0.0, 1, 2, 4], "b": [1.0, 3, 1, 0]}

    def three(a: Floats, b: Floats) -> Floats:
        return np.stack([a, a * b, b], axis=1)

    every = make.engine(three, columns, n_outputs=3)
    some = make.engine(three, columns, n_outputs=3, outputs=outputs)

    assert some.effects.output_names == tuple(f"y{k}" for k in outputs)
    assert some.effects.outputs().tolist() == every.effects.outputs()[:, outputs].tolist()
    for one, other in zip(every.effects.single([0, 1]), some.effects.single([0, 1]), strict=True):
        close(other.own, one.own[:, outputs])


def test_the_same_rows_as_one_matrix_give_the_same_effects(make) -> None:
    columns = {"a": [0.0, 1, 2, 4], "b": [1.0, 3, 1, 0]}
    apart = make.engine(lambda a, b: a * b + b, columns)
    matrix = make.engine(lambda a, b: a * b + b, columns, matrix=True)

    for one, other in zip(apart.effects.single([0, 1]), matrix.effects.single([0, 1]), strict=True):
        assert other.own.tolist() == one.own.tolist()
        assert other.others.tolist() == one.others.tolist()


def test_the_model_sees_values_in_its_own_types(make) -> None:
    seen: list[tuple[Any, ...]] = []

    def keep(a, b, c, d):
        seen.append(tuple(v.dtype for v in (a, b, c, d)))
        return a * 1.0

    columns = {"a": [0, 1], "b": [0, 1], "c": [0.5, 1.5], "d": ["u", "v"]}
    engine = make.engine(keep, columns, types=["int64", "bool", "float", "string"])
    list(engine.effects.single([0, 1, 2, 3]))
    list(engine.effects.joint([(0, 3)]))

    kinds = tuple(np.dtype(t) for t in (np.int64, np.bool_, np.float32, np.object_))
    assert set(seen) == {kinds}
