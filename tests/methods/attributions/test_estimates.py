"""Estimates by random orders: without bias, and by as many orders as a target error needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.attributions import Options, Result

NAMES = ("a", "b", "c", "d", "e", "f")
RNG = np.random.default_rng(11)
COLUMNS: dict[str, Any] = {
    **{name: RNG.normal(size=30) for name in NAMES},
    "w": np.where(np.arange(30) % 3, 1.0, 2.5),
}


def score(a, b, c, d, e, f):
    return np.sin(a + b) * c + d * e * f + np.maximum(a, d) - np.exp(0.5 * f)


def additive(a, b, c, d, e, f):
    return a + b**2 + np.sin(c) - d * e + f


def answer(make, function=score, host=None, seed=0, weight_column="w", **options: Any):
    model = make.model(function, NAMES, ["double"] * 6)
    asked = Options(**{"row_indices": (4, 17), **options})
    table = make.table(COLUMNS)
    return make.answer(model, table, asked, host=host, seed=seed, weight_column=weight_column)


def estimated(make, *given, **options: Any) -> Result:
    result = answer(make, *given, **options).explanations[-1].result
    assert isinstance(result, Result)
    return result


@pytest.mark.parametrize("options", [
    pytest.param({"permutation_count": 36}, id="few orders"),
    pytest.param({"permutation_count": 120}, id="each row of the background twice"),
    pytest.param({"permutation_count": 100, "target_standard_error": 0.12}, id="to a target"),
])  # fmt: skip
def test_estimates_have_no_bias(make, options) -> None:
    exact = estimated(make, permutation_count=5_000)
    found = np.stack([estimated(make, seed=seed, **options).values for seed in range(150)])

    assert not exact.are_estimated
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - exact.values) < 4.5 * errors).all()


def test_orders_are_added_until_each_row_has_the_target_error(make) -> None:
    loose, tight = make.host(), make.host()
    asked: Any = {"permutation_count": 180}
    first = estimated(make, host=loose, target_standard_error=0.1, **asked)
    second = estimated(make, host=tight, target_standard_error=0.05, **asked)

    assert 0.05 < first.standard_errors.max() <= 0.1
    assert second.standard_errors.max() <= 0.05
    done = [host.progress[-1] for host in (loose, tight)]
    assert done[0][0] < done[1][0] < 2 * 180 * 5 * 2
    assert all(rows == planned for rows, planned in done)
    assert not first.notes


def test_a_target_that_is_missed_is_told(make) -> None:
    whole = estimated(make, permutation_count=150)
    missed = estimated(make, permutation_count=150, target_standard_error=1e-6)

    assert missed.values == pytest.approx(whole.values)
    assert [note.code for note in missed.notes] == ["TARGET_ERROR_EXCEEDED"]
    assert "2 of the 2 rows" in missed.notes[0].message


def test_the_first_of_many_orders_take_each_row_of_the_background(make) -> None:
    """So what adds the same whatever the others are has no error after few orders."""
    host = make.host()
    asked: Any = {"permutation_count": 180, "target_standard_error": 1e-6}
    found = estimated(make, additive, host=host, weight_column="", **asked)

    assert found.standard_errors.max() < 1e-6
    assert host.progress[-1][0] < 2 * 110 * 5 * 2


@pytest.mark.parametrize("weights", ["", "w"])
def test_errors_are_not_below_those_from_seed_to_seed(make, weights) -> None:
    """Also where few rows are taken more than once, and these are the ones with large weights."""
    asked: Any = {"permutation_count": 180, "target_standard_error": 0.1, "weight_column": weights}
    found = [estimated(make, seed=seed, **asked) for seed in range(40)]

    spread = np.std([each.values for each in found], axis=0, ddof=1)
    told = np.sqrt(np.mean([each.standard_errors**2 for each in found], axis=0))
    assert np.median(told / spread) > 0.85
    assert (told / spread).min() > 0.65


MANY = {name: np.random.default_rng(2).normal(size=400) for name in NAMES}
MANY |= {name: np.roll(MANY["a"], 37 * place) for place, name in enumerate(NAMES)}


def estimates_of(make, function, **options: Any) -> tuple[Any, Any]:
    """Errors told and from seed to seed, of 100 orders on 400 rows."""
    model, table = make.model(function, NAMES, ["double"] * 6), make.table(MANY)
    asked = Options(row_indices=(4,), permutation_count=100, **options)
    results = [
        make.answer(model, table, asked, seed=seed).explanations[0].result for seed in range(40)
    ]
    assert max(result.additivity_errors.max() for result in results) < 1e-9
    told = np.sqrt(np.mean([result.standard_errors[0, :, 0] ** 2 for result in results], axis=0))
    return told, np.std([result.values[0, :, 0] for result in results], axis=0, ddof=1)


def test_few_rows_of_the_background_tell_what_a_feature_adds_alone(make) -> None:
    """Its values are known in all rows, so that only those within a range differ by chance."""
    told, spread = estimates_of(make, lambda a, b, c, d, e, f: a + b**2 + c + d + e + f)

    each = np.std([MANY[name] ** (1 + (name == "b")) for name in NAMES], axis=1)
    assert (told < 0.6 * each / 10).all()
    assert (spread < 0.6 * each / 10).all()


def test_few_rows_of_the_background_tell_what_makes_most_of_the_prediction(make) -> None:
    """All predictions are known, and what the group adds is almost their differences."""

    def function(a, b, c, d, e, f):
        return a * b * c + 0.01 * (d + e * f)

    told, spread = estimates_of(make, function, groups=(("a", "b", "c"),))

    product = np.std(MANY["a"] * MANY["b"] * MANY["c"])
    assert told[0] < 0.05 * product / 10
    assert spread[0] < 0.05 * product / 10
