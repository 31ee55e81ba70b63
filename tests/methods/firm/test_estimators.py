"""FIRM estimators against values by hand, other programs and laws; and invalid choices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods.firm import Covariance, Estimator, Moments, Options, Result
from onnxplain_server.methods.firm.binding import bind
from onnxplain_server.methods.firm.bins import cut, weight_totals
from onnxplain_server.methods.firm.checks import unmeasured_notes
from onnxplain_server.methods.firm.covariance import covariance, shrunk
from onnxplain_server.methods.firm.scores import BinStatistics, bin_statistics, sum_of_squares
from onnxplain_server.methods.firm.weighted_scores import WeightedScores
from sklearn.covariance import ledoit_wolf

Firm = Callable[..., Result]
ROWS = 3_000


def value(result: Result, place: int = 0) -> float:
    return float(result.importances[place].values[0])


@pytest.fixture(scope="module")
def normal() -> dict[str, np.ndarray]:
    """X and z go along with each other at 0.8; u with neither."""
    random = np.random.default_rng(1)
    x, e, u = random.normal(size=(3, ROWS))
    return {"x": x, "z": 0.8 * x + 0.6 * e, "u": u}


def statistics_of(codes, count: int, scores, weights) -> BinStatistics:
    totals = weight_totals(codes, count, weights)
    return bin_statistics(codes, totals, scores, weights, sum_of_squares(scores, weights))


BY_HAND = {"f": np.array([0.0, 0, 1, 1, 1]), "t": np.array(["a", "b", "b", "c", ""], object)}
SCORES = [1.0, 3.0, 4.0, 6.0, 8.0]


def test_two_values_are_a_difference_of_means(firm: Firm) -> None:
    """Means 2 and 6, shares 2/5 and 3/5: 4 · √0.24."""
    found = firm(BY_HAND, SCORES, ["f", "not f"])

    assert [value(found, 0), value(found, 1)] == pytest.approx([4 * 0.24**0.5, -4 * 0.24**0.5])
    assert found.importances[0].estimator is Estimator.TWO_VALUED
    assert found.importances[0].curve.expected[:, 0] == pytest.approx([2, 6])
    assert found.means.tolist() == pytest.approx([4.4])


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


@pytest.mark.parametrize("estimator", [Estimator.SLOPE, Estimator.BINNED, Estimator.SMOOTH])
def test_what_goes_along_with_a_used_feature_is_credited_in_part(
    firm: Firm, normal: dict[str, np.ndarray], estimator: Estimator
) -> None:
    """The score uses x alone; z goes along with it at 0.8, u does not."""
    found = firm(normal, 2 * normal["x"], ["x", "z", "u"], estimator=estimator, repeats=200)
    rho = float(np.corrcoef(normal["x"], normal["z"])[0, 1])
    x, z, u = found.importances

    assert x.values[0] == pytest.approx(2, rel=0.05)
    assert z.spread is not None
    assert u.spread is not None
    assert z.spread.lower[0] < rho * x.values[0] < z.spread.upper[0]
    assert z.spread.standard_errors[0] < 0.1
    assert u.spread.lower[0] <= 0.05
    assert abs(u.values[0]) < 4 * u.spread.standard_errors[0] + 0.05


def test_intervals_hold_the_truth_as_often_as_they_say(firm: Firm) -> None:
    """The truth is 1 for x and 0.5 for the condition's standard deviation."""
    random = np.random.default_rng(3)
    inside = 0
    for seed in range(60):
        x, e = random.normal(size=(2, 150))
        found = firm({"x": x}, x + e, ["x"], bin_count=10, repeats=100, seed=seed)
        spread = found.importances[0].spread
        assert spread is not None
        inside += spread.lower[0] <= 1 <= spread.upper[0]
    assert inside >= 50


def test_intervals_lie_around_the_number_whether_its_bias_is_kept_or_not(
    firm: Firm, normal: dict[str, np.ndarray]
) -> None:
    """With 30 bins for 300 rows, bias is about a third of the square."""
    x, u = normal["x"][:300], normal["u"][:300]
    for keep_bias in (False, True):
        (found,) = firm(
            {"x": x}, x + 2 * u, ["x"], bin_count=30, keep_bias=keep_bias, repeats=400
        ).importances
        assert found.spread is not None
        middle = (found.spread.lower[0] ** 2 + found.spread.upper[0] ** 2) / 2
        assert middle == pytest.approx(found.values[0] ** 2, rel=0.1)


