"""Losses as expressions: worked by hand, and equal to the losses that have a name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import average_loss, permutation_importance
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.target import read, resolve

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=40), RNG.gamma(2.0, size=40)
COLUMNS = {"a": A, "b": B, "y": 2 * A - B + RNG.normal(size=40), "w": RNG.random(40) + 0.1}
QUESTION = ("weight_column", "prediction", "host", "target_column", "class_labels")


def linear(a, b):
    return 2 * a - b


def shares(a, b):
    """Three outputs that are positive and sum to 1."""
    powers = np.exp(np.stack([a, b, 0 * a], axis=1))
    return powers / powers.sum(axis=1, keepdims=True)


def answer(make, columns=None, function=linear, n_outputs=1, *, shuffle=False, **given):
    question = {"target_column": "y"} | {k: given.pop(k) for k in QUESTION if k in given}
    names = ("a", "b")
    model = make.model(function, names, ["double"] * 2, n_outputs=n_outputs)
    model.has_class_scores = given.pop("classes", False)
    group = {"group_column": given.pop("group_column", "")} if not shuffle else {}
    kind: Any = permutation_importance if shuffle else average_loss
    options = kind.Options(comparison=Comparison(**given), **group)
    return make.answer(model, make.table(columns or COLUMNS), options, **question)


def result(make, columns=None, function=linear, n_outputs=1, **given):
    return answer(make, columns, function, n_outputs, **given).explanations[0].result


def numbers(found) -> list[float]:
    if isinstance(found, average_loss.Result):
        return [value for loss in found.losses for value in loss.values]
    parts = [(one.values, one.standard_errors) for one in found.importances]
    return [*found.baseline_losses, *np.array(parts).ravel()]


def refusal(make, *arguments, **given) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        answer(make, *arguments, **given)
    assert "\n" not in refused.value.message
    return refused.value


def test_a_relative_error_worked_by_hand(make) -> None:
    """Predictions 3, 5 for 4, 10 of sizes 2, 5: errors 1/2 and 5/5."""
    columns = {"a": [2.0, 3], "b": [1.0, 1], "y": [4.0, 10], "size of it": [2.0, 5]}

    found = result(make, columns, loss_expression="abs(y - p) / `size of it`")

    assert numbers(found) == [pytest.approx(0.75)]
    assert found.loss == "abs(y - p) / `size of it`"


def test_a_pinball_loss_worked_by_hand(make) -> None:
    """Errors y - p of 2 and -4 at 90 %: .9 · 2 and .1 · 4."""
    columns = {"a": [1.0, 2], "b": [1.0, 0], "y": [3.0, 0]}

    found = result(make, columns, loss_expression="max(0.9 * (y - p), -0.1 * (y - p))")

    assert numbers(found) == [pytest.approx((1.8 + 0.4) / 2)]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"weight_column": "w"},
        {"sum_outputs": True},
        {"prediction": ("y0 / 3", "exp(p) - 1"), "target_columns": ("y", "y")},
    ],
)
@pytest.mark.parametrize(
    ("text", "loss"),
    [("(y - p) ** 2", Loss.SQUARED_ERROR), ("abs(y - p)", Loss.ABSOLUTE_ERROR)],
)
def test_a_loss_with_a_name_is_its_expression(make, shuffle, given, text: str, loss: Loss) -> None:
    expected = result(make, shuffle=shuffle, loss=loss, **given)
    found = result(make, shuffle=shuffle, loss_expression=text, **given)

    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-13)
    assert found.output_names == expected.output_names


def test_groups_have_their_own_average(make) -> None:
    columns = {**COLUMNS, "kind": ["u", "v"] * 20}
    given: dict[str, Any] = {"group_column": "kind"}

    found = result(make, columns, loss_expression="(y - p) ** 2 + 0 * b", **given)

    assert numbers(found) == pytest.approx(numbers(result(make, columns, **given)))
    assert [loss.group for loss in found.losses] == ["u", "v"]


CLASSES = {"a": A, "b": B, "y": np.array(["y0", "y1", "y2"], object)[np.arange(40) % 3]}


def test_of_classes_y_is_1_in_the_rows_of_the_output_s_class(make) -> None:
    text = "-y * log(p) - (1 - y) * log(1 - p)"

    found = result(make, CLASSES, shares, 3, loss_expression=text)
    expected = result(make, CLASSES, shares, 3, loss=Loss.LOGLOSS)

    assert numbers(found) == pytest.approx(numbers(expected))
    assert found.output_names == ("y0", "y1", "y2")


@pytest.mark.parametrize("shuffle", [False, True])
def test_outputs_by_name_make_one_loss_and_y_is_what_the_target_holds(make, shuffle) -> None:
    text = "-log((y == 'y0') * y0 + (y == 'y1') * y1 + (y == 'y2') * y2)"

    found = result(make, CLASSES, shares, 3, shuffle=shuffle, loss_expression=text)
    expected = result(make, CLASSES, shares, 3, shuffle=shuffle, loss=Loss.MLOGLOSS)

    assert numbers(found) == pytest.approx(numbers(expected))
    assert found.output_names == ("total",)


def test_the_target_is_compared_with_the_prediction_that_was_asked_for(make) -> None:
    """The price for its logarithm; and a hinge loss of the difference of two classes."""
    prices = {"a": A, "b": B, "y": np.exp(2 * A - B)}
    assert numbers(result(make, prices, prediction=("exp(y)",))) == [pytest.approx(0)]

    hinge = "max(0, 1 - (2 * (y == 'y1') - 1) * p)"
    found = result(make, CLASSES, shares, 3, prediction=("y1 - y0",), loss_expression=hinge)
    each = shares(A, B)
    side = np.where(CLASSES["y"] == "y1", 1, -1)
    expected = np.maximum(0, 1 - side * (each[:, 1] - each[:, 0])).mean()
    assert numbers(found) == [pytest.approx(expected)]
    assert found.output_names == ("y1 - y0",)


def test_a_loss_need_not_read_the_target(make) -> None:
    found = result(make, CLASSES, shares, 3, prediction=("y1",), loss_expression="abs(p - b)")

    assert numbers(found) == [pytest.approx(np.abs(shares(A, B)[:, 1] - B).mean())]


def test_columns_keep_their_values_when_features_are_shuffled(make) -> None:
    """The loss reads `a` of the row itself, so shuffling `b`, which it cancels, costs nothing."""
    found = result(make, shuffle=True, loss_expression="(2 * a - p) ** 2 + 0 * y")
    squares = {one.features: one.values[0] for one in found.importances}

    # p - 2a is -b while b stays: shuffling it leaves the mean square of b as it is.
    assert squares["b",] == pytest.approx(0, abs=1e-12)
    assert squares["a",] > 1


def test_rows_of_weight_0_leave_the_loss_with_what_it_reads(make) -> None:
    """Errors of 1 and 2 over sizes of 1 and 4; the row between them weighs nothing."""
    table = make.table({"y": [1.0, 2, 4], "size": [1.0, 1, 4]})
    outputs = Outputs(("out",), (0,))
    comparison = resolve(
        Comparison(loss_expression="abs(y - p) / size"), table, ("y",), outputs, "path"
    )
    truth = read(comparison, table, outputs, "path")
    predicted, weights = np.array([[2.0], [9.0], [2.0]]), np.array([1.0, 0.0, 3.0])

    found = comparison.average(truth.values, predicted, weights, truth.beside)

    assert found.tolist() == [pytest.approx((1 * 1 + 3 * 2 / 4) / 4)]
    assert isinstance(truth.beside, LossExpression)
    assert truth.beside.take(np.array([2])).source.tolist() == [2]


def test_losses_of_other_columns_or_texts_share_no_cached_number(make) -> None:
    host = make.host()
    columns = {**COLUMNS, "scale": np.full(40, 2.0)}
    other = {**COLUMNS, "scale": np.full(40, 4.0)}
    given: dict[str, Any] = {"shuffle": True, "host": host}

    halved = numbers(result(make, columns, loss_expression="abs(y - p) / scale", **given))
    quarter = numbers(result(make, other, loss_expression="abs(y - p) / scale", **given))
    twice = numbers(result(make, columns, loss_expression="abs(y - p) * scale", **given))

    assert quarter == pytest.approx([value / 2 for value in halved])
    assert twice == pytest.approx([value * 4 for value in halved])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y ** 2", "names neither p nor an output"),
        ("abs(b)", "names neither p nor an output"),
        ("(y - q) ** 2", "there is no 'q'"),
        ("(y - p) ** 99", "an exponent must be"),
        ("(p - y0) ** 2", "p is each output in turn"),
        ("log(y - p)", "'log(y - p)' is nan in "),
        ("1 / (p - p)", "is inf in 40 of 40 rows, first in row 0 (counted from 0), for p = "),
    ],
)
def test_a_loss_that_cannot_be_meant_is_refused_in_one_line(make, text: str, words: str) -> None:
    error = refusal(make, loss_expression=text)

    assert words in error.message
    assert error.reason is Reason.INVALID_OPTION
    assert error.field == "methods[0].average_loss.loss_expression"


def test_an_output_called_as_a_column_is_refused_where_it_is_named(make) -> None:
    columns = {**COLUMNS, "y0": B}

    assert "an output and a column" in refusal(make, columns, loss_expression="y0 - y").message
    assert numbers(result(make, columns, loss_expression="abs(p - y)"))[0] > 0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"loss": Loss.MLOGLOSS},
        {"one_hot_target": True},
        {"one_hot_target": True, "loss_expression": "abs(p - (y == 'y1'))"},
    ],
)
def test_classes_are_not_compared_with_expressions_over_outputs(make, given) -> None:
    error = refusal(make, CLASSES, shares, 3, prediction=("y1", "a = y0"), classes=True, **given)

    assert "class" in error.message
    assert error.field.endswith((".target_columns", ".one_hot_target"))


def test_numbers_of_classes_are_compared_with_a_prediction_where_one_says_so(make) -> None:
    """0 and 1 could be classes, of which the prediction knows none."""
    columns = {"a": A, "b": B, "y": (np.arange(40) % 2).astype(float)}
    given: dict[str, Any] = {"prediction": ("clip(p, 0, 1)",), "classes": True}

    assert "names classes" in refusal(make, columns, **given).message
    found = result(make, columns, one_hot_target=False, **given)
    expected = np.mean((columns["y"] - np.clip(2 * A - B, 0, 1)) ** 2)
    assert numbers(found) == [pytest.approx(expected)]
