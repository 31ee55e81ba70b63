"""Columns of a table, and case weights."""

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import LOSES_DIGITS, Table, listed, weights

TABLE = Table(
    {"x": np.array([1.0, 2.0, 3.0]), "s": np.array(["a", "b", ""], dtype=object)},
    3,
    {"blob": "binary", "id": f"int64{LOSES_DIGITS}"},
)


def test_a_column_is_found_by_its_name() -> None:
    assert TABLE.column("x").tolist() == [1, 2, 3]
    assert TABLE.names == ("x", "s")


def test_rows_of_a_part_are_numbered_as_in_the_table_that_was_sent() -> None:
    part = TABLE.take(np.array([0, 2])).take(np.array([1]))

    assert part.as_sent(np.array([0])).tolist() == [2]


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("y", Reason.MISSING_COLUMN, ["'y'", "'x', 's'"]),
        ("blob", Reason.WRONG_TYPE, ["'blob'", "binary", "numbers or text"]),
        ("id", Reason.WRONG_TYPE, ["'id'", "give it as floating-point numbers", "or as text if"]),
    ],
)
def test_a_column_that_cannot_be_used_is_named(name: str, reason: Reason, words: list[str]) -> None:
    with pytest.raises(ExplainError) as refusal:
        TABLE.column(name, "target_column")

    assert (refusal.value.reason, refusal.value.field) == (reason, "target_column")
    assert all(word in refusal.value.message for word in words)


def test_rows_are_taken_in_the_order_asked_for() -> None:
    taken = TABLE.take(np.array([2, 0]))

    assert taken.n_rows == 2
    assert taken.columns["x"].tolist() == [3, 1]
    assert taken.columns["s"].tolist() == ["", "a"]
    assert taken.unreadable == TABLE.unreadable


def test_long_lists_of_names_are_cut() -> None:
    assert listed(("a", "b")) == "'a', 'b'"
    assert listed(tuple("abc"), limit=2) == "'a', 'b' and 1 more"


def weight_table(*values: float) -> Table:
    return Table({"w": np.array(values)}, len(values))


def test_without_a_weight_column_all_rows_weigh_the_same() -> None:
    assert weights(TABLE, "").tolist() == [1, 1, 1]


def test_weights_may_be_zero() -> None:
    assert weights(weight_table(0, 2.5, 0), "w").tolist() == [0, 2.5, 0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, -0.5], ["'w'", "-0.5", "row 1", "not negative"]),
        ([np.nan, 1], ["nan", "row 0", "finite"]),
        ([1, 1, np.inf], ["inf", "row 2", "finite"]),
        ([0, 0], ["0 in every row"]),
    ],
)
def test_weights_that_cannot_be_averaged_with_are_refused(
    values: list[float], words: list[str]
) -> None:
    with pytest.raises(ExplainError) as refusal:
        weights(weight_table(*values), "w")

    assert refusal.value.reason is Reason.INVALID_WEIGHTS
    assert refusal.value.field == "weight_column"
    assert all(word in refusal.value.message for word in words)


@pytest.mark.parametrize(
    ("name", "reason"), [("s", Reason.WRONG_TYPE), ("z", Reason.MISSING_COLUMN)]
)
def test_weights_must_be_a_column_of_numbers(name: str, reason: Reason) -> None:
    with pytest.raises(ExplainError) as refusal:
        weights(TABLE, name)

    assert (refusal.value.reason, refusal.value.field) == (reason, "weight_column")
    assert repr(name) in refusal.value.message


@pytest.mark.parametrize("text", ["period", "`period`", " period "])
def test_a_name_in_an_expression_is_refused_by_its_type_and_not_as_missing(text: str) -> None:
    table = Table({"a": np.ones(2)}, 2, {"period": "month"})

    with pytest.raises(ExplainError, match="has values of type month") as refused:
        table.check_readable(text, "features")

    assert refused.value.reason is Reason.WRONG_TYPE
    assert table.check_readable("a + 1", "") == "a + 1"