def rare(n: int, held: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A condition that holds in so many rows, whose scores scatter around 1; 0 elsewhere."""
    random = np.random.default_rng(2)
    condition = np.arange(n) < held
    return {"f": condition.astype(float)}, condition + random.normal(size=n)


@pytest.mark.parametrize("is_rare_value_1", [True, False])
def test_a_value_of_a_handful_of_rows_has_no_standard_error(
    firm: Firm, is_rare_value_1: bool
) -> None:
    columns, scores = rare(200, 4)
    if not is_rare_value_1:
        columns["f"] = 1 - columns["f"]

    found = firm(columns, scores, ["f"], repeats=50)

    spread = found.importances[0].spread
    assert spread is not None
    assert np.isnan([spread.standard_errors, spread.lower, spread.upper]).all()
    assert np.isfinite(value(found))
    (note,) = found.notes
    assert note.code == "FEW_ROWS"
    assert "'f'" in note.message


def test_a_value_of_five_rows_has_an_interval_as_of_five(firm: Firm) -> None:
    """Student's t at 95 % with 4 degrees of freedom: 2.776."""
    found = firm(*rare(200, 5), ["f"], repeats=50)

    spread = found.importances[0].spread
    assert spread is not None
    assert spread.upper - value(found) == pytest.approx(2.776445 * spread.standard_errors)
    assert found.notes == ()
    assert firm(*rare(200, 4), ["f"]).notes == ()


def test_few_rows_are_told_where_they_are_resampled(firm: Firm) -> None:
    columns, scores = rare(99, 20)

    (note,) = firm(columns, scores, ["f"], repeats=20).notes

    assert note.code == "FEW_ROWS"
    assert "99 rows" in note.message
    assert firm(columns, scores, ["f"]).notes == ()


def test_a_threshold_from_below_is_that_from_above_with_the_other_sign(
    firm: Firm, normal: dict[str, np.ndarray]
) -> None:
    columns = {"x": normal["x"] + 2, "u": normal["u"]}
    rows = np.stack(list(columns.values()), axis=1)
    moments = Moments(("x", "u"), rows, np.array([[2.0], [1.0]]), Covariance.EMPIRICAL)
    scores = 2 * normal["x"] + normal["u"]

    features = ["x > 2.5", "x < 2.5"]

    found = firm(columns, scores, features, moments=moments, estimator=Estimator.GAUSSIAN)
    exact = firm(columns, scores, features)

    assert value(found, 1) == pytest.approx(-value(found, 0))
    assert value(found) == pytest.approx(value(exact), rel=0.05)
    for one, other in zip(found.importances, exact.importances, strict=True):
        assert one.curve.expected == pytest.approx(other.curve.expected, abs=0.15)


def test_intervals_reach_two_standard_errors_to_either_side(
    firm: Firm, normal: dict[str, np.ndarray]
) -> None:
    (found,) = firm(
        normal, normal["x"] + normal["u"], ["z"], estimator=Estimator.SLOPE, repeats=1_000
    ).importances

    assert found.spread is not None
    reach = (found.spread.upper - found.spread.lower) / 2
    assert reach == pytest.approx(1.96 * found.spread.standard_errors, rel=0.08)


def test_a_slight_curve_is_no_blindness(firm: Firm, normal: dict[str, np.ndarray]) -> None:
    """The slope misses 4 % of the importance: surely, and not worth a word."""
    found = firm(normal, normal["x"] + 0.2 * normal["x"] ** 2, ["x"], estimator=Estimator.SLOPE)

    assert found.notes == ()


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


def test_a_spline_follows_a_curve_and_no_noise(firm: Firm, normal: dict[str, np.ndarray]) -> None:
    x = normal["x"]
    scores = np.sin(2 * x) + normal["u"]

    smooth, straight = (
        firm({"x": x}, scores, ["x"], estimator=estimator)
        for estimator in (Estimator.SMOOTH, Estimator.SLOPE)
    )

    assert value(smooth) == pytest.approx(np.sin(2 * x).std(), rel=0.05)
    assert value(straight) < 0.4
    assert smooth.importances[0].estimator is Estimator.SMOOTH


def test_few_values_make_no_curve(firm: Firm) -> None:
    column = {"x": np.tile([1.0, 2, 3], 20)}

    (found,) = firm(column, column["x"], ["x"], estimator=Estimator.SMOOTH).importances

    assert found.estimator is Estimator.BINNED
    assert found.values == pytest.approx([(2 / 3) ** 0.5])


def test_standardized_importances_do_not_depend_on_the_unit(
    firm: Firm, normal: dict[str, np.ndarray]
) -> None:
    scores = np.stack([normal["x"], 1e6 * normal["x"] + 7], axis=1)

    (found,) = firm(normal, scores, ["z"], standardize=True, repeats=20).importances

    assert found.values[0] == pytest.approx(found.values[1])
    assert found.spread is not None
    assert found.spread.upper[0] == pytest.approx(found.spread.upper[1])


def test_a_score_that_never_changes_has_importance_0(firm: Firm) -> None:
    found = firm(BY_HAND, [3.0] * 5, ["f", "t"], standardize=True)

    assert [value(found, 0), value(found, 1)] == [0, 0]


@pytest.mark.parametrize("estimator", [None, *Estimator])
def test_a_feature_that_never_changes_has_importance_0_and_a_note(
    firm: Firm, estimator: Estimator | None
) -> None:
    columns = {**BY_HAND, "c": np.ones(5)}
    rows = np.stack([columns["c"], columns["f"]], axis=1)
    moments = Moments(("c", "f"), rows, np.ones((2, 1)), Covariance.EMPIRICAL)

    found = firm(columns, SCORES, ["c"], moments=moments, estimator=estimator, repeats=10)

    assert value(found) == 0
    assert [note.code for note in found.notes] == ["CONSTANT_FIRM_FEATURE", "FEW_ROWS"]


def test_what_cannot_be_told_from_noise_is_no_number(firm: Firm) -> None:
    """A bin for each row leaves nothing to measure noise by."""
    found = firm({"x": np.arange(5.0)}, SCORES, ["x"])

    assert np.isnan(value(found))
    (note,) = found.notes
    assert note.code == "FEW_ROWS"
    assert "single row" in note.message
    assert "'x'" in note.message


def test_a_spline_without_residuals_says_so_and_not_that_bins_hold_a_single_row(firm: Firm) -> None:
    """Nearly all weight is on one row, through which the spline passes; every bin has many rows."""
    columns = {"x": np.repeat(np.arange(12.0), 3)}
    weights = np.r_[1.0, np.full(35, 1e-18)]
    score = columns["x"] ** 2

    found = firm(columns, score, ["x"], weights=weights, estimator=Estimator.SMOOTH)

    assert np.isnan(value(found))
    (note,) = found.notes
    assert note.code == "FEW_ROWS"
    assert "the spline of SMOOTH leaves no residuals" in note.message
    assert "single row" not in note.message
    kept = firm(columns, score, ["x"], weights=weights, estimator=Estimator.SMOOTH, keep_bias=True)
    assert np.isfinite(value(kept)), "the cure that the note names"


@pytest.mark.parametrize("estimator", list(Estimator))
@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000])
def test_importances_follow_the_scale_up_to_the_ends_of_float64(
    firm: Firm, normal, estimator: Estimator, scale: float
) -> None:
    """Squares of scores and columns would exceed float64, or vanish; a power of two rounds none."""
    x = np.sign(normal["x"]) if estimator is Estimator.TWO_VALUED else normal["x"]
    score = np.tanh(x) + normal["u"] / 4

    def measured(unit: float) -> Result:
        moments = Moments(("x",), unit * x[:, None], np.ones((1, 1)), Covariance.EMPIRICAL)
        asked: dict[str, Any] = {"moments": moments, "estimator": estimator, "repeats": 5}
        return firm({"x": unit * x}, unit * score, ["x"], **asked)

    usual, found = measured(1.0), measured(scale)

    assert value(found) == scale * value(usual) != 0
    spreads: list[Any] = [one.importances[0].spread for one in (found, usual)]
    assert spreads[0].standard_errors == scale * spreads[1].standard_errors
    curves = [one.importances[0].curve for one in (found, usual)]
    assert curves[0].expected == pytest.approx(scale * curves[1].expected, rel=1e-12)
    assert found.notes == usual.notes
    assert found.deviations == scale * usual.deviations


