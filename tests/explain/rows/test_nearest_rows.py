"""Gower's distance: worked by hand, by plain loops over its definition, and its laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnxplain_server.explain.rows.nearest_rows import distances, nearest


def text(*values: str) -> np.ndarray:
    return np.array(values, dtype=object)


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def by_definition(columns, row):
    """Gower (1971), one pair of values at a time."""
    found = []
    for i in range(len(columns[0])):
        parts = []
        for column, (value,) in zip(columns, row, strict=True):
            other = column[i]
            if isinstance(value, str):
                parts.append(float(other != value))
                continue
            finite = [v for v in column if math.isfinite(v)]
            width = max(finite) - min(finite)
            if other == value or (math.isnan(other) and math.isnan(value)):
                parts.append(0.0)
            elif width == 0 or not (math.isfinite(other) and math.isfinite(value)):
                parts.append(1.0)
            else:
                parts.append(min(1.0, abs(other - value) / width))
        found.append(sum(parts) / len(parts))
    return found


def test_a_case_worked_by_hand() -> None:
    # Ages span 40 years; of two columns, each counts half.
    ages, cities = numbers(20, 40, 60), text("Bern", "Basel", "")

    found = distances([ages, cities], [numbers(30), text("Basel")])

    assert found == pytest.approx([(10 / 40 + 1) / 2, (10 / 40 + 0) / 2, (30 / 40 + 1) / 2])


def test_a_missing_value_equals_a_missing_one_only() -> None:
    found = distances([numbers(math.nan, 1, 3)], [numbers(math.nan)])

    assert found.tolist() == [0, 1, 1]
    assert distances([numbers(math.nan, 1, 3)], [numbers(1)]).tolist() == [1, 0, 1]
    assert distances([text("", "x")], [text("")]).tolist() == [0, 1]


def test_in_a_column_without_range_a_number_is_equal_or_differs_by_1() -> None:
    assert distances([numbers(5, 5, math.nan)], [numbers(5)]).tolist() == [0, 0, 1]
    assert distances([numbers(5, 5, math.nan)], [numbers(5.5)]).tolist() == [1, 1, 1]


def test_a_value_beyond_the_range_differs_by_1_at_most() -> None:
    assert distances([numbers(0, 10)], [numbers(15)]).tolist() == [1, 0.5]


@pytest.mark.parametrize("seed", range(5))
def test_distances_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(size=200),
        rng.integers(0, 4, 200).astype(np.float64),
        np.where(rng.random(200) < 0.2, np.nan, rng.random(200)),
        np.where(rng.random(200) < 0.1, np.inf, rng.random(200)),
        rng.choice(np.array(["a", "b", ""], dtype=object), 200),
    ]
    row = [numbers(rng.normal()), numbers(2), numbers(0.5), numbers(0.1), text("b")]

    assert distances(columns, row) == pytest.approx(by_definition(columns, row))


def test_a_row_of_the_table_has_the_distance_0_to_itself() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=50), rng.choice(np.array(["a", "b"], dtype=object), 50)]

    for i in range(50):
        assert distances(columns, [c[i : i + 1] for c in columns])[i] == 0


@pytest.mark.parametrize("factor", [1e-300, 0.37, -12.5, 1e300])
def test_scaling_and_moving_a_column_changes_no_distance(factor: float) -> None:
    rng = np.random.default_rng(1)
    column, value = rng.normal(size=100), numbers(0.3)

    expected = distances([column], [value])

    assert distances([factor * column], [factor * value]) == pytest.approx(expected)
    assert distances([column + 8], [value + 8]) == pytest.approx(expected)


def test_the_largest_numbers_have_distances_too() -> None:
    most = np.finfo(np.float64).max

    assert distances([numbers(-most, 0, most)], [numbers(most)]) == pytest.approx([1, 0.5, 0])


def test_nearest_rows_come_in_the_order_of_distance_and_then_of_the_table() -> None:
    distance = np.array([0.5, 0.1, 0.5, 0.0, 0.5, 0.1])

    assert nearest(distance, 4).tolist() == [3, 1, 5, 0]
    assert nearest(distance, 99).tolist() == [3, 1, 5, 0, 2, 4]
    assert nearest(distance, 0).tolist() == []


@pytest.mark.parametrize("count", [1, 7, 100])
def test_nearest_rows_are_those_of_a_full_sort(count: int) -> None:
    distance = np.random.default_rng(2).integers(0, 20, 300) / 20

    assert nearest(distance, count).tolist() == sorted(range(300), key=distance.item)[:count]
