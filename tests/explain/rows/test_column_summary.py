"""Summaries of columns: counts worked by hand, and compared with Python's own."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from onnxplain_server.explain.rows.column_summary import summarize


def test_numbers_are_counted_by_hand() -> None:
    found = summarize("x", np.array([3, 1, math.nan, 3, 2.5, -0.0, 0.0]))

    assert (found.type, found.missing_count, found.distinct_count) == ("NUMBER", 1, 4)
    assert (found.minimum, found.maximum) == (0, 3)
    assert found.mean == pytest.approx(9.5 / 6)
    counted = [(each.value, each.row_count) for each in found.frequent_values]
    assert counted == [("0", 2), ("3", 2), ("1", 1), ("2.5", 1)]


def test_text_is_counted_by_hand() -> None:
    found = summarize("city", np.array(["b", "", "a", "b", "Ä"], dtype=object))

    assert (found.type, found.missing_count, found.distinct_count) == ("TEXT", 1, 3)
    assert (found.minimum, found.maximum, found.mean) == (None, None, None)
    counted = [(each.value, each.row_count) for each in found.frequent_values]
    assert counted == [("b", 2), ("a", 1), ("Ä", 1)]


def test_a_column_without_values_has_no_least_value() -> None:
    found = summarize("x", np.array([math.nan, math.nan]))

    assert (found.missing_count, found.distinct_count, found.frequent_values) == (2, 0, ())
    assert (found.minimum, found.maximum, found.mean) == (None, None, None)


def test_counts_are_those_of_python() -> None:
    rng = np.random.default_rng(0)
    words = rng.choice([f"w{i:02}" for i in range(60)], 3_000).astype(object)
    counts = Counter(words.tolist())

    found = summarize("word", words)

    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:20]
    assert [(each.value, each.row_count) for each in found.frequent_values] == expected
    assert found.distinct_count == len(counts)


@pytest.mark.parametrize(("distinct", "listed"), [(20, 20), (21, 0)])
def test_numbers_are_counted_one_by_one_up_to_20_of_them(distinct: int, listed: int) -> None:
    found = summarize("x", np.arange(distinct, dtype=np.float64))

    assert len(found.frequent_values) == listed


def test_a_mean_whose_sum_overflows_is_found() -> None:
    assert summarize("x", np.array([1e308, 1.2e308])).mean == pytest.approx(1.1e308)


def test_single_precision_is_summed_in_double() -> None:
    values = np.full(100_000, 0.1, dtype=np.float32)

    assert summarize("x", values).mean == pytest.approx(float(np.float32(0.1)), rel=1e-12)
