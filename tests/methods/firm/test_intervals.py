"""Intervals of FIRM importances: coverage, few rows, replicates."""

from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.firm import Covariance, Estimator, Moments

from tests.methods.firm.values import SCORES, Firm, value


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


def test_replicates_are_those_of_the_seed(firm: Firm, normal: dict[str, np.ndarray]) -> None:
    runs = [firm(normal, normal["z"], ["x"], repeats=20, seed=seed) for seed in (1, 1, 2)]
    errors: list[Any] = [run.importances[0].spread for run in runs]

    assert errors[0].standard_errors == errors[1].standard_errors
    assert errors[0].standard_errors != errors[2].standard_errors


def test_rows_that_a_replicate_leaves_out_have_no_part_in_its_slope(firm: Firm) -> None:
    """Replicates without the only row that differs have no slope, and not NaN."""
    found = firm(
        {"x": np.array([1.0, 1, 1, 1, 0])}, SCORES, ["x"], estimator=Estimator.SLOPE, repeats=40
    )

    (spread,) = [one.spread for one in found.importances]
    assert spread is not None
    assert not np.isnan(value(found))
