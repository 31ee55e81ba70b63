"""Groups of rows by the values of a column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.groups import interval_names, split

NAN = float("nan")


def groups(column, group_count: int = 4) -> dict[str, list[int]]:
    found = split(column, group_count)
    assert len({group.label for group in found}) == len(found)
    return {group.label: group.rows.tolist() for group in found}


def test_text_groups_by_its_values_in_ascending_order_missing_last() -> None:
    found = groups(np.array(["b", "a", "", "b", ""], object))

    assert list(found.items()) == [("a", [1]), ("b", [0, 3]), ("missing", [2, 4])]


def test_text_is_never_cut_however_many_values_it_has() -> None:
    names = np.array([f"n{i}" for i in range(10)], object)

    assert len(groups(names, 2)) == 10


def test_the_word_missing_is_no_missing_value() -> None:
    found = split(np.array(["missing", ""], object), 4)

    assert [group.rows.tolist() for group in found] == [[0], [1]]
    assert [group.label for group in found] == ["missing", "missing (no value)"]
    odd = split(np.array(["missing", "missing (no value)", ""], object), 4)
    assert odd[-1].label == "missing (no value) (no value)"


def test_zero_has_no_sign_in_a_label() -> None:
    """Sums of values may end at -0 in one engine and at 0 in another."""
    assert interval_names(np.array([-0.67, -0.0, 1]), np.zeros(3, bool)) == ["[-0.67,0]", "(0,1]"]
    assert list(groups(np.array([-0.0, 1, 1]))) == ["0", "1"]


def test_few_numbers_group_by_themselves() -> None:
    found = groups(np.array([2.0, NAN, 0.1, 2, 1e6]))

    assert list(found.items()) == [
        ("0.1", [2]),
        ("2", [0, 3]),
        ("1000000", [4]),
        ("missing", [1]),
    ]


def test_many_numbers_are_cut_at_their_quantiles_and_intervals_hold_their_upper_end() -> None:
    """Quartiles of type 1 of 1 to 8 are 1, 2, 4, 6, 8."""
    found = groups(np.array([8.0, 1, 2, 3, 4, 5, 6, 7]))

    assert list(found.items()) == [
        ("[1,2]", [1, 2]),
        ("(2,4]", [3, 4]),
        ("(4,6]", [5, 6]),
        ("(6,8]", [0, 7]),
    ]


def test_missing_numbers_are_a_group_of_their_own_and_count_as_a_value() -> None:
    found = groups(np.array([4.0, NAN, 1, 2, 3, NAN]))

    # Five distinct values with the missing one, hence cut; quartiles 1, 1, 2, 3, 4.
    assert list(found.items()) == [
        ("1", [2]),
        ("(1,2]", [3]),
        ("(2,3]", [4]),
        ("(3,4]", [0]),
        ("missing", [1, 5]),
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            [0.0] * 6 + [1, 2, 2, 3, 4, 5],
            {"0": [0, 1, 2, 3, 4, 5], "(0,2]": [6, 7, 8], "(2,5]": [9, 10, 11]},
            id="quartiles 0, 0, 0, 2, 5",
        ),
        pytest.param(
            [1.0, 2, 3, 4, 5, 7, 7, 7, 7, 7, 8, 9],
            {"[1,3]": [0, 1, 2], "(3,7)": [3, 4], "7": [5, 6, 7, 8, 9], "(7,9]": [10, 11]},
            id="quartiles 1, 3, 7, 7, 9",
        ),
        pytest.param(
            [1.0, 2, 3, 4, 5, 9, 9, 9, 9, 9, 9, 9],
            {"[1,3]": [0, 1, 2], "(3,9)": [3, 4], "9": [*range(5, 12)]},
            id="quartiles 1, 3, 9, 9, 9",
        ),
        pytest.param(
            [0.0] * 995 + [1, 2, 3, 4, 7],
            {"0": [*range(995)], "(0,7]": [*range(995, 1000)]},
            id="all but the last quartile 0",
        ),
    ],
)
def test_a_value_at_which_quantiles_coincide_is_a_group_of_its_own(values, expected) -> None:
    assert groups(np.array(values)) == expected


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 6))
def test_a_value_of_two_groups_rows_is_in_no_other_group(
    values: list[int], group_count: int
) -> None:
    column = np.array(values, float)
    found = split(column, group_count)
    levels, counts = np.unique(column, return_counts=True)

    for value in levels[counts * group_count > 2 * len(column)]:
        assert [len(set(column[g.rows])) for g in found if value in column[g.rows]] == [1]


def test_one_group_holds_all_numbers() -> None:
    assert groups(np.array([3.0, 1, 2]), 1) == {"[1,3]": [0, 1, 2]}


def test_a_column_without_a_value_is_one_group() -> None:
    assert groups(np.array([NAN, NAN])) == {"missing": [0, 1]}


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([0, 1.5, 3], ["[0,1.5]", "(1.5,3]"]),
        ([-0.00123456, 0.00123456], ["[-0.00123,0.00123]"]),
        ([1234567.0, 2345678.0], ["[1.23e+06,2.35e+06]"]),
        ([100.01, 100.02, 200], ["[100.01,100.02]", "(100.02,200]"]),
    ],
)
def test_intervals_are_named_as_r_names_them(edges: list[float], names: list[str]) -> None:
    """With three digits, or as many more as tell the edges apart: `cut(dig.lab = 3)`."""
    assert interval_names(np.array(edges), np.zeros(len(edges), bool)) == names


@given(
    st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(NAN)), min_size=1, max_size=30),
    st.integers(1, 6),
)
def test_every_row_is_in_exactly_one_group(values: list[float], group_count: int) -> None:
    found = split(np.array(values), group_count)

    assert sorted(np.concatenate([group.rows for group in found])) == list(range(len(values)))
    assert len(found) <= group_count + 1
    # Missing values are sorted behind numbers.
    lowest = [np.array(values)[group.rows].min() for group in found]
    assert np.array_equal(lowest, np.sort(lowest), equal_nan=True)
