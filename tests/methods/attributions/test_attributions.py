"""Attributions of any model: all coalitions, random orders, and what is told of them."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.attributing.games import GameValue, Perturbation
from onnxplain_server.explain.methods.attributions import preparation
from onnxplain_server.methods.attributions import Options, Result
from onnxplain_server.methods.attributions.result import mean_absolute

NAMES = ("a", "b", "c")
QUESTION = ("weight_column", "row_count", "seed", "output_indices", "host")
RNG = np.random.default_rng(3)
COLUMNS: dict[str, Any] = {
    **{name: RNG.normal(size=12).round(2) for name in NAMES},
    "w": np.array([1.0, 2, 0.5, 1, 1, 0, 1, 3, 1, 1, 1, 1]),
}


def score(a, b, c):
    return a * b + np.sin(c) + 0.5 * a - a * c * b


def answer(make, function=score, columns=None, **given):
    question = {name: given.pop(name) for name in QUESTION if name in given}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    model = make.model(function, names, ["double"] * len(names))
    table = make.table(COLUMNS if columns is None else columns)
    return make.answer(model, table, Options(**given), **question)


def attributed(make, *given, **options) -> Result:
    result = answer(make, *given, **options).explanations[-1].result
    assert isinstance(result, Result)
    return result


def worth(function, row: int, coalition: frozenset[str], weights) -> float:
    own = {
        name: np.full(len(weights), COLUMNS[name][row]) if name in coalition else COLUMNS[name]
        for name in NAMES
    }
    return float(np.average(function(**own), weights=weights))


def shapley(function, row: int, weights, players=(("a",), ("b",), ("c",))) -> list[float]:
    """Shapley values by their definition."""
    values = []
    for own in players:
        others = [each for each in players if each != own]
        total = 0.0
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(players))
            for chosen in combinations(others, size):
                without = frozenset(name for each in chosen for name in each)
                gain = worth(function, row, without | {*own}, weights)
                total += weight * (gain - worth(function, row, without, weights))
        values.append(total)
    return values


MANY = {"permutation_count": 1000}
"""So many orders that all coalitions take no more predictions."""


def test_values_are_those_of_all_coalitions_against_weighted_rows(make) -> None:
    found = attributed(make, weight_column="w", row_indices=(5, 2), **MANY)

    assert found.row_indices.tolist() == [5, 2]  # a row of weight 0 is explained, too
    for i, row in enumerate((5, 2)):
        expected = shapley(score, row, COLUMNS["w"])
        assert found.values[i, :, 0] == pytest.approx(expected, abs=1e-9)
    assert not found.are_estimated
    average = np.average(score(*(COLUMNS[n] for n in NAMES)), weights=COLUMNS["w"])
    assert found.base_values == pytest.approx([average])
    assert found.additivity_errors == pytest.approx([0], abs=1e-9)


def test_a_group_is_one_player(make) -> None:
    found = attributed(make, groups=(("c", "a"),), row_indices=(4,), **MANY)

    assert found.features == (("a", "c"), ("b",))
    expected = shapley(score, 4, np.ones(12), (("a", "c"), ("b",)))
    assert found.values[0, :, 0] == pytest.approx(expected, abs=1e-9)


def test_the_background_is_the_rows_named(make) -> None:
    found = attributed(make, row_indices=(0,), background_row_indices=(3, 7), **MANY)

    weights = np.isin(np.arange(12), [3, 7]).astype(float)
    assert found.values[0, :, 0] == pytest.approx(shapley(score, 0, weights), abs=1e-9)


def test_interactions_and_banzhaf_values_of_a_product_worked_by_hand(make) -> None:
    """Of a b against a row of zeros, the pair has all: a half for each feature."""
    columns = {"a": [0.0, 3], "b": [0.0, 4], "c": [0.0, 1]}
    asked: Any = {"row_indices": (1,), "background_row_indices": (0,), "order": 2}

    found = attributed(make, lambda a, b, c: a * b + c, columns, **asked)

    assert found.values[0, :, 0].tolist() == pytest.approx([6, 6, 1])
    assert found.interactions[0, :, 0].tolist() == pytest.approx([12, 0, 0], abs=1e-12)
    assert found.pairs == [(0, 1), (0, 2), (1, 2)]
    three = attributed(make, lambda a, b, c: a * b * c, columns, value=GameValue.BANZHAF, **asked)
    assert three.values[0, :, 0].tolist() == pytest.approx([3, 3, 3])  # 12 in one of 4 coalitions
    assert len(three.additivity_errors) == 0


def test_estimates_lie_within_their_errors_and_add_up(make) -> None:
    columns = COLUMNS | {name: RNG.normal(size=12) for name in "defgh"}

    def function(a, b, c, d, e, f, g, h):
        return score(a, b, c) + d * e + f - g * h * a

    exact = attributed(make, function, columns, row_indices=(0, 1, 2), permutation_count=5000)
    few = attributed(make, function, columns, row_indices=(0, 1, 2), permutation_count=200)

    assert not exact.are_estimated
    assert few.are_estimated
    errors = np.abs(few.values - exact.values)
    assert (errors <= 5 * few.standard_errors + 1e-9).all()
    assert few.additivity_errors.max() < 1e-9
    # Each row of the background is taken: what adds the same whatever the others are has no error.
    assert few.standard_errors[:, 5].max() < 1e-6 < few.standard_errors[:, 0].min()


def test_a_draw_does_not_depend_on_other_rows(make) -> None:
    columns = COLUMNS | {"d": RNG.normal(size=12), "e": RNG.normal(size=12)}

    def function(a, b, c, d, e):
        return score(a, b, c) + d * e * a

    asked: Any = {"permutation_count": 6}
    alone = attributed(make, function, columns, row_indices=(4,), **asked)
    beside = attributed(make, function, columns, row_indices=(1, 4, 9), **asked)

    assert alone.are_estimated
    assert alone.values[0].tolist() == beside.values[1].tolist()


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"groups": (("a",),)}, "groups[0].names", "at least two"),
        ({"groups": (("a", "b"), ("b", "c"))}, "groups", "'b' is named twice"),
        ({"row_indices": (12,)}, "row_indices", "one is 12"),
        ({"background_row_indices": (3, 0, 0)}, "background_row_indices", "; 0 stands twice"),
        ({"order": 3}, "order", "order"),
        ({"order": 2, "permutation_count": 3}, "order", "permutation_count of 18"),
        ({"value": GameValue.BANZHAF, "permutation_count": 3}, "value", "permutation_count of 18"),
        ({"perturbation": Perturbation.PATH_DEPENDENT}, "perturbation", "sums of the leaves"),
    ],
)
def test_options_that_cannot_be_answered_are_refused(make, options, field, words) -> None:
    with pytest.raises(ExplainError, match=words) as caught:
        attributed(make, **options)

    assert caught.value.reason is Reason.INVALID_OPTION
    assert caught.value.field == f"methods[0].attributions.{field}"


@pytest.mark.parametrize(("order", "needed"), [(1, 3 * 12 * 8), (2, 6 * 12 * 8)])
def test_numbers_that_do_not_fit_into_memory_are_refused(make, monkeypatch, order, needed) -> None:
    """Before any is computed."""
    monkeypatch.setattr(preparation, "_MEMORY_BYTES", needed)
    assert attributed(make, order=order, **MANY).explained_row_count == 12

    monkeypatch.setattr(preparation, "_MEMORY_BYTES", needed - 1)
    host = make.host()
    with pytest.raises(ExplainError, match=f"rows take {needed} bytes") as caught:
        answer(make, order=order, host=host, **MANY)

    assert caught.value.reason is Reason.OUT_OF_MEMORY
    assert ("leave order out" in caught.value.message) == (order == 2)
    assert not any(done for done, _ in host.progress)


def test_a_background_without_weight_is_refused(make) -> None:
    with pytest.raises(ExplainError, match="weight 0"):
        attributed(make, weight_column="w", background_row_indices=(5,))


def test_mean_sizes_and_their_errors_worked_by_hand() -> None:
    values = np.array([[[1.0], [2.0]], [[-3.0], [2.0]]])

    means, errors = mean_absolute(values, np.ones(2))
    assert means.tolist() == [[2], [2]]
    assert errors.tolist() == [[pytest.approx(1)], [0]]  # 1 and 3: deviation √2 over √2
    assert np.isnan(mean_absolute(values[:1], np.ones(1))[1]).all()
    assert np.isnan(mean_absolute(values, np.zeros(2))[0]).all()
    doubled = mean_absolute(values, np.array([3.0, 1]))[0]
    assert doubled.tolist() == [[1.5], [2]]


def test_an_order_and_its_reverse_share_interactions_of_pairs_evenly(make) -> None:
    """Against one row, effects of pairs have no chance left: standard errors are 0."""
    columns = {name: [0.0, 1.0 + k] for k, name in enumerate("abcde")}

    def function(a, b, c, d, e):
        return a * b + 3 * c * d + e

    asked: Any = {"row_indices": (1,), "background_row_indices": (0,), "permutation_count": 2}
    found = attributed(make, function, columns, **asked)

    assert found.are_estimated
    assert found.values[0, :, 0].tolist() == pytest.approx([1, 1, 18, 18, 5])
    assert found.standard_errors.max() < 1e-12


def test_mean_sizes_do_not_count_rows_of_weight_0(make) -> None:
    found = attributed(make, weight_column="w", row_indices=(2, 5), **MANY)

    assert found.mean_absolute_values.tolist() == np.abs(found.values[0]).tolist()
    assert (found.weighted_row_count, found.are_drawn) == (1, False)
    assert [note.code for note in found.notes] == ["ROWS_WITHOUT_WEIGHT"]
    assert found.notes[0].message == (
        "1 of the 2 rows explained has weight 0: mean sizes are those of 1 row."
    )


@pytest.mark.parametrize("rows", [{}, {"row_indices": (5,)}, {"row_indices": (1, 2)}])
def test_rows_that_weigh_alike_need_no_warning(make, rows) -> None:
    found = attributed(make, weight_column="w", **rows, **MANY)

    assert found.are_drawn == (not rows)
    assert not found.notes


def test_standard_errors_are_those_from_seed_to_seed(make) -> None:
    """Also where the rows of the background, which are taken evenly, differ much."""
    columns = COLUMNS | {name: RNG.normal(size=12) for name in "defgh"}

    def function(a, b, c, d, e, f, g, h):
        return score(a, b, c) + d * e + 5 * f - g * h * a * d

    asked: Any = {"row_indices": (0, 1), "permutation_count": 60}
    found = [attributed(make, function, columns, seed=seed, **asked) for seed in range(40)]

    spread = np.std([each.values for each in found], axis=0, ddof=1)
    told = np.sqrt(np.mean([each.standard_errors**2 for each in found], axis=0))
    known = spread > 1e-9
    ratios = told[known] / spread[known]
    assert known.sum() == 2 * 6  # e and f are in pairs only, or alone
    assert 0.7 < np.median(ratios) < 1.3
    assert told[~known].max() < 1e-6


@pytest.mark.parametrize(
    ("weights", "count", "is_warned"),
    [("", 31, True), ("", 32, False), ("w", 50, True), ("w", 60, False), ("w", 99, False)],
)
def test_orders_that_begin_with_each_row_need_no_warning(make, weights, count, is_warned) -> None:
    """Of 11 rows with weights, the lightest has a share of 0.5 in 13.5."""
    columns = COLUMNS | {name: RNG.normal(size=12) for name in "defgh"}

    def function(a, b, c, d, e, f, g, h):
        return score(a, b, c) + d * e + f - g * h * a

    asked: Any = {"row_indices": (1,), "permutation_count": count, "weight_column": weights}
    found = attributed(make, function, columns, **asked)

    assert found.are_estimated
    assert [note.code for note in found.notes] == ["FEW_PERMUTATIONS"] * is_warned


@pytest.mark.parametrize("count", [2, 3, 11])
def test_few_orders_have_errors_and_a_warning(make, count: int) -> None:
    found = attributed(make, permutation_count=count, row_indices=(1, 3))

    assert found.are_estimated
    assert (found.standard_errors > 1e-6).all()
    assert [note.code for note in found.notes] == ["FEW_PERMUTATIONS"]
    together = found.base_values + found.values.sum(axis=1)
    assert together == pytest.approx(found.predictions)
