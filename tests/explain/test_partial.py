"""Partial answers: finished methods, and interactions on fewer rows before."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, PartialExplanation, Question, Resources, explain
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.trees.reading.refusal import Refusal

RANDOM = np.random.default_rng(3)
N_ROWS = 2_000
TABLE = {name: RANDOM.normal(size=N_ROWS) for name in "abc"}


def function(a, b, c):
    return a * b + np.sin(2 * c)


@pytest.fixture
def partial_answer(make):
    """Explain the function; return parts and answer."""

    def ask(*methods, host=None, **question):
        asked = Question(methods=methods, plots=True, **question)
        model = make.model(function, tuple("abc"), ["double"] * 3)
        parts: list[PartialExplanation] = []
        means = Resources(
            host or make.host(),
            BatchSize(),
            make.pool(1),
            lambda: Refusal("it is a function"),
            publish=parts.append,
        )
        return parts, explain(model, BoundTable(make.table(TABLE), asked, model), asked, means)

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


def test_the_answer_is_the_same_as_without(make, partial_answer) -> None:
    _, answer = partial_answer(interactions.Options(), row_count=1_600)
    model = make.model(function, tuple("abc"), ["double"] * 3)
    plain = make.answer(model, make.table(TABLE), interactions.Options(), row_count=1_600)

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
