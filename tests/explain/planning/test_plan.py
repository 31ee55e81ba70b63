"""Plans: rows to predict as the computation then reports them, and nothing changed by planning."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, Engine, Question, Resources
from onnxplain_server.explain.plan import plan_explanation
from onnxplain_server.explain.planning import rehearsal
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.methods import (
    attributions,
    average_loss,
    feature_vectors,
    firm,
    interactions,
    partial_dependence,
    permutation_importance,
    swarm,
)
from onnxplain_server.methods import individual_conditional_expectation as curves_of_rows
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import method_of
from onnxplain_server.trees.reading.refusal import Refusal

RANDOM = np.random.default_rng(8)
ROWS = 120
FEATURES = {
    **{name: RANDOM.normal(size=ROWS) for name in "abc"},
    "two": np.arange(ROWS) % 2.0,
    "four": np.arange(ROWS) % 4.0,
    "ignored": RANDOM.normal(size=ROWS),
}
NAMES = tuple(FEATURES)
TABLE = {**FEATURES, "y": RANDOM.normal(size=ROWS)}

ALL_PAIRS = interactions.Options(pairwise_feature_count=6)
CURVES = partial_dependence.Options()
SHUFFLES = permutation_importance.Options(repeat_count=3)
METHODS = [
    ALL_PAIRS,
    interactions.Options(),
    interactions.Options(pairwise_feature_count=6, threeway_feature_count=3),
    interactions.Options(knot_count=5),
    interactions.Options(quantile_bin_count=7),
    interactions.Options(
        groups=(("a", "two"), ("b", "ignored")), pairwise_feature_count=4, threeway_feature_count=4
    ),
    CURVES,
    partial_dependence.Options(features=(("a", "two"), ("four",), ("ignored",)), grid_size=9),
    curves_of_rows.Options(features=("a", "two"), curve_count=30),
    SHUFFLES,
    average_loss.Options(),
    firm.Options(),
    firm.Options(contrasts=(firm.Contrast.PARTIAL_DEPENDENCE,)),
    feature_vectors.Options(growth=feature_vectors.Growth(sentence_count=1_000, depth=3)),
    attributions.Options(explained_row_count=2),
    attributions.Options(explained_row_count=2, target_standard_error=0.5),
]


def function(a, b, c, two, four, _ignored):
    return np.sin(a * b) + c * two + four


def model_of(make, compute=function):
    return make.model(compute, NAMES, ["double"] * len(NAMES), without={0: [5]})


def planned(
    make, model, *methods, host=None, columns=TABLE, size_of=lambda _explanation: 1, **asked
):
    question = Question(methods=methods, **{"plots": False, "target_column": "y", **asked})
    table = make.table(columns)
    resources = Resources(
        host or make.host(), BatchSize(), make.pool(2), lambda: Refusal("it is a function")
    )
    bound = BoundTable(table, question, model)
    return plan_explanation(model, bound, question, resources, size_of)


def predicted(plan) -> int:
    return sum(method.predicted_row_count for method in plan.methods)


@pytest.mark.parametrize("options", METHODS, ids=lambda options: method_of(options).name)
def test_the_rows_to_predict_are_those_that_the_computation_predicts(make, options) -> None:
    model = model_of(make)
    plan = planned(make, model, options)
    answer = make.answer(model, make.table(TABLE), options, target_column="y")

    (method,) = plan.methods
    if method.is_exact:
        assert method.predicted_row_count == answer.predicted_row_count
    else:
        assert method.predicted_row_count >= answer.predicted_row_count
    assert method.row_count == answer.explanations[0].rows.drawn


def test_methods_of_one_request_share_their_predictions(make) -> None:
    model, methods = model_of(make), (average_loss.Options(), CURVES, SHUFFLES, ALL_PAIRS)
    plan = planned(make, model, *methods)
    answer = make.answer(model, make.table(TABLE), *methods, target_column="y")

    assert predicted(plan) == answer.predicted_row_count
    apart = sum(predicted(planned(make, model, options)) for options in methods)
    assert predicted(plan) < apart


def test_rows_in_the_cache_are_not_predicted_again(make) -> None:
    model, host = model_of(make), make.host()
    options = ALL_PAIRS
    before = planned(make, model, options, host=host).methods[0]
    make.answer(model, make.table(TABLE), options, host=host, target_column="y")
    after = planned(make, model, options, host=host).methods[0]

    assert (before.cached_row_count, after.predicted_row_count) == (0, 0)
    assert after.cached_row_count >= before.predicted_row_count > 0


def test_planning_puts_no_number_into_the_cache_and_reports_no_progress(make) -> None:
    model, host = model_of(make), make.host()
    planned(make, model, *METHODS, host=host)

    assert host.values == {}
    assert set(host.progress) == {(0, 0)}


def test_an_answer_after_planning_is_the_answer_without(make) -> None:
    model, host = model_of(make), make.host()
    planned(make, model, ALL_PAIRS, host=host)
    after = make.answer(model, make.table(TABLE), ALL_PAIRS, host=host)
    without = make.answer(model, make.table(TABLE), ALL_PAIRS)

    pairs = zip(
        after.explanations[0].result.pairwise, without.explanations[0].result.pairwise, strict=True
    )
    assert all(np.allclose(one.numerators, other.numerators) for one, other in pairs)


def test_a_slow_model_predicts_a_few_hundred_rows(make, clock) -> None:
    clock.row_seconds = 0.0005
    model = model_of(make, clock.timed(function))
    plan = planned(make, model, interactions.Options(), partial_dependence.Options())

    assert model.predicted < 200
    assert predicted(plan) > 50 * model.predicted
    assert plan.seconds.high > predicted(plan) * 0.0005 / 2, "by two threads"


def test_cancelling_ends_it(make) -> None:
    host = make.host(steps=3)
    with pytest.raises(ExplainError) as refusal:
        planned(make, model_of(make), *METHODS, host=host)
    assert refusal.value.reason is Reason.CANCELLED


def test_what_explaining_refuses_planning_refuses_alike(make) -> None:
    for options in (
        partial_dependence.Options(features=(("nobody",),)),
        swarm.Options(score=swarm.Score.ACCURACY),
    ):
        with pytest.raises(ExplainError) as by_plan:
            planned(make, model_of(make), options)
        with pytest.raises(ExplainError) as by_answer:
            make.answer(model_of(make), make.table(TABLE), options, target_column="y")
        assert (by_plan.value.field, by_plan.value.message) == (
            by_answer.value.field,
            by_answer.value.message,
        )


SEARCHES = {
    "at the start": swarm.Options(loss=Loss.SQUARED_ERROR),
    "anywhere": swarm.Options(
        loss=Loss.SQUARED_ERROR,
        search_settings=swarm.SearchSettings(start=swarm.ParticleStart.UNIFORM, iteration_count=7),
    ),
    "by evolution": swarm.Options(
        loss=Loss.SQUARED_ERROR,
        search=swarm.Search.DIFFERENTIAL_EVOLUTION,
        search_settings=swarm.SearchSettings(iteration_count=3),
    ),
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_the_rows_of_a_search_that_takes_a_moment_are_counted(make, monkeypatch, options) -> None:
    monkeypatch.setattr(rehearsal, "_SEARCH_SECONDS", float("inf"))
    model, host = model_of(make), make.host()
    (method,) = planned(make, model, options, row_count=20, host=host).methods
    answer = make.answer(model, make.table(TABLE), options, target_column="y", row_count=20)

    assert method.is_exact
    assert method.predicted_row_count == answer.predicted_row_count
    assert host.values == {}


@pytest.mark.parametrize("seconds", [0.0, 0.05], ids=["not begun", "cut short"])
@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_the_rows_of_a_long_search_are_bounded(make, clock, monkeypatch, options, seconds) -> None:
    clock.row_seconds = 0.0005
    monkeypatch.setattr(rehearsal, "_SEARCH_SECONDS", seconds)
    monkeypatch.setattr(rehearsal, "_OVERESTIMATION", float("inf") if seconds else 0.0)

    slow = model_of(make, clock.timed(function))
    (method,) = planned(make, slow, options, row_count=20).methods
    answer = make.answer(
        model_of(make), make.table(TABLE), options, target_column="y", row_count=20
    )

    assert not method.is_exact
    assert method.predicted_row_count >= answer.predicted_row_count


def test_several_searches_share_the_time_of_a_plan(make, clock, monkeypatch) -> None:
    """The first takes it all; the others are bounded as if they were not begun."""
    clock.row_seconds = 0.0005
    slow = model_of(make, clock.timed(function))
    monkeypatch.setattr(rehearsal, "_SEARCH_SECONDS", 0.05)
    counts = []
    for ratio in (1e9, 0.0):
        monkeypatch.setattr(rehearsal, "_OVERESTIMATION", ratio)
        plan = planned(make, slow, *SEARCHES.values(), row_count=20)
        counts.append([method.predicted_row_count for method in plan.methods])

    assert counts[0][1:] == counts[1][1:]


def test_a_search_plans_no_rows_for_particles_at_rest(make, monkeypatch) -> None:
    """All start at the weight that changes nothing, whose predictions are there already."""
    monkeypatch.setattr(rehearsal, "_OVERESTIMATION", 0.0)
    counts = []
    for start in swarm.ParticleStart:
        settings = swarm.SearchSettings(particle_count=3, iteration_count=4, start=start)
        options = swarm.Options(
            features=("a", "b"), loss=Loss.SQUARED_ERROR, search_settings=settings
        )
        counts.append(predicted(planned(make, model_of(make), options, row_count=20)))

    assert counts == [20 + 20 * 2 * 3 * 3, 20 + 20 * 2 * 3 * 4]


def test_an_overview_lists_its_methods(make) -> None:
    model = model_of(make)
    plan = planned(make, model)
    answer = make.answer(model, make.table(TABLE), target_column="y")

    names = {method_of(explanation.options).name for explanation in answer.explanations}
    assert {method.name for method in plan.methods} == names


def test_each_method_tells_engine_time_and_size(make) -> None:
    plan = planned(make, model_of(make), ALL_PAIRS, CURVES, size_of=lambda _e: 7)

    assert [method.engine for method in plan.methods] == [Engine.BLACK_BOX] * 2
    assert all("it is a function" in method.engine_reason for method in plan.methods)
    assert all(0 < method.interval.low < method.interval.high for method in plan.methods)
    assert plan.answer_bytes == 14
    assert plan.memory_bytes > ROWS * len(TABLE) * 8


def test_savings_at_least_halve_the_rows_to_predict(make, clock) -> None:
    clock.row_seconds = 0.0002
    model = model_of(make, clock.timed(function))
    plan = planned(make, model, interactions.Options(), row_count=100)

    by_field = {saving.field: saving for saving in plan.savings}
    fewer = planned(make, model, interactions.Options(), row_count=by_field["row_count"].value)
    assert predicted(fewer) <= predicted(plan) / 2
    pairs = by_field["methods[0].interactions.pairwise_feature_count"].value
    without = interactions.Options(pairwise_feature_count=pairs)
    assert predicted(planned(make, model, without, row_count=100)) <= predicted(plan) / 2
    assert "standard errors" in by_field["row_count"].accuracy


def test_savings_of_groups_of_features_are_none_that_refuse_them() -> None:
    plain, grouped = interactions.Options(), interactions.Options(groups=(("a", "b"),))

    offered, left = (
        [change.name for change in preparation_of(options).changes(options)]
        for options in (plain, grouped)
    )

    assert offered == [*left, "knot_count"]


def test_a_budget_is_planned_as_it_is_computed(make) -> None:
    model, asked = model_of(make), {"budget_predicted_row_count": 50_000}
    plan = planned(make, model, ALL_PAIRS, **asked)
    answer = make.answer(model, make.table(TABLE), ALL_PAIRS, target_column="y", **asked)

    assert plan.methods[0].row_count == answer.explanations[0].rows.drawn < ROWS
    assert answer.predicted_row_count <= predicted(plan) <= 50_000
