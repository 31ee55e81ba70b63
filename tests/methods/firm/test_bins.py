"""Bins of FIRM: values by hand, equal and rare values, weights, noise and bias."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.firm import Estimator
from onnxplain_server.methods.firm.bins import cut, weight_totals
from onnxplain_server.methods.firm.scores import BinStatistics, bin_statistics, sum_of_squares

from tests.methods.firm.values import BY_HAND, ROWS, SCORES, Firm, value


def statistics_of(codes, count: int, scores, weights) -> BinStatistics:
    totals = weight_totals(codes, count, weights)
    return bin_statistics(codes, totals, scores, weights, sum_of_squares(scores, weights))


def test_weights_are_rows_taken_more_often(firm: Firm) -> None:
    weighted = firm(BY_HAND, SCORES, ["f", "t"], weights=[1, 2, 1, 3, 1], keep_bias=True)
    places = np.repeat(np.arange(5), [1, 2, 1, 3, 1])
    repeated = firm(
        {name: column[places] for name, column in BY_HAND.items()},
        np.array(SCORES)[places],
        ["f", "t"],
        keep_bias=True,
    )

    for one, other in zip(weighted.importances, repeated.importances, strict=True):
        assert one.values == pytest.approx(other.values)
        assert one.curve.expected == pytest.approx(other.curve.expected)


def test_texts_have_a_bin_each_and_missing_ones_the_last() -> None:
    bins = cut(BY_HAND["t"], np.ones(5), 4)

    assert bins.levels.tolist() == ["a", "b", "c", ""]
    assert bins.codes.tolist() == [0, 1, 1, 2, 3]


def test_rare_texts_share_a_bin() -> None:
    bins = cut(np.array(list("aabbcd"), object), np.ones(6), 3)

    assert bins.levels.tolist() == ["a", "b", "(others)"]
    assert bins.codes.tolist() == [0, 0, 1, 1, 2, 2]
    assert not bins.is_by_value


@pytest.mark.parametrize(
    ("texts", "enough"),
    [
        ("aabbccddee", 4),  # three of five, and the others
        ("aabbccddefghijklmn", 0),  # the first four are no half
        ("abcdefghij", 0),
        ("aaaaaabcd", 2),
    ],
)
def test_bins_are_enough_where_half_of_the_rows_have_texts_that_repeat(
    texts: str, enough: int
) -> None:
    assert cut(np.array(list(texts), object), np.ones(len(texts)), 2).enough_count == enough


def test_missing_numbers_are_a_bin_of_their_own(firm: Firm) -> None:
    column = {"x": np.array([1.0, 1, 2, 2, np.nan, np.nan])}

    (found,) = firm(column, [0, 0, 0, 0, 6, 6], ["x"], keep_bias=True).importances

    assert found.estimator is Estimator.BINNED
    assert found.curve.levels.tolist() == pytest.approx([1, 2, np.nan], nan_ok=True)
    assert found.curve.expected.tolist() == [[0], [0], [6]]
    assert found.values == pytest.approx([8**0.5])


@given(
    st.lists(st.floats(width=32, allow_infinity=False), min_size=1, max_size=60),
    st.integers(1, 9),
    st.booleans(),
)
def test_bins_of_float32_are_those_of_the_same_numbers_as_float64(
    values: list[float], count: int, is_even: bool
) -> None:
    weights = np.ones(len(values)) if is_even else np.linspace(1, 2, len(values))
    single, double = (cut(np.array(values, kind), weights, count) for kind in ("f4", "f8"))

    assert single.codes.tolist() == double.codes.tolist()
    assert single.levels.dtype == double.levels.dtype == np.float64
    assert np.array_equal(single.levels, double.levels, equal_nan=True)


def test_equal_values_stay_together_and_first_bins_are_larger() -> None:
    assert np.bincount(cut(np.arange(11.0), np.ones(11), 4).codes).tolist() == [3, 3, 3, 2]
    tied = np.repeat([1.0, 2, 3, 4, 5], [1, 1, 6, 1, 1])
    # Bins take 2, 2 and 1 of the 5 values; the middle of the third is that of all rows.
    assert cut(tied, np.ones(10), 3).codes.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("values", "count", "sizes"),
    [
        # 9 bins are left for the others: 1 + 7/5 below, 1 + 28/5 above, where the last one goes.
        (
            [*np.linspace(-2, -1, 20), *[0] * 900, *np.linspace(1, 2, 80)],
            10,
            [10, 10, 900, 12, 12, 12, 11, 11, 11, 11],
        ),
        # Of the others, most are 7.
        ([*[0] * 900, *range(1, 6), *[7] * 90, *range(10, 15)], 4, [900, 5, 90, 5]),
        # Two bins cannot hold what is below 0, 0, and what is above.
        ([-2, -1, *[0] * 96, 1, 2], 2, [98, 2]),
    ],
)
def test_a_value_with_more_weight_than_a_bin_has_one_of_its_own(values, count, sizes) -> None:
    bins = cut(np.array(values, float), np.ones(len(values)), count)

    assert np.bincount(bins.codes).tolist() == sizes


@pytest.mark.parametrize("estimator", [Estimator.BINNED, Estimator.SMOOTH])
def test_an_effect_among_few_values_beside_a_common_one_is_found(firm: Firm, estimator) -> None:
    """The score is a function of the feature: the importance is its deviation."""
    x = np.zeros(ROWS)
    x[: ROWS // 10] = np.random.default_rng(0).uniform(0, 100, ROWS // 10)
    scores = 10 * np.sin(x / 10)

    found = firm({"x": x}, scores, ["x"], estimator=estimator)

    assert value(found) == pytest.approx(scores.std(), rel=0.02)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=60), st.integers(2, 8))
def test_bins_do_not_change_when_every_row_is_doubled(values: list[int], count: int) -> None:
    once = np.array(values, dtype=float)

    codes = cut(once, np.ones(len(once)), count).codes
    doubled = cut(np.repeat(once, 2), np.ones(2 * len(once)), count).codes
    weighed = cut(once, np.full(len(once), 2.0), count).codes

    assert doubled.tolist() == np.repeat(codes, 2).tolist()
    assert weighed.tolist() == codes.tolist()


@given(
    st.floats(-1e3, 1e3).filter(lambda a: abs(a) > 1e-3),
    st.floats(-1e4, 1e4),
    st.floats(-1e3, 1e3).filter(lambda a: abs(a) > 1e-3),
)
def test_features_may_be_moved_and_scores_scale(a: float, b: float, c: float) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    scores = np.sin(x) + random.normal(size=200)
    for codes in (cut(x, np.ones(200), 10).codes, cut(a * x + b, np.ones(200), 10).codes):
        found = statistics_of(codes, 10, c * scores[:, None], np.ones(200))
        plain = statistics_of(cut(x, np.ones(200), 10).codes, 10, scores[:, None], np.ones(200))
        assert np.sqrt(found.between) == pytest.approx(abs(c) * np.sqrt(plain.between), rel=1e-6)


def test_bias_of_bins_is_taken(firm: Firm) -> None:
    """A score of pure noise has importance 0; 20 bins of 300 rows show 0.25 before."""
    random = np.random.default_rng(5)
    plain, unbiased = [], []
    for _ in range(40):
        x, noise = random.normal(size=(2, 300))
        plain.append(value(firm({"x": x}, noise, ["x"], keep_bias=True)) ** 2)
        bins = cut(x, np.ones(300), 20)
        found = statistics_of(bins.codes, 20, noise[:, None], np.ones(300))
        unbiased.append(float(found.between[0] - found.noise[0]))
    assert np.mean(plain) == pytest.approx(19 / 300, rel=0.1)
    assert np.mean(unbiased) == pytest.approx(0, abs=0.006)


def test_noise_of_weighted_bins_is_that_of_simulations() -> None:
    random = np.random.default_rng(6)
    weights = random.uniform(0.1, 3, 120)
    codes = random.integers(0, 6, 120).astype(np.int16)
    found = [statistics_of(codes, 6, random.normal(size=(120, 1)), weights) for _ in range(3_000)]

    assert np.mean([f.noise for f in found]) == pytest.approx(
        np.mean([f.between for f in found]), rel=0.04
    )
    assert np.mean([f.within for f in found]) == pytest.approx(1, rel=0.02)


def test_scores_that_differ_by_rounding_only_are_the_same(firm: Firm) -> None:
    """Divided by their deviation, as `standardize` asks, rounding would look like a finding."""
    scores = np.array([0.1, 0.1, 0.1, 0.1, np.nextafter(0.1, 1)])

    found = firm(BY_HAND, scores, ["f"], standardize=True)

    assert value(found) == 0


def test_a_category_called_as_the_common_bin_keeps_a_bin_of_its_own_name() -> None:
    values = np.array(["(others)"] * 5 + ["a"] * 4 + ["b", "c"], object)

    bins = cut(values, np.ones(len(values)), 3)

    assert bins.levels.tolist() == ["(others)", "a", "(others) (all other texts)"]
