"""Evaluation grids of curves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.effects.grids import GridLayout, cross, make_axis, make_step_grid

NAN = float("nan")
UNIFORM = GridLayout(
    size=5, by_quantiles=False, trim_lower=0.01, trim_upper=0.99, include_missing=False
)
QUANTILE = replace(UNIFORM, by_quantiles=True)
DENSE = np.array([*range(1, 100), 1000.0])


def axis(column, layout: GridLayout, *, whole: bool = False) -> list[Any]:
    return list(make_axis(column, layout, is_integer=whole).tolist())


def test_equal_steps_run_between_the_trimming_quantiles() -> None:
    assert axis(DENSE, UNIFORM) == [1, 25.5, 50, 74.5, 99]


def test_without_trimming_equal_steps_run_over_the_range() -> None:
    wide = replace(UNIFORM, trim_lower=0, trim_upper=1)

    assert axis(DENSE, wide) == [1, 250.75, 500.5, 750.25, 1000]


def test_equal_steps_of_rank_are_values_of_the_table() -> None:
    """Shares 0.01, 0.255, 0.5, 0.745, 0.99 of 100 values."""
    assert axis(DENSE, QUANTILE) == [1, 26, 50, 75, 99]


def test_quantiles_that_coincide_are_one_point() -> None:
    assert axis(np.array([0.0] * 90 + [*range(1, 11)]), QUANTILE) == [0, 9]


def test_an_even_grid_between_equal_quantiles_reaches_the_other_values() -> None:
    assert axis(np.array([0.0] * 994 + [1.0, 2, 3, 4, 5, -1]), UNIFORM) == [-1, 0, 1, 3, 5]


@pytest.mark.parametrize("layout", [UNIFORM, QUANTILE])
def test_few_values_are_the_grid_themselves(layout: GridLayout) -> None:
    assert axis(np.array([3.0, 1, 3, 100, NAN, 2]), layout) == [1, 2, 3, 100]


def test_missing_counts_as_a_value_when_they_are_counted() -> None:
    assert axis(np.array([1.0, 2, 3, 4, 7]), UNIFORM) == [1, 2, 3, 4, 7]
    assert axis(np.array([1.0, 2, 3, 4, 7, NAN]), UNIFORM) == [1, 2.5, 4, 5.5, 7]


def test_a_missing_value_is_the_last_point_where_it_is_wanted() -> None:
    layout = replace(UNIFORM, include_missing=True)

    few = axis(np.array([2.0, NAN, 1, NAN]), layout)
    dense = axis(np.array([*DENSE, NAN]), layout)
    text = axis(np.array(["b", "", "a", ""], object), layout)

    assert few[:2] == [1, 2]
    assert dense[:5] == axis(np.array([*DENSE, NAN]), UNIFORM)
    assert [len(few), len(dense)] == [3, 6]
    assert np.isnan([few[-1], dense[-1]]).all()
    assert text == ["a", "b", ""]


def test_a_missing_value_that_the_table_does_not_have_is_no_point() -> None:
    layout = replace(UNIFORM, include_missing=True)

    assert axis(np.array([2.0, 1]), layout) == [1, 2]
    assert axis(np.array(["b", "a"], object), layout) == ["a", "b"]


def test_text_is_evaluated_at_all_its_values_however_many() -> None:
    names = [f"n{i}" for i in range(10)]

    assert axis(np.array([*reversed(names), ""], object), UNIFORM) == names


def test_integer_features_have_distinct_integer_points() -> None:
    values = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])

    assert axis(values, replace(UNIFORM, size=4)) == pytest.approx([0, 7 / 3, 14 / 3, 7])
    assert axis(values, replace(UNIFORM, size=4), whole=True) == [0, 2, 5, 7]
    mostly_zero = np.array([0.0] * 994 + [1.0, 2, 3, 4, 5, -1])
    assert axis(mostly_zero, UNIFORM, whole=True) == [-1, 0, 1, 3, 5]


def test_over_several_features_the_first_varies_fastest() -> None:
    first, second = np.array([1.0, 2, 3]), np.array(["a", "b"], object)

    points = cross([make_axis(column, replace(UNIFORM, size=9), 2) for column in (first, second)])

    assert [values.tolist() for values in points] == [
        [1, 2, 3, 1, 2, 3],
        ["a", "a", "a", "b", "b", "b"],
    ]


@pytest.mark.parametrize(
    ("n_features", "size", "each"), [(2, 49, 7), (2, 50, 8), (3, 27, 3), (3, 49, 4), (4, 16, 2)]
)
def test_over_several_features_each_has_the_root_of_the_points_rounded_up(
    n_features: int, size: int, each: int
) -> None:
    points = make_axis(DENSE, replace(UNIFORM, size=size), n_features)

    assert len(points) == len(np.unique(points)) == each


MOSTLY_ZERO = np.concatenate([np.zeros(996), [30.0, 500, 7_000, 90_000]])


@pytest.mark.parametrize("by_quantiles", [False, True])
def test_a_grid_over_a_column_that_is_mostly_one_value_reaches_the_others(by_quantiles) -> None:
    layout = replace(UNIFORM, size=3, by_quantiles=by_quantiles)

    assert make_axis(MOSTLY_ZERO, layout).tolist() == [0, 45_000, 90_000]
    steps = make_step_grid(MOSTLY_ZERO, np.array([10.0, 100]), layout)
    assert steps.tolist() == [0, 10, 100, 90_000]


def test_a_grid_has_no_point_twice_and_none_beyond_the_range_of_numbers() -> None:
    layout = replace(UNIFORM, trim_lower=0, trim_upper=1)
    close = 1 + np.arange(6) * np.finfo(float).eps

    assert len(set(make_axis(close, layout).tolist())) == len(make_axis(close, layout)) > 1
    far = make_axis(np.array([-1.6e308, -1, 0, 1, 2, 1.6e308]), layout)
    assert far.tolist() == pytest.approx([-1.6e308, -0.8e308, 0, 0.8e308, 1.6e308])
