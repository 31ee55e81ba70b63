"""Overview: what a request without methods is resolved to, by target, engine and pace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.planning.overview import OverviewPlan
from onnxplain_server.methods import interactions, partial_dependence, permutation_importance
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import method_of

RANDOM = np.random.default_rng(3)
COLUMNS = {name: RANDOM.normal(size=60) for name in "abcdefgh"}
TABLE = {**COLUMNS, "y": RANDOM.normal(size=60)}


def function(a, b, c, d, e, f, g, h):
    return 5 * h + 2 * a * b + c


def asked(make, model_function=function, columns=TABLE, names="abcdefgh", **question):
    model = make.model(model_function, tuple(names), ["double"] * len(names))
    return make.answer(model, make.table(columns), **question)


def names(answer) -> list[str]:
    return [method_of(explanation.options).name for explanation in answer.explanations]


def test_with_a_target_it_has_losses_importances_interactions_and_curves(make) -> None:
    answer = asked(make, target_column="y")

    assert names(answer) == [
        *("average_loss", "average_loss", "permutation_importance"),
        *("interactions", "partial_dependence"),
    ]
    losses = [e.options.comparison.loss for e in answer.explanations[:2]]
    assert losses == [Loss.SQUARED_ERROR, Loss.ABSOLUTE_ERROR]
    assert [name for name, _ in answer.overview_methods] == names(answer)


def test_without_a_target_it_has_interactions_and_curves(make) -> None:
    answer = asked(make, columns=COLUMNS)

    assert names(answer) == ["interactions", "partial_dependence"]


def test_curves_are_those_of_the_most_important_features(make) -> None:
    for question in ({"target_column": "y"}, {}):
        answer = asked(make, columns=TABLE if question else COLUMNS, **question)
        features = [curve.features[0] for curve in answer.explanations[-1].result.curves]
        assert len(features) == 6

    assert features[0] == "h", "without a target, the feature that predictions vary most with"
    assert set(features[:4]) == set("habc")


def test_each_part_is_what_a_request_of_its_own_gives(make) -> None:
    answer = asked(make, target_column="y", seed=4, row_count=25)

    for explanation, (name, row_count) in zip(
        answer.explanations, answer.overview_methods, strict=True
    ):
        model = make.model(function, tuple("abcdefgh"), ["double"] * 8)
        alone = make.answer(
            model,
            make.table(TABLE),
            explanation.options,
            target_column="y",
            seed=4,
            row_count=row_count,
        )
        [same] = alone.explanations
        assert method_of(same.options).name == name
        assert numbers(same.result) == pytest.approx(numbers(explanation.result), rel=1e-9)
        assert same.rows == explanation.rows


def numbers(result) -> list[float]:
    """Some of the numbers of each kind of result."""
    for field in ("losses", "importances", "curves"):
        if hasattr(result, field):
            return [float(v) for one in getattr(result, field) for v in np.ravel(one.values)]
    return [float(v) for one in result.pairwise for v in one.numerators]


def test_a_slow_model_gets_fewer_rows_and_the_answer_says_so(make, clock) -> None:
    clock.row_seconds = 0.001
    answer = asked(make, clock.timed(function), target_column="y", budget_seconds=1.0)

    [note] = [note for note in answer.notes if note.code == "OVERVIEW_REDUCED"]
    assert note.message.startswith("To take about 1 s, ")
    # All defaults together need more than 30,000.
    assert answer.predicted_row_count < 1_000 + 600
    rows = [explanation.rows.drawn for explanation in answer.explanations]
    assert rows == [row_count or 60 for _, row_count in answer.overview_methods]
    assert min(rows) < 60


def plan(pace: float, budget: float = 2.0, row_count: int = 60, **others) -> OverviewPlan:
    settings = {"requested_row_count": None, "tree_rows": None} | others
    return OverviewPlan(tuple("abcdefgh"), row_count, budget=budget, pace=pace, **settings)


def test_the_budget_is_spent_on_rows_then_repetitions_then_points() -> None:
    tight = plan(500, budget=5, row_count=500)
    [importance], curves = [*tight.importances()], tight.curves(tuple("abcdef"))

    assert isinstance(importance.options, permutation_importance.Options)
    assert importance.options.repeat_count == 1
    assert importance.row_count == 500 * 5 * 0.35 // 9
    assert curves is not None
    assert isinstance(curves.options, partial_dependence.Options)
    assert (len(curves.options.features), curves.options.grid_size) == (1, 15)
    assert not [*tight.pairs()]
    [note] = tight.notes([importance, curves], has_target=True)
    assert "permutation_importance is on 97 rows shuffled once" in note.message
    assert "partial_dependence is on 31 rows for 1 curve of 15 points" in note.message
    assert "interactions is left out: the model predicts 500 rows/s" in note.message


@pytest.mark.parametrize("pace", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("row_count", [40, 1_000, 10**6])
def test_what_is_planned_fits_the_budget(pace: float, row_count: int) -> None:
    found = plan(pace, budget=30, row_count=row_count)
    cost = found.curve_cost
    for part in (*found.losses(None, Loss.AUC), *found.importances(), *found.pairs()):
        rows = min(part.row_count or 10**9, row_count)
        match part.options:
            case permutation_importance.Options():
                usual = min(rows, 10_000 if part.row_count is None else rows)
                cost += usual * (1 + 8 * part.options.repeat_count)
            case interactions.Options():
                cost += min(rows, 500) ** 2 * (2 * 8 + 10)
            case _:
                cost += rows

    assert cost <= pace * 30 * 1.1


@pytest.mark.parametrize(
    ("row_count", "budget", "told"),
    [(9_000, 60, None), (20_000, 60, 20_000), (20_001, 60, None), (20_000, 20, None)],
)
def test_importances_are_on_the_rows_of_the_losses_where_time_and_table_allow(
    row_count: int, budget: float, told: int | None
) -> None:
    """41 predictions of each row: 820,000 are within 35 % of 60 s, and not of 20 s."""
    [part] = plan(5e4, budget=budget, row_count=row_count).importances()

    assert (part.row_count, part.is_reduced) == (told, False)


def test_trees_get_the_rows_that_a_trial_allows() -> None:
    long = plan(1e6, budget=60, row_count=10**6, tree_rows=4_000)
    short = plan(1e6, budget=60, row_count=3_000, tree_rows=4_000)
    curves = long.curves(tuple("ab"))

    assert [part.row_count for part in long.pairs()] == [4_000]
    assert curves is not None
    assert curves.row_count == 4_000
    assert [part.row_count for part in short.pairs()] == [None]
    assert [part.row_count for part in long.importances()] == [None]
    [shuffled] = plan(1e4, budget=10, row_count=10**6, tree_rows=4_000).importances()
    assert shuffled.row_count == 1e4 * 10 * 0.35 // 33


def test_a_model_that_is_too_slow_for_anything_says_so(make, clock) -> None:
    clock.row_seconds = 0.05
    answer = asked(make, clock.timed(function), target_column="y", budget_seconds=1.0)

    [note] = answer.notes
    for name in ("average_loss", "permutation_importance", "interactions", "partial_dependence"):
        assert f"{name} is left out" in note.message
    assert answer.explanations == ()


def test_a_quick_model_has_the_default_rows(make, clock) -> None:
    clock.row_seconds = 1e-6
    answer = asked(make, clock.timed(function), target_column="y")

    assert {row_count for _, row_count in answer.overview_methods} == {None}
    assert "OVERVIEW_REDUCED" not in [note.code for note in answer.notes]


def test_rows_of_the_request_are_those_of_all_parts(make, clock) -> None:
    clock.row_seconds = 1e-6
    timed = clock.timed(function)
    answer = asked(make, timed, target_column="y", budget_seconds=1.0, row_count=12)

    assert {row_count for _, row_count in answer.overview_methods} == {12}
    assert {explanation.rows.drawn for explanation in answer.explanations} == {12}


def test_progress_ends_where_it_was_planned_to_end(make) -> None:
    host = make.host()

    asked(make, target_column="y", host=host)

    shares = [done / planned for done, planned in host.progress if planned]
    assert shares[-1] == 1
    assert all(planned >= done for done, planned in host.progress)


def test_a_single_feature_has_no_interactions(make) -> None:
    answer = asked(make, lambda a: a**2, {"a": COLUMNS["a"]}, "a")

    assert names(answer) == ["partial_dependence"]


def test_an_overview_needs_a_model(make) -> None:
    with pytest.raises(ExplainError) as without:
        make.answer(None, make.table(TABLE))

    assert without.value.reason is Reason.INVALID_REQUEST
    assert without.value.field == "model"


@pytest.mark.parametrize(
    ("requested", "rows", "cost"),
    [(None, 40_000, 50_000_000), (None, 1_000, 6 * 501_000 + 2_500_000), (400_000, 40_000, None)],
)
def test_curves_on_trees_plan_steps_and_a_surface_up_to_a_bound(
    requested: int | None, rows: int, cost: int | None
) -> None:
    """Of many rows they are curves of the usual points, as on other models."""
    plan = OverviewPlan(tuple("abcdefgh"), 10**6, requested, 5.0, 1e6, rows)
    grid = partial_dependence.Options().grid_size

    assert plan.curve_cost == (cost or 6 * (grid + 1) * 400_000)
    counted = requested or rows
    assert plan.fits(50_000_000 // counted)
    assert not plan.fits(50_000_000 // counted + 1)


@pytest.mark.parametrize(
    ("seconds", "rows", "told"),
    [
        pytest.param(lambda rows: rows / 2_000, 4_900, " for 100 of them", id="cheap"),
        pytest.param(lambda rows: rows / 2_000, 5_000, None, id="too many rows"),
        pytest.param(None, 4_900, None, id="not exact"),
    ],
)
def test_shapley_values_are_planned_where_they_take_a_twentieth_of_the_time(
    seconds: Callable[[int], float] | None, rows: int, told: str | None
) -> None:
    """2.5 of 50 seconds, for the rows explained and those of their background."""
    own = plan(1e6, budget=50, row_count=rows, tree_rows=10**6, value_seconds=seconds)

    assert [part.details for part in own.values()] == ([told] if told else [])