@pytest.mark.parametrize("estimator", list(Estimator))
def test_a_constant_column_has_the_importance_0_and_no_warning_but_that(
    firm: Firm, normal, estimator: Estimator
) -> None:
    """A tenth of rounding is in the mean of 0.1, and the score is not linear in anything."""
    columns = {"x": np.full(ROWS, 0.1), "z": normal["z"]}
    rows = np.stack([*columns.values()], axis=1)
    moments = Moments(("x", "z"), rows, np.array([[3.0], [1.0]]), Covariance.EMPIRICAL)

    found = firm(columns, normal["z"] ** 2, ["x"], moments=moments, estimator=estimator, repeats=3)

    assert value(found) == 0
    assert [note.code for note in found.notes] == ["CONSTANT_FIRM_FEATURE"]


def test_an_importance_lost_to_overflow_is_not_blamed_on_few_rows(normal) -> None:
    """Sums over blocks are not scaled."""
    large = 1e200 * normal["x"]
    columns = ColumnValues({"x": normal["x"]})
    bound = bind(parse("x", columns.kinds, ""), columns, np.ones(ROWS), Options(), None)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = WeightedScores(large[:, None], np.ones(ROWS), None)
        (note,) = unmeasured_notes([bound], np.array([[np.nan]]), scores)

    assert note.code == "FIRM_OVERFLOW"
    assert "'x'" in note.message


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1e-14], [0.0, 5.0, 0.0]])
def test_a_single_row_has_the_covariance_0_and_is_shrunk_entirely(weights: list[float]) -> None:
    rows = np.arange(3.0 * len(weights)).reshape(-1, 3)

    covariance, intensity = shrunk(rows, np.array(weights))

    assert covariance.tolist() == np.zeros((3, 3)).tolist()
    assert intensity == 1.0


