"""P-values of terms: exact by enumeration, uniform by chance, tiny where the term is true."""

from __future__ import annotations

from itertools import permutations
from math import comb
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import permutation_test
from onnxplain_server.methods.interactions.permutation_test import PermutationTest
from onnxplain_server.methods.resampling import Resampling

EQUAL = np.ones(5)
# One term, and residuals of the whole model, over five rows.
TERM = np.array([1.0, -2.0, 0.5, 2.5, -2.0])
RESIDUALS = np.array([0.3, 1.0, -0.7, 0.2, -1.1])


def enumerated(term, residuals, weights) -> float:
    """The definition, over all n! orders: the share that T reaches its own value."""
    without = residuals + term
    without = without - np.average(without, weights=weights)
    found = [np.sum(weights * term[list(o)] * without) for o in permutations(range(len(term)))]
    return float(np.mean(np.array(found) >= found[0] - 1e-9))


def sampled(term, residuals, weights=None, count: int = 20_000, seed: int = 0) -> float:
    weights = np.ones(len(term)) if weights is None else weights
    test = PermutationTest(count, seed, residuals[:, None], weights)
    test.add("term", term[:, None])
    (found,) = test.p_values("term")
    return float(found)


@pytest.mark.parametrize(
    ("term", "residuals", "weights"),
    [
        pytest.param(TERM, RESIDUALS, EQUAL, id="as it is"),
        pytest.param(TERM, RESIDUALS - TERM, EQUAL, id="without the term"),
        pytest.param(-TERM, RESIDUALS + 2 * TERM, EQUAL, id="of the wrong sign"),
        pytest.param(TERM, RESIDUALS, np.array([3.0, 0.5, 2.0, 1.0, 0.1]), id="weights"),
        pytest.param(TERM, RESIDUALS, np.array([1.0, 0.0, 2.0, 1.0, 1.0]), id="a weight of 0"),
        pytest.param(np.array([1.0, 1, -1, -1, 0]), np.zeros(5), EQUAL, id="ties"),
    ],
)
def test_p_values_are_those_of_all_orders(term, residuals, weights) -> None:
    exact = enumerated(term, residuals, weights)

    error = 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert sampled(term, residuals, weights) == pytest.approx(exact, abs=error)


def test_ties_that_differ_by_rounding_count() -> None:
    """Of 10 rows with the term's upper value 7 have an upper residual, as have 10 of all 20.

    Orders that leave it at 7 give the same sum, but for its last digits.
    """
    term = np.repeat([0.7, -0.4], 10) - 0.15
    without = np.repeat([1.0, -1, 1, -1], [7, 3, 3, 7]) / 3

    expected = sum(comb(10, k) ** 2 for k in range(7, 11)) / comb(20, 10)
    assert sampled(term, without - term) == pytest.approx(expected, abs=0.01)
    assert expected == pytest.approx(0.0894, abs=1e-4)


def test_the_p_value_is_never_zero() -> None:
    term = np.random.default_rng(0).normal(size=50)

    assert sampled(term, np.zeros(50), count=99) == 1 / 100


def test_no_term_has_p_value_one() -> None:
    assert sampled(np.zeros(5), RESIDUALS, count=99) == 1


@pytest.mark.parametrize("broken", ["term", "residuals"])
def test_nan_is_no_evidence(broken: str) -> None:
    values = {"term": TERM.copy(), "residuals": RESIDUALS.copy()}
    values[broken][2] = np.nan

    assert np.isnan(sampled(values["term"], values["residuals"], count=99))


def test_units_of_target_and_weights_do_not_matter() -> None:
    weights = np.array([3.0, 0.5, 2.0, 1.0, 0.1])
    usual = sampled(TERM, RESIDUALS, weights, 999)

    assert sampled(1e-9 * TERM, 1e-9 * RESIDUALS, weights, 999) == usual
    assert sampled(TERM, RESIDUALS, 1e6 * weights, 999) == usual


def test_a_shift_of_the_target_does_not_matter() -> None:
    weights = np.array([3.0, 0.5, 2.0, 1.0, 0.1])

    usual = sampled(TERM, RESIDUALS, weights, 999)
    assert sampled(TERM, RESIDUALS + 100, weights, 999) == usual
    assert 0 < usual < 1


