"""Expressions over outputs as a model: their values, what they ignore, and how exact they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.explain.prediction.expressions import read_predictions
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.methods import interactions

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=60), RNG.normal(size=60)
COLUMNS = {"a": A, "b": B}


def of(make, texts, function, n_outputs=1, outputs=None, **given) -> PredictionModel:
    model = make.model(function, ("a", "b"), ("double",) * 2, n_outputs=n_outputs, **given)
    predictions = read_predictions(texts, model.output_names)
    sample = np.asarray(function(A, B) if outputs is None else outputs).reshape(-1, n_outputs)
    return PredictionModel(model, predictions, lambda: sample)


def feeds(a, b):
    return {"a": np.array(a, float)[:, None], "b": np.array(b, float)[:, None]}


def two(a, b):
    return np.stack([a + b, a * b], axis=1)


def test_each_expression_is_one_output_of_its_name(make) -> None:
    model = of(make, ["y1 - y0", "twice = 2 * y0", "`a b` = y1 > 3"], two, 2)

    assert model.output_names == ("y1 - y0", "twice", "a b")
    assert model.predict(feeds([2, 1], [3, 1])).tolist() == [[1, 10, 1], [-1, 4, 0]]


def test_the_only_output_has_short_names(make) -> None:
    model = of(make, ["y + p + y0", "p", "y0"], lambda a, b: a + b)

    assert model.output_names == ("y + p + y0", "p", "y0")
    assert model.predict(feeds([1], [1])).tolist() == [[6, 2, 2]]
    with pytest.raises(ExplainError, match="no output 'y'"):
        of(make, ["y"], two, 2)


@given(st.text(alphabet="ypq12 ()+-*/<>=!'`\"\\^,:expclog\n", max_size=30))
def test_any_text_is_a_prediction_or_an_error_of_ours(text: str) -> None:
    try:
        values = read_predictions([text], ("q",)).evaluate_unchecked(np.ones((3, 1)))
        told = f"{len(values)} rows"
    except ExplainError as error:
        told = error.message

    assert "at position" in told or told == "3 rows"


def test_a_feature_is_unused_where_no_output_that_is_used_depends_on_it(make) -> None:
    without = {0: (1,), 1: (0, 1)}
    model = of(make, ["exp(y0)", "y1 + 1", "y0 - y1"], two, 2, without=without)

    assert model.unused(2, np.array([0])) == {1}
    assert model.unused(2, np.array([1])) == {0, 1}
    assert model.unused(2, np.array([1, 2])) == {1}


def test_an_output_that_is_not_finite_stays_so_whatever_is_made_of_it(make) -> None:
    """A broken model is no fault of the expression, and clipping does not mend it."""
    model = of(make, ["clip(y, 0, 1)", "0 * y"], lambda a, b: a / b)

    with np.errstate(divide="ignore"):
        assert np.isnan(model.predict(feeds([1, 1], [0, 2]))[0]).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Relative errors of 1e-6: of y itself; of exp(y) by |y|; of y ** 2 twice as large.
        ("y", 1e-6),
        ("3 - 2 * y", 1e-6 * 16 / 13),
        ("exp(y)", 8e-6),
        ("y ** 2", 2e-6),
        ("y > 7", 0.0),
        ("y - y", 0.0),
    ],
)
def test_rounding_in_the_outputs_goes_on_through_the_expression(make, text, expected) -> None:
    model = of(make, [text], lambda a, b: a + b, rounding=1e-6, outputs=[8.0] * 10)

    assert model.roundings == pytest.approx([expected], rel=1e-4)


def test_the_error_of_a_small_difference_is_that_of_the_large_outputs(make) -> None:
    outputs = np.array([[1000.0, 1001.0]] * 10)
    model = of(make, ["y1 - y0"], two, 2, rounding=1e-6, outputs=outputs)

    assert model.roundings == pytest.approx([2.001e-3], rel=1e-3)


def single(a, b):
    """Two large outputs in float32, whose difference is a + b but for rounding."""
    low = np.float32(1e4) + np.float32(a)
    return np.stack([low, (low + np.float32(a) + np.float32(b)).astype(np.float32)], axis=1)


def test_rounding_errors_of_outputs_are_no_interaction_of_their_difference(make) -> None:
    model = make.model(single, ("a", "b"), ("double",) * 2, n_outputs=2, rounding=2.0**-24)
    answer = make.answer(
        model, make.table(COLUMNS), interactions.Options(), prediction=("y1 - y0",)
    )

    result = answer.explanations[0].result
    assert result.total.numerators.tolist() == [0.0]
    assert all(pair.numerators.tolist() == [0.0] for pair in result.pairwise)


def test_p_values_compare_the_prediction_with_the_target(make) -> None:
    """The product is found by its exponential; classes and several predictions are refused."""
    model = make.model(lambda a, b: a * b, ("a", "b"), ("double",) * 2)
    table = make.table({**COLUMNS, "y": np.exp(A * B)})
    options = interactions.Options(permutation_count=99)

    def ask(*texts: str):
        return make.answer(model, table, options, target_column="y", prediction=texts)

    p_values = ask("exp(y)").explanations[0].result.pairwise[0].p_values
    assert p_values.tolist() == [pytest.approx(0.01)]
    with pytest.raises(ExplainError, match="one prediction at a time"):
        ask("exp(y)", "y")