def test_two_rows_are_not_taken_for_a_single_one() -> None:
    """By hand: the unbiased variance of 0 and 2 is 2, also where one weighs a thousandth."""
    for weights in ([1.0, 1.0], [1.0, 1e-3]):
        covariance, _ = shrunk(np.array([[0.0], [2.0]]), np.array(weights))

        assert covariance == pytest.approx(np.array([[2.0]]))


@pytest.mark.parametrize(
    ("estimator", "feature", "told"),
    [
        (Estimator.TWO_VALUED, "x", "a feature of two values"),
        (Estimator.SLOPE, "t", "the feature has text"),
        (Estimator.SMOOTH, "m", "the feature has missing values"),
        (Estimator.GAUSSIAN, "x * x", "needs columns of numbers, sums"),
        (Estimator.TAYLOR, "t", "needs columns of numbers, sums"),
    ],
)
def test_an_estimator_that_cannot_be_is_refused(
    firm: Firm, estimator: Estimator, feature: str, told: str
) -> None:
    x = np.arange(30.0)
    columns = {"x": x, "t": np.array(list("abc") * 10, object), "m": np.where(x < 3, np.nan, x)}
    moments = Moments(("x",), x[:, None], np.ones((1, 1)), Covariance.EMPIRICAL)

    with pytest.raises(ExplainError, match=told):
        firm(columns, x, [feature], moments=moments, estimator=estimator)


@pytest.mark.parametrize(
    ("estimator", "code"), [(Estimator.SLOPE, "SLOPE_BLIND"), (Estimator.TAYLOR, "TAYLOR_BLIND")]
)
def test_blind_estimators_say_so(
    firm: Firm, normal: dict[str, np.ndarray], estimator: Estimator, code: str
) -> None:
    """The score is a parabola along x, and a line along u."""
    scores = normal["x"] ** 2 + normal["u"]
    rows = np.stack([normal["x"], normal["u"]], axis=1)
    moments = Moments(("x", "u"), rows, np.array([[0.0], [1.0]]), Covariance.EMPIRICAL)

    found = firm(normal, scores, ["x", "u"], moments=moments, estimator=estimator)

    (note,) = found.notes
    assert note.code == code
    assert "'x'" in note.message
    assert "'u'" not in note.message


def test_a_closed_form_says_where_columns_are_not_gaussian(firm: Firm) -> None:
    """Z does not go along with x, whose weight is all that the closed form knows."""
    random = np.random.default_rng(2)
    x = random.choice([-1.0, 1.0], 2_000)
    z = random.choice([0.0, 3.0], 2_000)
    rows = np.stack([x, z], axis=1)
    moments = Moments(("x", "z"), rows, np.array([[1.0], [0.0]]), Covariance.EMPIRICAL)
    scores = np.where(z > 1, 1.0, -1.0)

    found = firm({"x": x, "z": z}, scores, ["z"], moments=moments, estimator=Estimator.GAUSSIAN)

    assert [note.code for note in found.notes] == ["GAUSSIAN_OFF"]