@pytest.mark.parametrize(("name", "value"), [("_BLOCK", 7), ("_MAX_PENDING_BYTES", 1)])
def test_how_work_is_divided_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    def found():
        test = PermutationTest(300, 5, np.stack([RESIDUALS, -RESIDUALS], axis=1), EQUAL)
        for number in range(4):
            test.add(number, np.stack([np.roll(TERM, number), TERM], axis=1))
        return [test.p_values(number).tolist() for number in range(4)]

    usual = found()
    monkeypatch.setattr(permutation_test, name, value)

    assert found() == usual
    assert len({tuple(one) for one in usual}) > 1


def test_other_seeds_give_other_permutations() -> None:
    found = [sampled(TERM, RESIDUALS, count=200, seed=seed) for seed in (1, 1, 2, 3)]

    assert found[0] == found[1]
    assert len(set(found)) > 1


def test_the_work_can_be_ended_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation_test, "_BLOCK", 10)
    pauses = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 3:
            raise ExplainError(Reason.CANCELLED, "the caller has gone")

    test = PermutationTest(1000, 0, RESIDUALS[:, None], EQUAL, pause)
    test.add("term", TERM[:, None])
    with pytest.raises(ExplainError, match="gone"):
        test.p_values("term")
    assert len(pauses) == 3


# With statistics


def joined(a, b, c):
    return a + b + a * b + 0 * c


def columns(rng, n: int) -> dict[str, Any]:
    return {name: rng.normal(size=n) for name in "abc"}


def explained(make, rows, target, count: int, weights=None):
    options = interactions.Options(tuple("abc"), permutation_count=count)
    engine = make.engine(joined, rows, weights)
    return interactions.compute(engine.effects, options, 7, np.asarray(target)[:, None]), engine


def test_by_chance_all_p_values_are_equally_likely(make) -> None:
    """200 tables: the model's interaction is no part of the target, its other effects are."""
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {"total": [], "overall": [], "pairwise": []}
    for _ in range(200):
        rows = columns(rng, 30)
        result, _ = explained(make, rows, rows["a"] + rows["b"] + rng.normal(size=30), 99)
        found["total"].append(result.total.p_values[0])
        found["overall"].append(result.overall[0].p_values[0])
        found["pairwise"].append(result.pairwise[0].p_values[0])

    shares = (np.arange(200) + 0.5) / 200
    for name, p_values in found.items():
        distance = np.abs(np.sort(p_values) - shares).max() + 0.5 / 200  # Kolmogorov's
        assert distance < 1.63 / np.sqrt(200), f"{name}: less than 1 % of chance"
        assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.09


def test_an_interaction_that_is_true_is_found(make) -> None:
    rng = np.random.default_rng(1)
    rows = columns(rng, 100)
    target = joined(*rows.values()) + rng.normal(size=100)

    found, _ = explained(make, rows, target, 999)

    by_name = {":".join(s.features): s.p_values[0] for s in (*found.overall, *found.pairwise)}
    assert found.total.p_values == [0.001]
    assert [by_name[name] for name in ("a", "b", "a:b")] == [0.001] * 3
    assert [s.p_values[0] for s in found.importance] == [0.001, 0.001, 1]
    # c is no part of the model: its interactions are nothing, and so are those that pad the list.
    assert [by_name[name] for name in ("c", "a:c", "b:c")] == [1] * 3


def test_terms_are_those_whose_mean_squares_are_the_numerators(make) -> None:
    """Against the definitions, by brute force, with weights."""
    rng = np.random.default_rng(2)
    rows = columns(rng, 12)
    weights = rng.integers(1, 4, 12).astype(float)
    target = rng.normal(size=12)
    found, _ = explained(make, rows, target, 499, weights)
    at = np.stack(list(rows.values()), axis=1)

    def effect(*features: int):
        means = []
        for row in at:
            moved = at.copy()
            moved[:, features] = row[list(features)]
            means.append(np.average(joined(*moved.T), weights=weights))
        return np.array(means) - np.average(means, weights=weights)

    f = joined(*at.T) - np.average(joined(*at.T), weights=weights)
    terms = {
        ("total", 0): f - effect(0) - effect(1) - effect(2),
        ("overall", 0): f - effect(0) - effect(1, 2),
        ("importance", 1): f - effect(0, 2),
        ("pairwise", 0): effect(0, 1) - effect(0) - effect(1),
    }
    for (order, place), term in terms.items():
        one = found.total if order == "total" else getattr(found, order)[place]
        assert one.numerators[0] == pytest.approx(np.average(term**2, weights=weights))
        test = PermutationTest(499, 7, (target - joined(*at.T))[:, None], weights)
        test.add("", term[:, None])
        assert one.p_values == pytest.approx(test.p_values(""), abs=0.004)
        assert 0.002 < one.p_values[0] < 1


