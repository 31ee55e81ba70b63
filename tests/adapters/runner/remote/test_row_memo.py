"""Memo of rows: equal rows have one answer, other rows never have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnxplain_server.adapters.runner.remote.row_memo import RowMemo, distinct_rows

VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e300, 5e-324, float("nan"), float("inf")])


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=VALUES))
def test_rows_have_one_key_exactly_where_their_bits_are_equal(rows: Any) -> None:
    keys = RowMemo(1).keys({"x": rows})

    for i, row in enumerate(rows):
        same = [row.tobytes() == other.tobytes() for other in rows]
        assert (keys == keys[i]).all(axis=1).tolist() == same


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, np.bool_, np.object_]
)
def test_inputs_of_any_type_have_keys(dtype: Any) -> None:
    column = np.array([[0], [1], [1]]).astype(str if dtype is np.object_ else dtype).astype(dtype)
    other = np.arange(3.0)[:, None] // 2

    keys = RowMemo(1).keys({"a": column, "b": other})

    assert len(np.unique(keys, axis=0)) == 3
    assert len(np.unique(RowMemo(1).keys({"a": column}), axis=0)) == 2


def test_a_kept_row_is_found_again_with_its_own_answer() -> None:
    memo, random = RowMemo(2), np.random.default_rng(0)
    rows = random.integers(0, 50, (30_000, 3)).astype(float)
    answers = np.stack([rows.sum(axis=1), rows.prod(axis=1)], axis=1)
    keys = memo.keys({"x": rows})
    memo.keep(keys, answers)

    into = np.zeros_like(answers)
    known = memo.find(keys, into)

    assert known.mean() > 0.999  # both slots of few rows are taken
    np.testing.assert_array_equal(into[known], answers[known])
    unseen = memo.find(memo.keys({"x": rows + 0.5}), into)
    assert not unseen.any()


def test_a_full_memo_keeps_its_rows_and_takes_no_more() -> None:
    memo, width = RowMemo(10_000), 10_000
    rows = np.arange(4_000.0)[:, None]
    keys, answers = memo.keys({"x": rows}), np.zeros((4_000, width))
    memo.keep(keys[:2_000], answers[:2_000])
    memo.keep(keys[2_000:], answers[2_000:])

    known = memo.find(keys, np.empty((4_000, width)))

    assert 0 < known[:2_000].sum() <= 512
    assert not known[2_000:].any()


def test_distinct_rows_are_told_with_the_place_of_each() -> None:
    keys = np.array([[1, 2], [3, 4], [1, 2], [1, 5]], np.uint64)

    first, inverse = distinct_rows(keys)

    assert first is not None
    np.testing.assert_array_equal(keys[first][inverse], keys)
    assert len(first) == 3
    assert distinct_rows(keys[:2]) == (None, None)