def test_least_squares_of_infinite_data_give_equation_13() -> None:
    """Q = D⁻¹ X'y / n, for a weight vector fitted to y by least squares."""
    random = np.random.default_rng(4)
    mixing = random.normal(size=(4, 4))
    rows = random.normal(size=(2_000, 4)) @ mixing
    rows -= rows.mean(axis=0)
    labels = rows @ [1.0, -2.0, 0.5, 0.0] + random.normal(size=2_000)
    labels -= labels.mean()
    weights = np.linalg.solve(rows.T @ rows, rows.T @ labels)[:, None]
    deviations = rows.std(axis=0)

    found = covariance(Covariance.EMPIRICAL, rows, np.ones(2_000)) @ weights / deviations[:, None]

    assert found[:, 0] == pytest.approx(rows.T @ labels / 2_000 / deviations, rel=1e-9)


def test_conjunctions_of_independent_signs_follow_the_paper(firm: Firm) -> None:
    """Section 2.4.1: Q of a column is its weight, of a conjunction (w1 + w2) / √3, of xor 0."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1)
    columns = dict(zip(["a", "b", "c"], signs, strict=True))

    found = firm(
        columns,
        signs.T @ [1.5, -0.5, 2.0],
        ["a", "b", "a > 0 and b > 0", "xor(a > 0, c > 0)"],
    )

    assert [value(found, i) for i in range(4)] == pytest.approx([1.5, -0.5, 1 / 3**0.5, 0])


def test_shrinkage_leaves_much_data_as_it_is(normal: dict[str, np.ndarray]) -> None:
    rows = np.stack(list(normal.values()), axis=1)
    few, much = shrunk(rows[:8], np.ones(8))[1], shrunk(rows, np.ones(ROWS))[1]

    assert few > 10 * much
    assert shrunk(rows[:8], np.full(8, 3.0))[1] == pytest.approx(few)


def test_ledoit_and_wolf_are_scikit_learns(normal: dict[str, np.ndarray]) -> None:
    rows = np.stack(list(normal.values()), axis=1)[:30]

    twice = np.repeat([0.5, 1.0], [20, 10])

    found = covariance(Covariance.LEDOIT_WOLF, rows, np.full(30, 0.5))
    repeated = covariance(Covariance.LEDOIT_WOLF, rows, twice)

    assert found == pytest.approx(ledoit_wolf(rows)[0])
    assert repeated == pytest.approx(ledoit_wolf(np.repeat(rows, [1] * 20 + [2] * 10, axis=0))[0])


def test_replicates_are_those_of_the_seed(firm: Firm, normal: dict[str, np.ndarray]) -> None:
    runs = [firm(normal, normal["z"], ["x"], repeats=20, seed=seed) for seed in (1, 1, 2)]
    errors: list[Any] = [run.importances[0].spread for run in runs]

    assert errors[0].standard_errors == errors[1].standard_errors
    assert errors[0].standard_errors != errors[2].standard_errors


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e300])
def test_a_slope_and_a_curve_do_not_depend_on_the_unit_of_the_feature(
    firm: Firm, unit: float
) -> None:
    column = np.array([1.0, 2.0, 4.0, 8.0, 9.0])
    scores = np.array([1.0, 3.0, 2.0, 5.0, 8.0])

    found = firm({"x": column * unit}, scores, ["x"], estimator=Estimator.SLOPE)
    expected = firm({"x": column}, scores, ["x"], estimator=Estimator.SLOPE)

    assert value(found) == pytest.approx(value(expected))
    np.testing.assert_allclose(
        found.importances[0].curve.expected, expected.importances[0].curve.expected
    )


def test_rows_that_a_replicate_leaves_out_have_no_part_in_its_slope(firm: Firm) -> None:
    """Replicates without the only row that differs have no slope, and not NaN."""
    found = firm(
        {"x": np.array([1.0, 1, 1, 1, 0])}, SCORES, ["x"], estimator=Estimator.SLOPE, repeats=40
    )

    (spread,) = [one.spread for one in found.importances]
    assert spread is not None
    assert not np.isnan(value(found))


def test_scores_that_differ_by_rounding_only_are_the_same(firm: Firm) -> None:
    """Divided by their deviation, as `standardize` asks, rounding would look like a finding."""
    scores = np.array([0.1, 0.1, 0.1, 0.1, np.nextafter(0.1, 1)])

    found = firm(BY_HAND, scores, ["f"], standardize=True)

    assert value(found) == 0


def test_a_category_called_as_the_common_bin_keeps_a_bin_of_its_own_name() -> None:
    values = np.array(["(others)"] * 5 + ["a"] * 4 + ["b", "c"], object)

    bins = cut(values, np.ones(len(values)), 3)

    assert bins.levels.tolist() == ["(others)", "a", "(others) (all other texts)"]
