"""FIRM estimators against values by hand, other programs and laws; and invalid choices."""

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods.firm import Covariance, Estimator, Moments, Options, Result
from onnxplain_server.methods.firm.binding import bind
from onnxplain_server.methods.firm.checks import unmeasured_notes
from onnxplain_server.methods.firm.covariance import covariance, shrunk
from onnxplain_server.methods.firm.weighted_scores import WeightedScores
from sklearn.covariance import ledoit_wolf

from tests.methods.firm.values import BY_HAND, ROWS, SCORES, Firm, value


def test_two_values_are_a_difference_of_means(firm: Firm) -> None:
    """Means 2 and 6, shares 2/5 and 3/5: 4 · √0.24."""
    found = firm(BY_HAND, SCORES, ["f", "not f"])

    assert [value(found, 0), value(found, 1)] == pytest.approx([4 * 0.24**0.5, -4 * 0.24**0.5])
    assert found.importances[0].estimator is Estimator.TWO_VALUED
    assert found.importances[0].curve.expected[:, 0] == pytest.approx([2, 6])
    assert found.means.tolist() == pytest.approx([4.4])


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


def test_a_slight_curve_is_no_blindness(firm: Firm, normal: dict[str, np.ndarray]) -> None:
    """The slope misses 4 % of the importance: surely, and not worth a word."""
    found = firm(normal, normal["x"] + 0.2 * normal["x"] ** 2, ["x"], estimator=Estimator.SLOPE)

    assert found.notes == ()


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
