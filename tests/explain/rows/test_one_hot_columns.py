"""One-hot columns: which are recognized, and what the warning suggests."""

import json

import numpy as np
import pytest
from onnxplain_server.explain.rows.one_hot_columns import one_hot_groups, one_hot_notes

KIND = np.arange(30) % 3


def hot(*names: str, codes=KIND) -> dict[str, np.ndarray]:
    return {name: (codes == k) * 1.0 for k, name in enumerate(names)}


def groups(**columns: np.ndarray) -> list[tuple[str, ...]]:
    return one_hot_groups(list(columns), list(columns.values()))


def test_columns_with_one_1_in_each_row_are_one_category() -> None:
    table = hot("kind_red", "kind_blue", "kind_green") | {"size": KIND * 1.0, "flag": KIND > 0}

    assert groups(**table) == [("kind_red", "kind_blue", "kind_green")]


def test_a_category_of_no_row_is_one_of_them_and_another_prefix_is_not() -> None:
    table = hot("a_b=x", "a_b=y", "a_b=z") | {"a_b=never": np.zeros(30), "a_c=x": np.ones(30)}

    assert groups(**table) == [("a_b=x", "a_b=y", "a_b=z", "a_b=never")]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(hot("kind_red", "kind_blue"), id="rows without a 1"),
        pytest.param(hot("red", "blue", "green"), id="names that do not begin alike"),
        pytest.param(
            {"x_1": (KIND > 0) * 1.0, "x_2": (KIND < 2) * 1.0}, id="rows with more than one 1"
        ),
        pytest.param({"x_1": KIND / 2, "x_2": 1 - KIND / 2}, id="other numbers"),
        pytest.param(
            {"x_1": np.array(["1", "0"] * 15, object), "x_2": np.array(["0", "1"] * 15, object)},
            id="text",
        ),
        pytest.param({name: c[:9] for name, c in hot("x_1", "x_2", "x_3").items()}, id="few rows"),
        pytest.param({}, id="no column"),
    ],
)
def test_other_columns_are_no_category(table) -> None:
    assert groups(**table) == []


def test_the_warning_can_be_pasted_and_names_the_methods_that_count_singly() -> None:
    table = hot("kind_red", "kind_blue", "kind_green") | hot("of_a", "of_b", codes=KIND > 0)
    singles = {"interactions": list(table), "firm": ["kind_red", "of_a", "of_b"]}
    singles["attributions"] = ["of_a"]

    (note,) = one_hot_notes(singles, list(table), list(table.values()))

    assert note.suggested_groups == (("kind_red", "kind_blue", "kind_green"), ("of_a", "of_b"))
    pasted = json.loads(note.message.partition('"groups": ')[2].partition(" (in")[0])
    assert [tuple(group["names"]) for group in pasted] == list(note.suggested_groups)
    assert "interactions and firm count" in note.message
    assert "attributions" not in note.message
    assert not one_hot_notes({"firm": ["kind_red"]}, list(table), list(table.values()))
    assert not one_hot_notes({}, list(table), list(table.values()))
