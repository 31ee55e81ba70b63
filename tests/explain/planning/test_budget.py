"""Budgets: rows and repetitions of named methods, by predicted rows and by time."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import (
    attributions,
    interactions,
    partial_dependence,
    permutation_importance,
)

RANDOM = np.random.default_rng(3)
N_ROWS = 800
COLUMNS = {name: RANDOM.normal(size=N_ROWS) for name in "abcd"}
TABLE = {**COLUMNS, "y": RANDOM.normal(size=N_ROWS)}
METHODS = (
    interactions.Options(pairwise_feature_count=3),
    partial_dependence.Options(),
    permutation_importance.Options(),
)


def function(a, b, c, d):
    return a * b + np.sin(c) + d


def model_of(make, model_function=function):
    return make.model(model_function, tuple("abcd"), ["double"] * 4)


def asked(make, *methods, host=None, **question):
    """Explain the function; a target where one is needed."""
    return make.answer(
        model_of(make), make.table(TABLE), *methods, host=host, target_column="y", **question
    )


def planned(host) -> float:
    return float(max(plan for _, plan in host.progress))


def codes(answer) -> list[str]:
    return [note.code for note in answer.notes]


@given(
    limit=st.integers(1, 4_000_000),
    methods=st.lists(st.sampled_from(METHODS), min_size=1, max_size=3, unique=True),
    row_count=st.one_of(st.none(), st.integers(1, N_ROWS)),
)
def test_no_more_rows_are_planned_than_the_budget_has(make, limit, methods, row_count) -> None:
    host, whole = make.host(), make.host()
    question = {"row_count": row_count, "budget_predicted_row_count": float(limit)}
    refused = None
    try:
        answer = asked(make, *methods, host=host, **question)
    except ExplainError as error:
        refused = error
    if refused is None:
        asked(make, *methods, host=whole, row_count=row_count)
        assert ("BUDGET_REDUCED" in codes(answer)) == (planned(whole) > limit)
    else:
        assert refused.reason is Reason.INVALID_OPTION
        assert refused.field == "budget_predicted_row_count"
        [needed] = re.findall(r"_row_count to ([\d,]+) or more", refused.message)
        enough = int(needed.replace(",", ""))
        assert enough > limit
        question["budget_predicted_row_count"] = float(enough)
        asked(make, *methods, host=host, **question)
        limit = enough
    assert planned(host) <= limit


def test_the_budget_is_used(make) -> None:
    host = make.host()

    answer = asked(make, METHODS[0], host=host, budget_predicted_row_count=500_000.0)

    # Interactions predict pairs of rows, so a row more in a hundred is two predictions more.
    assert 0.94 * 500_000 <= planned(host) <= 500_000
    [note] = [note for note in answer.notes if note.code == "BUDGET_REDUCED"]
    rows = answer.explanations[0].rows.drawn
    assert f"interactions is on {rows} rows instead of 500" in note.message


def test_an_answer_is_that_of_a_request_for_its_rows(make) -> None:
    budgeted = asked(make, *METHODS, budget_predicted_row_count=200_000.0)
    for explanation in budgeted.explanations:
        alone = asked(make, explanation.options, row_count=explanation.rows.drawn)
        assert alone.explanations[0].rows == explanation.rows

    few = budgeted.explanations[2].result
    again = asked(make, budgeted.explanations[2].options, row_count=budgeted.row_count)
    for one, other in zip(few.importances, again.explanations[0].result.importances, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)


def test_shuffles_are_saved_before_rows_fall_below_100(make) -> None:
    cost_per_row = 1 + 4 * permutation_importance.Options().repeat_count
    enough = asked(make, METHODS[2], budget_predicted_row_count=150.0 * cost_per_row)
    few = asked(make, METHODS[2], budget_predicted_row_count=80.0 * cost_per_row)

    [options] = [explanation.options for explanation in enough.explanations]
    [brief] = [explanation.options for explanation in few.explanations]
    assert options.repeat_count == permutation_importance.Options().repeat_count
    assert brief.repeat_count == 2
    assert few.row_count > 80
    [note] = [note for note in few.notes if note.code == "BUDGET_REDUCED"]
    assert "shuffled 2 times instead of" in note.message


EIGHT = {name: RANDOM.normal(size=100) for name in "abcdefgh"}
ORDERS = attributions.Options(explained_row_count=10)


def product(a, b, c, d, e, f, g, h):
    return a * b * c + np.sin(d) * e + f * g - h


def orders_cost(count: int) -> int:
    return 100 + 10 * (1 + 2 * count * 7)


def estimate(make, timed=lambda function: function, **question):
    model = make.model(timed(product), tuple(EIGHT), ["double"] * 8)
    return make.answer(model, make.table(EIGHT), ORDERS, **question)


@pytest.mark.parametrize(("limit", "expected"), [(249, 125), (124, 62), (31, 31), (26, 25)])
def test_random_orders_are_halved_as_often_as_a_budget_needs(make, limit, expected) -> None:
    answer = estimate(make, budget_predicted_row_count=float(orders_cost(limit)))

    [explanation] = answer.explanations
    assert explanation.options.permutation_count == expected
    assert explanation.rows.drawn == 100
    [note] = [note for note in answer.notes if note.code == "BUDGET_REDUCED"]
    assert f"estimated from {expected} pairs of orders instead of 250" in note.message


@pytest.mark.parametrize(("share", "expected"), [(2.0, 250), (1.0, 125), (0.4, 62)])
def test_random_orders_are_halved_by_time(make, clock, share, expected) -> None:
    clock.row_seconds = 0.01
    seconds = share * orders_cost(250) * clock.row_seconds

    answer = estimate(make, clock.timed, budget_seconds=seconds)

    assert answer.explanations[0].options.permutation_count == expected
    assert clock.now <= seconds


def test_values_that_must_be_exact_are_not_computed_from_fewer_orders(make) -> None:
    exact = attributions.Options(
        explained_row_count=10, order=2, background_row_indices=tuple(range(20))
    )
    with pytest.raises(ExplainError) as refused:
        asked(make, exact, budget_predicted_row_count=100.0)

    assert refused.value.field == "budget_predicted_row_count"


def test_a_budget_that_reaches_changes_nothing(make) -> None:
    plain = asked(make, *METHODS)
    budgeted = asked(make, *METHODS, budget_predicted_row_count=1e12, budget_seconds=86_400.0)

    assert codes(budgeted) == codes(plain)
    assert [e.rows for e in budgeted.explanations] == [e.rows for e in plain.explanations]


@pytest.mark.parametrize("seconds", [2.0, 10.0, 40.0])
@pytest.mark.parametrize("methods", [METHODS[:1], METHODS[1:], METHODS])
def test_methods_take_most_of_the_time_and_no_more(make, clock, methods, seconds) -> None:
    answer = make.answer(
        model_of(make, clock.timed(function)),
        make.table(TABLE),
        *methods,
        target_column="y",
        budget_seconds=seconds,
    )

    is_reduced = "BUDGET_REDUCED" in codes(answer)
    assert clock.now <= seconds
    assert not is_reduced or clock.now >= 0.5 * seconds
    if methods == METHODS[:1]:
        assert is_reduced, "it takes 250 s on 500 rows"


def test_a_constant_part_of_trials_does_not_hide_the_square_of_the_rows(make, clock) -> None:
    clock.call_seconds = 0.02

    answer = make.answer(
        model_of(make, clock.timed(function)), make.table(TABLE), METHODS[0], budget_seconds=10.0
    )

    assert 30 <= answer.row_count < 500
    assert clock.now <= 10


def test_a_time_that_is_too_short_is_refused_with_one_that_is_not(make, clock) -> None:
    clock.row_seconds = 0.01

    def ask(seconds: float):
        return make.answer(
            model_of(make, clock.timed(function)),
            make.table(TABLE),
            *METHODS[:1],
            budget_seconds=seconds,
        )

    with pytest.raises(ExplainError) as refused:
        ask(5.0)
    [needed] = re.findall(r"budget_seconds to ([\d,]+) or more", refused.value.message)

    assert refused.value.field == "budget_seconds"
    assert clock.now <= 5.0
    clock.now = 0.0
    answer = ask(float(needed.replace(",", "")))
    assert answer.row_count >= 30
    assert clock.now <= float(needed.replace(",", ""))


def test_an_equal_request_takes_the_rows_that_were_resolved_first(make, clock) -> None:
    host, counts = make.host(), []
    for row_seconds in (1e-4, 1e-6):
        clock.row_seconds = row_seconds
        answer = make.answer(
            model_of(make, clock.timed(function)),
            make.table(TABLE),
            METHODS[0],
            host=host,
            budget_seconds=10.0,
        )
        counts.append(answer.row_count)

    assert counts[0] == counts[1] < 500


def test_an_overview_keeps_to_predicted_rows(make) -> None:
    host = make.host()

    answer = asked(make, host=host, budget_predicted_row_count=60_000.0)

    [note] = [note for note in answer.notes if note.code == "OVERVIEW_REDUCED"]
    assert planned(host) <= 60_000
    assert "predict at most 60,000 rows" in note.message
    with pytest.raises(ExplainError) as both:
        asked(make, row_count=50, budget_predicted_row_count=60_000.0)
    assert both.value.field == "budget_predicted_row_count"
