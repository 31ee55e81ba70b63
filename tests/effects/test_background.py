"""Background sample: duplicates merge, and rows of weight zero are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnxplain_server.effects.background import combine, distinct, fingerprint

NAN = float("nan")


def background(make, columns: dict[str, list[Any]], weights=None, **how):
    return make.engine(lambda *_: 0, columns, weights, **how).background


def test_duplicate_rows_merge_and_their_weights_add_up(make) -> None:
    columns: dict[str, list[Any]] = {"x": [2.0, NAN, 2, NAN, 2], "t": ["b", "", "b", "", "a"]}

    merged = background(make, columns, [1, 2, 4, 8, 16])

    assert merged.weights.tolist() == [5, 10, 16]
    assert merged.source.tolist() == [0, 1, 4]
    assert merged.columns[1].tolist() == ["b", "", "a"]


def test_rows_of_weight_zero_are_left_out(make) -> None:
    merged = background(make, {"x": [1.0, 2, 3]}, [0, 1, 2])

    assert merged.source.tolist() == [1, 2]
    assert merged.features.columns[0].tolist() == [2, 3]


def test_rows_that_the_model_cannot_tell_apart_are_equal(make) -> None:
    columns = {"x": [0.1, 0.1 + 1e-12, 0.2]}

    assert len(background(make, columns, types=["double"])) == 3
    assert background(make, columns, types=["float"]).weights.tolist() == [2, 1]


def test_levels_ascend_and_codes_point_to_them(make) -> None:
    merged = background(make, {"x": [3.0, NAN, -1, 3], "t": ["b", "a", "", "c"]})

    assert merged.levels[0].tolist()[:2] == [-1, 3]
    assert [len(levels) for levels in merged.levels] == [3, 4]
    assert [codes.tolist() for codes in merged.codes] == [[1, 2, 0, 1], [2, 1, 0, 3]]


def test_rows_that_differ_elsewhere_are_not_merged(make) -> None:
    original = background(make, {"x": [1.0, 2, 3, 4], "y": [0.0, 1, 0, 1], "z": [5.0, 5, 5, 6]})

    merged, inverse = original.merge_ignoring([0])
    same, unmoved = original.merge_ignoring([1])

    # Apart from x, rows are (0, 5), (1, 5), (0, 5), (1, 6).
    assert inverse.tolist() == [0, 1, 0, 2]
    assert merged.weights.tolist() == [2, 1, 1]
    assert same is original
    assert unmoved.tolist() == [0, 1, 2, 3]


def test_ignoring_all_features_merges_all_rows(make) -> None:
    merged, inverse = background(make, {"x": [1.0, 2], "y": [3.0, 4]}, [1, 3]).merge_ignoring(
        [0, 1]
    )

    assert merged.weights.tolist() == [4]
    assert inverse.tolist() == [0, 0]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=20
    )
)
def test_combinations_are_numbered_in_order_the_first_code_counting_most(
    rows: list[tuple[int, int, int]],
) -> None:
    first, inverse = combine([np.array(code) for code in zip(*rows, strict=True)])

    expected = sorted(set(rows))
    assert [rows[position] for position in first] == expected
    assert [expected[number] for number in inverse] == rows


def test_many_codes_of_many_values_do_not_overflow() -> None:
    codes = [np.array([0, 2**40, 2**40 + 1])] * 4

    assert combine(codes)[1].tolist() == [0, 1, 2]


@given(st.lists(st.sampled_from([0.0, -1.5, 2.0, NAN]), min_size=1))
def test_distinct_values_give_back_every_value(values: list[float]) -> None:
    levels, codes = distinct(np.array(values))

    np.testing.assert_array_equal(levels[codes], values)
    assert len(levels) == len({str(value) for value in values})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array(["ab", "c"], object), np.array(["a", "bc"], object)),
        (np.array(["1.0"], object), np.array([1.0])),
        (np.array([1.0]), np.array([1], np.int64)),
        (np.array([1.0]), np.array([1.0], np.float32)),
        (np.array([1.0, 2.0]), np.array([2.0, 1.0])),
    ],
)
def test_different_values_have_different_fingerprints(one, other) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_equal_values_have_equal_fingerprints_wherever_they_lie() -> None:
    spread = np.arange(8.0)[::2]

    assert fingerprint(spread) == fingerprint(spread.copy())


OTHER_NAN = float(np.uint64(0x7FF8000000000001).view(np.float64))
"""NaN with other bits than `NAN`."""


@pytest.mark.parametrize("type_", ["float", "double"])
@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -1.0, NAN, OTHER_NAN])] * 2),
        min_size=1,
        max_size=12,
    )
)
@example(rows=[(0.0, 1.0), (-0.0, 1.0)])
@example(rows=[(NAN, 1.0), (OTHER_NAN, 1.0)])
def test_numbers_that_compare_equal_are_merged_whatever_their_bits(
    make, type_: str, rows: list[tuple[float, float]]
) -> None:
    rows = [(5.0, 5.0), *rows]  # no column may be all missing
    columns = {"x": [x for x, _ in rows], "y": [y for _, y in rows]}

    merged = background(make, columns, range(1, len(rows) + 1), types=[type_, type_])

    weights: dict[tuple[str, ...], float] = {}
    for weight, row in enumerate(rows, 1):
        key = tuple(str(value + 0.0) for value in row)
        weights[key] = weights.get(key, 0) + weight
    assert merged.weights.tolist() == list(weights.values())