def test_tests_change_no_statistic_and_predict_nothing_more(make) -> None:
    rows = columns(np.random.default_rng(3), 25)
    plain = make.engine(joined, rows)
    usual = interactions.compute(plain.effects, interactions.Options(tuple("abc")), 7)
    found, engine = explained(make, rows, rows["c"], 50)

    for order in ("overall", "pairwise", "importance"):
        for one, other in zip(getattr(usual, order), getattr(found, order), strict=True):
            # To the last digits, which follow the size of calls.
            assert one.numerators == pytest.approx(other.numerators, rel=1e-9)
            assert one.p_values is None
    assert engine.ledger.predicted == plain.ledger.predicted


def test_resampling_leaves_p_values_as_they_are(make) -> None:
    rows = columns(np.random.default_rng(4), 25)
    usual, _ = explained(make, rows, rows["c"], 200)
    options = interactions.Options(tuple("abc"), resampling=Resampling(10), permutation_count=200)
    engine = make.engine(joined, rows)
    found = interactions.compute(engine.effects, options, 7, np.array(rows["c"])[:, None])

    for order in ("overall", "pairwise", "importance"):
        for one, other in zip(getattr(usual, order), getattr(found, order), strict=True):
            assert other.p_values == pytest.approx(one.p_values, abs=0.01)
            assert (other.spread is None) == (other.numerators[0] == 0 and order == "pairwise")


# In requests


def answered(make, columns, count: int = 200, **question):
    model = make.model(joined, tuple("abc"), ["double"] * 3)
    options = interactions.Options(permutation_count=count)
    table = make.table(columns)
    return make.answer(model, table, options, **question).explanations[0].result


def test_rows_that_are_equal_are_tested_with_their_own_true_values(make) -> None:
    rng = np.random.default_rng(5)
    rows = {name: rng.choice([-1.0, 1.0], 60) for name in "abc"}
    rows["y"] = joined(rows["a"], rows["b"], rows["c"]) + rng.normal(size=60)

    found = answered(make, rows, target_column="y")

    assert found.total.p_values[0] == pytest.approx(1 / 201)


def test_rows_drawn_meet_their_own_true_values(make) -> None:
    rng = np.random.default_rng(6)
    rows = columns(rng, 200)
    rows["y"] = joined(rows["a"], rows["b"], rows["c"]) + 0.1 * rng.normal(size=200)

    found = answered(make, rows, target_column="y", row_count=40, seed=3)

    assert found.total.p_values[0] == pytest.approx(1 / 201)
    assert found.pairwise[0].p_values[0] == pytest.approx(1 / 201)


@pytest.mark.parametrize(
    ("given", "count", "field", "words"),
    [
        ({}, 10, "methods[0].interactions.permutation_count", "name their column in target_col"),
        (
            {"target_column": "y", "scale": Scale.MARGIN},
            10,
            "methods[0].interactions.permutation_count",
            "ask with the scale RESPONSE",
        ),
        ({"target_column": "y"}, -1, "methods[0].interactions.permutation_count", "100000]"),
        (
            {"target_column": "y"},
            10**5 + 1,
            "methods[0].interactions.permutation_count",
            "is 100001",
        ),
    ],
)
def test_tests_that_cannot_be_made_are_refused(
    make, given, count: int, field: str, words: str
) -> None:
    rows = columns(np.random.default_rng(7), 10) | {"y": np.arange(10.0)}

    with pytest.raises(ExplainError) as refused:
        answered(make, rows, count, **given)

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, field)
    assert words in refused.value.message
