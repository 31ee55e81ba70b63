"""The true values: which columns they are, and how classes meet outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.target import read, read_column, resolve

NAN = float("nan")
COLUMNS = {"y": [1.0, 0, 2], "z": [0.5, 1.5, 2.5], "kind": ["b", "a", "b"], "x": [7.0, 8, 9]}


def outputs_of(names: tuple[str, ...], chosen: tuple[int, ...] = (), **given) -> Outputs:
    return Outputs(names, chosen or tuple(range(len(names))), **given)


def actual(
    make,
    names: tuple[str, ...] = ("out",),
    columns=None,
    *,
    target: str = "y",
    outputs: Outputs | None = None,
    **given,
):
    table, outputs = make.table(columns or COLUMNS), outputs or outputs_of(names)
    comparison = resolve(Comparison(**given), table, tuple(filter(None, [target])), outputs, "p")
    return read(comparison, table, outputs, "p").values.tolist()


def refusal(make, *arguments, **given) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        actual(make, *arguments, **given)
    return refused.value


def test_the_request_s_target_column_is_compared_with_the_output(make) -> None:
    assert actual(make) == [[1], [0], [2]]


def test_one_column_is_compared_with_every_output(make) -> None:
    assert actual(make, ("u", "v")) == [[1, 1], [0, 0], [2, 2]]


def test_columns_of_the_method_come_before_that_of_the_request(make) -> None:
    found = actual(make, ("u", "v"), target_columns=("z", "x"))

    assert found == [[0.5, 7], [1.5, 8], [2.5, 9]]


def test_text_names_classes_without_being_asked(make) -> None:
    assert actual(make, ("a", "b"), target="kind") == [[0, 1], [1, 0], [0, 1]]


def test_classes_meet_outputs_by_name_whatever_the_order(make) -> None:
    assert actual(make, ("b", "c", "a"), target="kind") == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_classes_without_a_chosen_output_are_none_of_those(make) -> None:
    """All outputs of the model take part in the pairing, whichever are explained."""
    outputs = outputs_of(("a", "b", "c"), (1,))

    assert actual(make, target="kind", outputs=outputs) == [[1], [0], [1]]


def test_numbers_name_classes_where_asked(make) -> None:
    found = actual(make, ("2", "1", "0"), one_hot_target=True)

    assert found == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_the_loss_of_several_classes_takes_numbers_as_classes(make) -> None:
    """But not where each output has a column of its own."""
    one = actual(make, ("0", "1", "2"), loss=Loss.MLOGLOSS)
    each = actual(make, ("u", "v"), target_columns=("y", "z"), loss=Loss.MLOGLOSS)

    assert one == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert each == [[1, 0.5], [0, 1.5], [2, 2.5]]


def test_options_after_defaults_say_what_was_decided(make) -> None:
    table = make.table(COLUMNS)

    text = resolve(Comparison(), table, ("kind",), outputs_of(("out",)), "p")
    number = resolve(Comparison(), table, ("y",), outputs_of(("out",)), "p")

    assert (text.target_columns, text.one_hot_target) == (("kind",), True)
    assert (number.target_columns, number.one_hot_target) == (("y",), False)


def test_no_target_is_refused(make) -> None:
    error = refusal(make, target="")

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "target_column")
    assert "no target" in error.message


def test_a_column_that_is_not_there_is_refused(make) -> None:
    error = refusal(make, target_columns=("price",))

    assert (error.reason, error.field) == (Reason.MISSING_COLUMN, "p.target_columns")
    assert "'price'" in error.message


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        pytest.param(
            {"y": [1.0, NAN, 2, NAN]}, "no value in rows 1, 3 (counted from 0), of 4", id="number"
        ),
        pytest.param(
            {"y": [1.0, float("inf")]}, "is infinite in row 1 (counted from 0), of 2", id="infinite"
        ),
        pytest.param({"y": ["a", "", "b"]}, "no value in row 1 (counted from 0), of 3", id="text"),
        pytest.param(
            {"y": [NAN] * 9},
            "no value in rows 0, 1, 2, 3, 4 and 4 more (counted from 0), of 9",
            id="the first ones and their number",
        ),
    ],
)
def test_rows_without_a_true_value_are_named(make, columns, rows: str) -> None:
    error = refusal(make, ("a", "b"), columns)

    assert (error.reason, error.field) == (Reason.INVALID_TABLE, "table")
    assert rows in error.message


def test_columns_must_be_one_or_as_many_as_outputs(make) -> None:
    error = refusal(make, ("u", "v", "w"), target_columns=("y", "z"))

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "p.target_columns")
    assert "2 target columns for 3 outputs" in error.message


def test_text_that_shall_be_no_classes_is_refused(make) -> None:
    error = refusal(make, ("a", "b"), target="kind", one_hot_target=False)

    assert (error.reason, error.field) == (Reason.WRONG_TYPE, "p.one_hot_target")


def test_classes_in_several_columns_are_refused(make) -> None:
    error = refusal(make, ("a", "b"), target_columns=("kind", "y"))

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "p.target_columns")
    assert "one_hot_target needs one target column; 2 given" in error.message


def test_classes_that_match_no_output_are_refused(make) -> None:
    error = refusal(make, ("u", "v", "w"), target="kind")

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "p.target_columns")
    assert "'a', 'b'" in error.message
    assert "'u', 'v', 'w'" in error.message


def test_the_loss_of_several_classes_needs_several_outputs(make) -> None:
    error = refusal(make, loss=Loss.MLOGLOSS)

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "p.loss")
    assert "use LOGLOSS" in error.message


def test_losses_are_summed_over_outputs_where_asked() -> None:
    """Of probabilities of classes, that is the Brier score: here 0.09 + 0.01 + 0.04."""
    truth, shares, one = np.array([[1.0, 0, 0]]), np.array([[0.7, 0.1, 0.2]]), np.ones(1)

    summed = Comparison(Loss.SQUARED_ERROR, sum_outputs=True)
    each = Comparison(Loss.SQUARED_ERROR)

    assert summed.average(truth, shares, one) == pytest.approx([0.14])
    assert each.average(truth, shares, one) == pytest.approx([0.09, 0.01, 0.04])
    assert summed.output_names(("a", "b", "c")) == ("total",)
    assert each.output_names(("a", "b", "c")) == ("a", "b", "c")
    assert Comparison(Loss.MLOGLOSS).output_names(("a", "b")) == ("total",)


def test_a_row_without_weight_counts_for_nothing_even_if_infinite() -> None:
    truth, shares = np.array([[1.0], [1.0]]), np.array([[0.5], [0.0]])

    found = Comparison(Loss.LOGLOSS).average(truth, shares, np.array([2.0, 0.0]))

    assert found == pytest.approx([np.log(2)])


@pytest.mark.parametrize("loss", Loss)
def test_rows_without_any_weight_have_no_average(loss: Loss) -> None:
    with pytest.raises(ExplainError, match="weight 0") as refused:
        Comparison(loss).average(np.ones((2, 1)), np.ones((2, 1)), np.zeros(2))

    assert refused.value.reason is Reason.INVALID_WEIGHTS
    assert refused.value.field == "weight_column"


CLASSES: Any = {"are_classes": True}


@pytest.mark.parametrize(
    ("target", "outputs", "expected"),
    [
        pytest.param("y", outputs_of(("out",)), [[1], [0], [2]], id="numbers beside one output"),
        pytest.param("kind", outputs_of(("a", "b")), [[0, 1], [1, 0], [0, 1]], id="text"),
        pytest.param("kind", outputs_of(("b",)), [[1], [0], [1]], id="text beside one of them"),
        pytest.param(
            "y",
            outputs_of(("0", "1", "2")),
            [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
            id="numbers beside several outputs",
        ),
        pytest.param(
            "y", outputs_of(("0", "1", "2"), (2,), **CLASSES), [[0], [0], [1]], id="one chosen"
        ),
        pytest.param("y", outputs_of(("0", "1", "2"), (2,)), [[1], [0], [2]], id="no classes"),
    ],
)
def test_the_target_column_alone_tells_whether_it_names_classes(
    make, target: str, outputs: Outputs, expected
) -> None:
    assert read_column(make.table(COLUMNS), target, outputs).values.tolist() == expected


@pytest.mark.parametrize(
    ("columns", "names", "words"),
    [
        ({"y": [1.0, 2, 3]}, ("p", "q"), "no output has the name or the number of '1', '2', '3'"),
        ({"y": [1.0, NAN, 3]}, ("out",), "no value in row 1 "),
    ],
)
def test_a_target_column_that_does_not_fit_is_refused(
    make, columns, names: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ExplainError, match=words):
        read_column(make.table(columns), "y", outputs_of(names))


@pytest.mark.parametrize(
    ("values", "names", "is_class"),
    [
        pytest.param([0.0, 1, 2], ("0", "1", "2"), True, id="whole numbers"),
        pytest.param([0.0, 1, 1], ("score",), True, id="two classes and one output"),
        pytest.param([0.5, 1, 0], ("score",), False, id="shares beside one output"),
        pytest.param([0.5, 1, 0], ("0", "1"), True, id="fractions beside several outputs"),
    ],
)
def test_numbers_name_classes_where_outputs_score_them(
    make, values: list[float], names: tuple[str, ...], is_class: bool
) -> None:
    table = make.table({"y": values})

    scores = resolve(Comparison(), table, ("y",), outputs_of(names, **CLASSES), "p")
    numbers = resolve(Comparison(), table, ("y",), outputs_of(names), "p")
    asked = resolve(
        Comparison(one_hot_target=False), table, ("y",), outputs_of(names, **CLASSES), "p"
    )

    assert scores.one_hot_target is is_class
    assert numbers.one_hot_target is False
    assert asked.one_hot_target is False


def test_a_number_that_is_no_class_is_not_compared_with_each_score(make) -> None:
    """Unless that is asked for, as hstats does it."""
    outputs = outputs_of(("0", "1"), **CLASSES)

    error = refusal(make, ("0", "1"), {"y": [0.5, 1]}, outputs=outputs)
    asked = actual(make, columns={"y": [0.5, 1]}, outputs=outputs, one_hot_target=False)

    assert "set one_hot_target to false to compare numbers" in error.message
    assert asked == [[0.5, 0.5], [1, 1]]


def test_class_labels_say_that_numbers_name_classes(make) -> None:
    outputs = outputs_of(("u", "v", "w"), class_labels=("2", "0", "1"))

    assert actual(make, outputs=outputs) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"one_hot_target": False}, "p.one_hot_target"),
        ({"target_columns": ("y", "z")}, "p.target_columns"),
    ],
)
def test_class_labels_that_something_else_contradicts_are_refused(make, given, field: str) -> None:
    outputs = outputs_of(("u", "v", "w"), class_labels=("2", "0", "1"))

    error = refusal(make, outputs=outputs, **given)

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, field)
    assert "leave one of them out" in error.message
