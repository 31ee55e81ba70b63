"""Differences by replicates: laws, other programs, and a bootstrap that is written out here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.changes.correction import Correction, adjusted
from onnxplain_server.methods.changes.curve_differences import compare_curves
from onnxplain_server.methods.changes.differences import (
    ReplicatedSide,
    difference,
    intervals,
    p_values,
)
from scipy import stats

N, REPEATS = 300, 2_000
RANDOM = np.random.default_rng(1)
COUNTS = RANDOM.poisson(1.0, (REPEATS, N)).astype(np.float64)
SHARED = RANDOM.normal(size=(N, 1))
BEFORE = SHARED + 0.3 * RANDOM.normal(size=(N, 1))
AFTER = 0.04 + SHARED + 0.3 * RANDOM.normal(size=(N, 1))


def mean_of(rows, counts=COUNTS) -> ReplicatedSide:
    """The mean of rows, (n, n_points), with its replicates."""
    replicates = counts @ rows / counts.sum(axis=1, keepdims=True)
    return ReplicatedSide(rows.mean(axis=0)[:, None], replicates[:, :, None], len(rows))


def test_the_paired_error_is_that_of_the_differences_of_rows() -> None:
    """By the textbook: the standard error of a mean of n differences."""
    found = difference(mean_of(BEFORE), mean_of(AFTER), is_paired=True, is_square=False)

    expected = (AFTER - BEFORE).std(ddof=1) / np.sqrt(N)
    assert found.standard_errors[0, 0] == pytest.approx(expected, rel=0.05)


def test_the_error_of_independent_sides_is_the_root_of_the_sum_of_both_variances() -> None:
    """Though their replicates draw equally, as those of two tables with one seed do."""
    found = difference(mean_of(BEFORE), mean_of(AFTER), is_paired=False, is_square=False)

    expected = np.hypot(BEFORE.std(ddof=1), AFTER.std(ddof=1)) / np.sqrt(N)
    assert found.standard_errors[0, 0] == pytest.approx(expected, rel=0.05)


def test_p_value_and_interval_are_those_of_the_paired_t_test() -> None:
    found = difference(mean_of(BEFORE), mean_of(AFTER), is_paired=True, is_square=False)
    lower, upper = intervals(found, 0.9)

    expected = stats.ttest_rel(AFTER[:, 0], BEFORE[:, 0])
    ends = expected.confidence_interval(0.9)
    assert p_values(found)[0, 0] == pytest.approx(expected.pvalue, abs=0.02)
    assert [lower[0, 0], upper[0, 0]] == pytest.approx([ends.low, ends.high], abs=0.004)


@given(st.integers(0, 1000), st.floats(0.6, 0.99))
def test_an_interval_leaves_zero_out_where_the_p_value_says_so_and_only_there(seed, level) -> None:
    random = np.random.default_rng(seed)
    sides = [
        ReplicatedSide(np.zeros((5, 1)) + size, random.exponential(1, (60, 5, 1)), 300.0)
        for size in (0.0, random.normal(2))
    ]
    found = difference(*sides, is_paired=bool(seed % 2), is_square=bool(seed % 3))
    lower, upper = intervals(found, level)

    assert ((p_values(found) < 1 - level) == ((lower > 0) | (upper < 0))).all()


def test_the_bias_of_a_square_is_taken_off() -> None:
    """The square of a mean is too large by its variance, which 30 rows make larger than 300."""
    few = BEFORE[:30] - BEFORE[:30].mean()
    sides = [mean_of(rows, COUNTS[:, : len(rows)]) for rows in (AFTER, few)]
    squares = [
        ReplicatedSide(side.values**2, side.replicates**2, side.unit_count) for side in sides
    ]
    found = difference(*squares, is_paired=False, is_square=True)

    expected = few.var() / 30 - AFTER.var() / N
    assert found.biases[0, 0] == pytest.approx(expected, rel=0.2)
    assert found.corrected[0, 0] == pytest.approx(found.values[0, 0] - expected, abs=0.01)


numbers = st.floats(-1e3, 1e3, allow_nan=False)


@given(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=3, max_size=20))
def test_an_answer_does_not_differ_from_itself(rows) -> None:
    values = np.array(rows)[:, :, None]
    side = ReplicatedSide(values[0], values[1:], 50.0)
    found = difference(side, side, is_paired=True, is_square=True)

    assert not found.values.any()
    assert not found.standard_errors.any()
    assert (p_values(found) == 1).all()
    assert compare_curves(found, 0.9).p_values.tolist() == [1.0]


@given(st.booleans(), st.booleans(), st.integers(0, 1000))
def test_exchanged_sides_have_the_opposite_difference(is_paired, is_square, seed) -> None:
    random = np.random.default_rng(seed)
    sides = [
        ReplicatedSide(random.normal(size=(3, 2)), random.normal(size=(40, 3, 2)), 40.0)
        for _ in range(2)
    ]
    forth, back = (
        difference(*order, is_paired=is_paired, is_square=is_square)
        for order in (sides, sides[::-1])
    )

    assert forth.values == pytest.approx(-back.values)
    assert forth.biases == pytest.approx(-back.biases)
    assert forth.standard_errors == pytest.approx(back.standard_errors)
    assert p_values(forth) == pytest.approx(p_values(back))


def test_replicates_without_rows_are_left_out_of_both_sides() -> None:
    before, after = mean_of(BEFORE), mean_of(AFTER)
    holes = after.replicates.copy()
    holes[::2] = np.nan
    found = difference(
        before,
        ReplicatedSide(after.values, holes, after.unit_count),
        is_paired=True,
        is_square=False,
    )

    assert len(found.deviations) == REPEATS // 2
    assert np.isfinite(found.standard_errors).all()


def test_a_difference_that_no_replicate_varies_is_certain() -> None:
    still = ReplicatedSide(np.ones((1, 1)), np.ones((20, 1, 1)), 50.0)
    moved = ReplicatedSide(np.full((1, 1), 1.5), np.full((20, 1, 1), 1.5), 50.0)

    assert p_values(difference(still, moved, is_paired=True, is_square=False)) == [[0.0]]


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("is_paired", [True, False])
def test_a_curve_has_changed_where_its_band_leaves_out_zero_and_only_there(
    level, is_paired
) -> None:
    """By 60 curves, of which about half have moved."""
    outcomes = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        walks = [random.normal(size=(N, 8)).cumsum(axis=1) for _ in range(2)]
        moved = walks[1] + 0.3 * (seed % 2)
        found = difference(
            mean_of(walks[0], COUNTS[:200]),
            mean_of(moved, COUNTS[:200]),
            is_paired=is_paired,
            is_square=False,
        )
        tested = compare_curves(found, level)
        band = tested.band
        is_outside = (band.simultaneous_lower > 0) | (band.simultaneous_upper < 0)
        outcomes.append((tested.p_values[0] < 1 - level, bool(is_outside.any())))

    assert {left for left, _ in outcomes} == {True, False}
    assert all(left == right for left, right in outcomes)


def test_the_p_value_of_a_curve_of_one_point_is_that_of_the_number() -> None:
    found = difference(mean_of(BEFORE), mean_of(AFTER), is_paired=True, is_square=False)

    own = compare_curves(found, 0.95).p_values[0]
    assert own == pytest.approx(p_values(found)[0, 0], abs=0.02)


def test_equal_points_count_once() -> None:
    """A curve that says the same eight times has the p-value of one that says it once."""
    once, eight = (
        difference(
            mean_of(np.tile(BEFORE, count)),
            mean_of(np.tile(AFTER, count)),
            is_paired=True,
            is_square=False,
        )
        for count in (1, 8)
    )

    assert compare_curves(eight, 0.9).p_values == pytest.approx(compare_curves(once, 0.9).p_values)


P_VALUES = np.array([0.02, np.nan, 0.001, 0.04, 0.9, 0.03])


def test_corrections_agree_with_hand_and_scipy() -> None:
    known = P_VALUES[~np.isnan(P_VALUES)]
    by_scipy = stats.false_discovery_control(known)

    holm = adjusted(P_VALUES, Correction.HOLM)
    assert holm == pytest.approx([0.08, np.nan, 0.005, 0.09, 0.9, 0.09], nan_ok=True)
    found = adjusted(P_VALUES, Correction.BENJAMINI_HOCHBERG)
    assert found[~np.isnan(found)] == pytest.approx(by_scipy)
    assert adjusted(P_VALUES, Correction.NONE) == pytest.approx(P_VALUES, nan_ok=True)
