"""Partial answers: finished methods, and interactions on fewer rows before."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, PartialExplanation, Question, Resources, explain
from onnxplain_server.methods import interactions, partial_dependence, permutation_importance
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import method_of
from onnxplain_server.trees.reading.refusal import Refusal

RANDOM = np.random.default_rng(3)
N_ROWS = 2_000
FEATURES = {name: RANDOM.normal(size=N_ROWS) for name in "abc"}
TARGET = FEATURES["a"] * FEATURES["b"] + RANDOM.normal(size=N_ROWS)
TABLE = {**FEATURES, "y": TARGET, "class": np.where(TARGET > 0, "y0", "none").astype(object)}
SHUFFLES = permutation_importance.Options(comparison=Comparison(Loss.SQUARED_ERROR))
CURVES = partial_dependence.Options(grid_size=9)


def function(a, b, c):
    return a * b + np.sin(2 * c)


def publish(make, model, table, methods, host=None, **question):
    """Explain a model; return parts and answer."""
    asked = Question(methods=methods, plots=True, **question)
    parts: list[PartialExplanation] = []
    means = Resources(
        host or make.host(),
        BatchSize(),
        make.pool(1),
        lambda: Refusal("it is a function"),
        publish=parts.append,
    )
    return parts, explain(model, BoundTable(table, asked, model), asked, means)


@pytest.fixture
def partial_answer(make):
    """Explain the function; return parts and answer."""

    def ask(*methods, host=None, **question):
        model = make.model(function, tuple("abc"), ["double"] * 3)
        return publish(make, model, make.table(TABLE), methods, host, **question)

    return ask


def test_each_method_is_told_when_it_is_finished(partial_answer) -> None:
    parts, answer = partial_answer(
        interactions.Options(), partial_dependence.Options(), row_count=300
    )

    assert [(part.index, part.is_final) for part in parts] == [(0, True), (1, True)]
    for part, explanation in zip(parts, answer.explanations, strict=True):
        assert part.explanation.rows == explanation.rows
        assert part.explanation.options == explanation.options
        assert [p.name for p in part.explanation.plots] == [p.name for p in explanation.plots]


def test_interactions_are_told_before_with_intervals(partial_answer) -> None:
    parts, answer = partial_answer(interactions.Options(), row_count=1_600)

    assert [(part.index, part.is_final) for part in parts] == [
        (0, False),
        (0, False),
        (0, True),
    ]
    few, more, final = parts
    assert [part.explanation.rows.drawn for part in parts] == [100, 400, 1_600]
    for part in (few, more):
        assert part.explanation.plots == ()
        spread = part.explanation.result.total.spread
        assert (spread.lower < spread.upper).all()
    assert final.explanation.result.total.spread is None
    whole = answer.explanations[0].result.total.values
    interval = few.explanation.result.total.spread
    assert interval.lower < whole < interval.upper


@pytest.mark.parametrize("options", [SHUFFLES, CURVES], ids=lambda o: method_of(o).name)
def test_shuffles_and_curves_are_told_before_with_intervals(partial_answer, options) -> None:
    parts, _ = partial_answer(options, row_count=1_600, target_column="y")

    assert [(part.explanation.rows.drawn, part.is_final) for part in parts] == [
        (100, False),
        (1_600, True),
    ]
    few, final = (averages(part.explanation.result) for part in parts)
    for sampled, whole in zip(few, final, strict=True):
        assert whole.lower is None
        assert whole.upper is None
        assert (sampled.lower < sampled.values).all()
        assert (sampled.values < sampled.upper).all()
        wide = 2 * (sampled.upper - sampled.lower)
        assert (np.abs(whole.values - sampled.values) < wide).all()


def averages(result):
    is_curves = isinstance(result, partial_dependence.Result)
    return result.curves if is_curves else result.importances


@pytest.mark.parametrize(
    "options",
    [
        permutation_importance.Options(comparison=Comparison(Loss.AUC, one_hot_target=True)),
        partial_dependence.Options(group_column="b"),
    ],
    ids=["score", "groups"],
)
def test_what_is_no_average_over_a_sample_is_told_when_it_is_finished(
    partial_answer, options
) -> None:
    parts, _ = partial_answer(options, row_count=1_600, target_column="class")

    assert [part.is_final for part in parts] == [True]


def test_curves_of_rows_that_repeat_are_told_when_they_are_finished(make) -> None:
    """A sixteenth of the rows would have nearly all that there are."""
    table = make.table({"a": np.arange(1_600) % 3.0, "b": np.arange(1_600) % 10.0})
    model = make.model(lambda a, b: a * b, ("a", "b"), ["double"] * 2)
    parts = publish(make, model, table, (CURVES,))[0]

    assert [part.is_final for part in parts] == [True]


@pytest.mark.parametrize("options", [SHUFFLES, CURVES], ids=lambda o: method_of(o).name)
def test_shuffles_and_curves_before_cost_a_sixteenth(make, partial_answer, options) -> None:
    _, answer = partial_answer(options, row_count=1_600, target_column="y")
    model = make.model(function, tuple("abc"), ["double"] * 3)
    table = make.table(TABLE)
    plain = make.answer(model, table, options, row_count=1_600, target_column="y")

    one, other = (averages(a.explanations[0].result) for a in (answer, plain))
    for with_parts, without in zip(one, other, strict=True):
        np.testing.assert_array_equal(with_parts.values, without.values)
    more = answer.predicted_row_count - plain.predicted_row_count
    assert 0 < more <= plain.predicted_row_count / 16 + 1


def test_the_answer_is_the_same_as_without(make, partial_answer) -> None:
    _, answer = partial_answer(interactions.Options(), row_count=1_600)
    model = make.model(function, tuple("abc"), ["double"] * 3)
    table = make.table(TABLE)
    plain = make.answer(model, table, interactions.Options(), row_count=1_600)

    one, other = (a.explanations[0].result for a in (answer, plain))
    np.testing.assert_array_equal(one.total.values, other.total.values)
    # A sixteenth and a quarter of the rows: 1/256 + 1/16 more predictions.
    assert plain.predicted_row_count < answer.predicted_row_count
    assert answer.predicted_row_count < 1.08 * plain.predicted_row_count


def test_progress_keeps_to_its_plan(make, partial_answer) -> None:
    host = make.host()

    partial_answer(interactions.Options(), row_count=400, host=host)

    shares = [done / planned for done, planned in host.progress if planned]
    assert shares[-1] == 1
    assert all(planned >= done for done, planned in host.progress)


def test_a_cancelled_request_ends_in_the_sample_too(make, partial_answer) -> None:
    with pytest.raises(ExplainError) as error:
        partial_answer(interactions.Options(), row_count=400, host=make.host(steps=4))

    assert error.value.reason is Reason.CANCELLED
