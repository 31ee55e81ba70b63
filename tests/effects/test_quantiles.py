"""Quantiles of types 1 and 7, and bins between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.effects.quantiles import even_histogram, inverse_ecdf, to_bin_midpoints

NAN = float("nan")
SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).map(np.array)
COMMON = st.lists(st.integers(-9, 9), min_size=1).map(lambda values: np.array(values) // 2 * 2.0)


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(0.0, 1), (0.24, 1), (0.25, 1), (0.26, 3), (0.5, 3), (0.51, 4), (0.75, 4), (0.76, 9), (1, 9)],
)
def test_the_inverse_of_the_distribution_steps_just_above_each_share(
    probability: float, expected: float
) -> None:
    assert inverse_ecdf(np.array([9.0, 1, NAN, 4, 3]), np.array([probability])) == [expected]


def test_a_share_that_is_a_rank_but_for_rounding_is_that_rank() -> None:
    """0.07 · 100 is 7.000000000000001 in binary, yet the 7th of 100 values is meant."""
    assert 0.07 * 100 > 7

    assert inverse_ecdf(np.arange(1.0, 101), np.array([0.01, 0.07, 0.29, 0.99])).tolist() == [
        1,
        7,
        29,
        99,
    ]


@given(SAMPLES, st.integers(1, 12))
def test_the_inverse_of_the_distribution_agrees_with_numpys(
    values: npt.NDArray[np.float64], steps: int
) -> None:
    """At shares that are no multiple of 1/n, where rounding decides nothing."""
    shares = (np.arange(steps) + 0.5 / np.pi) / steps
    expected = np.quantile(values, shares, method="inverted_cdf")

    assert inverse_ecdf(values, shares).tolist() == expected.tolist()


def test_bins_hold_their_lower_edge_and_the_last_one_both() -> None:
    """Type 7 quartiles of 0 to 8 are 0, 2, 4, 6, 8."""
    assert to_bin_midpoints(np.arange(9.0), 4).tolist() == [1, 1, 3, 3, 5, 5, 7, 7, 7]


def test_edges_lie_between_values_by_straight_lines() -> None:
    """Type 7 thirds of 0, 1, 2, 10, 20: 4/3 and 14/3, by hand."""
    binned = to_bin_midpoints(np.array([0.0, 1, 2, 10, 20]), 3)

    low, middle, high = 4 / 6, (4 / 3 + 2 + 16 / 3) / 2, (2 + 16 / 3 + 20) / 2
    np.testing.assert_allclose(binned, [low, low, middle, high, high])


def test_missing_values_stay_missing_and_move_no_edge() -> None:
    without = to_bin_midpoints(np.arange(9.0), 4)
    binned = to_bin_midpoints(np.array([NAN, *range(9), NAN]), 4)

    assert np.isnan(binned[[0, -1]]).all()
    assert binned[1:-1].tolist() == without.tolist()


@pytest.mark.parametrize(
    ("values", "bin_count"),
    [([1.0, 2, 3, 3], 3), ([1.0, 2, NAN, NAN], 3), ([5.0, 5, 5, NAN], 2)],
)
def test_values_with_few_distinct_ones_are_left_alone(values: list[float], bin_count: int) -> None:
    sample = np.array(values)

    assert to_bin_midpoints(sample, bin_count).tobytes() == sample.tobytes()


def test_missing_counts_as_a_distinct_value() -> None:
    binned = to_bin_midpoints(np.array([1.0, 2, 3, NAN]), 3)

    assert binned[:3].tolist() != [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "bin_count", "expected"),
    [
        # Thirds are 0, 0, 1/3, 3. The halves of 1, 2, 3 are 1, 2, 3.
        pytest.param([0.0] * 6 + [1, 2, 3], 3, [0] * 6 + [1.5, 2.5, 2.5], id="below"),
        pytest.param([-1.0, 1, 3] + [9] * 6, 3, [0, 2, 2] + [9] * 6, id="above"),
        # One bin for the two below, two for the four above.
        pytest.param(
            [-4.0, -2] + [0] * 10 + [1, 2, 3, 9], 4, [-3, -3] + [0] * 10 + [1.75, 1.75, 5.75, 5.75]
        ),
        # Among the others, most have one value, too.
        pytest.param([0.0] * 90 + [5] * 8 + [6, 8], 3, [0] * 90 + [5] * 8 + [7, 7]),
    ],
)
def test_a_value_at_which_edges_coincide_is_left_alone_and_others_share_the_other_bins(
    values: list[float], bin_count: int, expected: list[float]
) -> None:
    assert to_bin_midpoints(np.array(values), bin_count).tolist() == expected


@pytest.mark.parametrize(
    "values", [np.arange(-15.0, 16.0), np.repeat([0.0, 9, 11, 13, 15], [9, 1, 1, 1, 1])]
)
def test_bins_follow_the_scale_up_to_the_end_of_float64(values: npt.NDArray[np.float64]) -> None:
    """The sum of the two largest edges exceeds it."""
    scale = 2.0**1020

    assert (
        to_bin_midpoints(scale * values, 4).tolist()
        == (scale * to_bin_midpoints(values, 4)).tolist()
    )


def test_infinite_values_stay_infinite_and_move_no_edge() -> None:
    binned = to_bin_midpoints(np.array([-np.inf, *range(9), np.inf]), 4)

    assert binned.tolist() == [-np.inf, *to_bin_midpoints(np.arange(9.0), 4).tolist(), np.inf]


@pytest.mark.parametrize(
    "values", [[-1.7e308, 0, 1.7e308], [1.7e308], [0.0, 5e-324], [1.0, 1 + 2**-52], [3.0, 3.0]]
)
def test_histograms_count_each_number_between_borders_that_rise(values: list[float]) -> None:
    counts, borders = even_histogram(np.array(values), 8)

    assert counts.sum() == len(values)
    assert (borders[1:] > borders[:-1]).all()
    assert np.isfinite(borders).all()


@given(SAMPLES, st.integers(2, 10))
def test_binning_agrees_with_numpys_quantiles_and_histogram_bins(
    values: npt.NDArray[np.float64], bin_count: int
) -> None:
    edges = np.quantile(values, np.linspace(0, 1, bin_count + 1), method="linear")
    binned = to_bin_midpoints(values, bin_count)

    assert len(np.unique(binned)) <= bin_count
    if len(np.unique(values)) > bin_count and len(np.unique(edges)) == len(edges):
        expected, _ = np.histogram(values, edges)
        counted, _ = np.histogram(binned, edges)
        assert counted.tolist() == expected.tolist()


@given(st.one_of(SAMPLES, COMMON), st.integers(2, 10))
def test_binning_keeps_the_order_of_values(values: npt.NDArray[np.float64], bin_count: int) -> None:
    assert len(np.unique(to_bin_midpoints(values, bin_count))) <= bin_count
    binned = to_bin_midpoints(np.sort(values), bin_count)

    assert (np.diff(binned) >= 0).all()
