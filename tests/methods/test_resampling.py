"""Spreads of numbers by resampling rows: replicates, standard errors, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.row_draws import poisson_counts
from onnxplain_server.methods import interactions
from onnxplain_server.methods.average_loss import Options as AverageLoss
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.interactions import Options
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.resampling import (
    MIN_ROWS,
    Replicates,
    ReplicateSpread,
    Resampling,
    RowUnits,
    Scheme,
    effective_row_count,
    few_rows_notes,
    mean_square_interval,
    replicate,
    spread,
    t_quantile,
)

BOOTSTRAP = Resampling(400)
JACKKNIFE = Resampling(400, Scheme.JACKKNIFE)


def mean_of(values, weights):
    return (weights @ values / weights.sum(axis=1))[:, None]


def replicated(resampling: Resampling, weights, seed: int = 0) -> Replicates:
    """Replicates of the first rows of a table."""
    return replicate(resampling, weights, RowUnits(np.arange(len(weights))), seed)


def few_rows(resampling: Resampling, count: int):
    return few_rows_notes(resampling, np.ones(count), RowUnits(np.arange(count)))


def test_bootstrap_replicates_draw_rows_with_replacement() -> None:
    drawn = replicated(BOOTSTRAP, np.ones(30)).weights

    assert drawn.shape == (400, 30)
    assert np.array_equal(drawn, poisson_counts(np.arange(30), 0, range(400)))


def test_case_weights_stay_with_their_rows() -> None:
    weights, rows = np.array([1.0, 2.0, 0.5, 3.0]), np.array([4, 7, 8, 100])

    drawn = replicate(BOOTSTRAP, weights, RowUnits(rows), 3).weights
    kept = replicate(JACKKNIFE, weights, RowUnits(rows), 3).weights

    assert np.array_equal(drawn[-1] / weights, poisson_counts(rows, 3, [399])[0])
    assert set((kept / weights).ravel().tolist()) == {0, 1}


def test_replicates_without_any_row_are_left_out() -> None:
    """Of three rows, a share of exp(-3): 20 of 400."""
    drawn = replicated(BOOTSTRAP, np.array([1.0, 2.0, 0.5])).weights

    assert drawn.any(axis=1).all()
    assert 5 < 400 - len(drawn) < 40


@pytest.mark.parametrize(("group_count", "n"), [(7, 30), (400, 30), (10, 2_000)])
def test_jackknife_leaves_each_row_out_exactly_once(group_count: int, n: int) -> None:
    replicates = replicated(Resampling(group_count, Scheme.JACKKNIFE), np.ones(n))

    assert ((replicates.weights == 0).sum(axis=0) == 1).all()
    assert replicates.omitted == pytest.approx((replicates.weights == 0).mean(axis=1))
    assert (replicates.omitted > 0).all()
    assert len(replicates.omitted) <= group_count


@pytest.mark.parametrize("resampling", [BOOTSTRAP, JACKKNIFE], ids=["bootstrap", "jackknife"])
def test_same_seed_gives_the_same_replicates_and_another_one_others(resampling) -> None:
    first, same, other = (replicated(resampling, np.ones(50), seed).weights for seed in (1, 1, 2))

    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def one_by_one(n: int) -> Replicates:
    """Replicates of the jackknife that leaves out single rows."""
    return Replicates(1.0 - np.eye(n), np.full(n, 1 / n))


def test_jackknife_of_a_mean_gives_its_textbook_standard_error_and_no_bias() -> None:
    values = np.random.default_rng(0).gamma(2, size=50)
    replicates = one_by_one(50)

    found = spread_of_mean(JACKKNIFE, values, replicates)

    assert found.standard_errors == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    assert found.biases == pytest.approx(0, abs=1e-12)
    reach = 2.009575 * found.standard_errors  # of Student's t with 49 degrees of freedom
    assert values.mean() - found.lower == pytest.approx(reach)
    stretched = values.mean() / (1 - reach / values.mean())
    assert found.upper == pytest.approx(stretched)


def spread_of_mean(resampling: Resampling, values, replicates: Replicates) -> ReplicateSpread:
    means = mean_of(values, replicates.weights)
    return spread(resampling, values.mean(keepdims=True), means, replicates.omitted, len(values))


def test_jackknife_takes_the_bias_of_a_variance_away() -> None:
    """The mean square is (n - 1) / n of the variance; its jackknife correction is exact."""
    values = np.random.default_rng(0).normal(size=40)
    weights, omitted = one_by_one(40).weights, one_by_one(40).omitted
    squares = mean_of(values**2, weights) - mean_of(values, weights) ** 2

    found = spread(JACKKNIFE, np.array([values.var()]), squares, omitted, 40)

    assert values.var() - found.biases == pytest.approx(values.var(ddof=1))
    around_their_mean = 39 / 40 * ((squares - squares.mean()) ** 2).sum()
    assert found.standard_errors**2 == pytest.approx(around_their_mean)


def test_jackknife_of_unequal_groups_by_hand() -> None:
    """Values 0, 3, 6 with the mean 3, in the groups {0} and {3, 6}.

    Without them the means are 4.5 and 0, the pseudovalues 0 and 4.5: the groups' own means. Their
    squared distances to 3 are 9 and 2.25, times omitted / kept 9/2 and 9/2.
    """
    groups = Replicates(np.array([[0.0, 1, 1], [1, 0, 0]]), np.array([1, 2]) / 3)

    found = spread_of_mean(JACKKNIFE, np.array([0.0, 3, 6]), groups)

    assert found.standard_errors == pytest.approx(np.sqrt(4.5))
    assert found.biases == pytest.approx(0, abs=1e-12)


def test_jackknife_variances_of_unequal_groups_are_right_on_average() -> None:
    """The variance of a mean of 60 numbers of variance 1 is 1/60; groups of 1 to 12 rows."""
    resampling, random = Resampling(12, Scheme.JACKKNIFE), np.random.default_rng(7)
    squares, sizes = [], []
    for seed in range(2_000):
        replicates = replicated(resampling, np.ones(60), seed)
        found = spread_of_mean(resampling, random.normal(size=60), replicates)
        squares.append(found.standard_errors[0] ** 2)
        sizes += (60 * replicates.omitted).tolist()

    assert np.std(sizes) > 1.5
    assert 60 * np.mean(squares) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_without_two_replicates_nothing_is_known_of_the_spread(scheme: Scheme) -> None:
    resampling = Resampling(10, scheme)
    one = Replicates(np.ones((1, 2)), np.full(1, 0.5))

    found = spread_of_mean(resampling, np.array([1.0, 2.0]), one)

    parts = (found.standard_errors, found.lower, found.upper, found.biases)
    assert np.isnan(parts).all()


def test_bootstrap_of_a_mean_gives_its_textbook_standard_error() -> None:
    values = np.random.default_rng(0).gamma(2, size=200)
    resampling = Resampling(4_000)

    found = spread_of_mean(resampling, values, replicated(resampling, np.ones(200)))

    assert found.standard_errors == pytest.approx(values.std() / np.sqrt(200), rel=0.05)
    assert found.lower < values.mean() < found.upper
    assert values.mean() - found.biases - found.lower == pytest.approx(
        1.972 * found.standard_errors, rel=1e-3
    )


def test_intervals_do_not_reach_below_zero() -> None:
    values, omitted = np.linspace(0, 0.01, 400)[:, None], np.full(400, 1 / 400)

    for resampling in (BOOTSTRAP, JACKKNIFE):
        assert spread(resampling, np.array([0.001]), values, omitted, 400).lower >= 0


def test_intervals_of_few_rows_or_few_replicates_are_wider() -> None:
    """Of 5 rows the quantile of Student's t is 2.776 at 95 %, of 10 replicates 2.262."""
    assert t_quantile(0.95, 5, 400) == pytest.approx(2.776445)
    assert t_quantile(0.95, 1_000, 10) == pytest.approx(2.262157)
    assert t_quantile(0.95, 1e6, 10**6) == pytest.approx(1.959964, rel=1e-4)
    assert np.isfinite(t_quantile(0.95, 1, 400))


def test_the_upper_end_is_the_truth_whose_standard_error_grows_along() -> None:
    """At the upper end u the value is u's own reach below: u - 0.4 u = 0.6 by hand."""
    lower, upper = mean_square_interval(np.array([0.5]), np.array([0.6]), np.array([0.2]))

    assert lower == pytest.approx([0.4])
    assert upper == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("value", "corrected", "reach", "expected"),
    [
        pytest.param(0.0, 0.0, 0.0, (0.0, 0.0), id="nothing at all"),
        pytest.param(0.1, -0.1, 0.3, (0.0, 0.2), id="less than its bias"),
        pytest.param(0.1, 0.1, 0.3, (0.0, 0.4), id="reach beyond the value"),
        pytest.param(0.1, -0.5, 0.3, (0.0, 0.0), id="far less than its bias"),
    ],
)
def test_intervals_at_the_edge(
    value: float, corrected: float, reach: float, expected: tuple[float, float]
) -> None:
    ends = mean_square_interval(*(np.array([number]) for number in (value, corrected, reach)))

    assert np.concatenate(ends) == pytest.approx(expected)


def test_what_is_no_number_has_no_interval() -> None:
    ends = mean_square_interval(np.array([np.nan]), np.array([np.nan]), np.array([np.nan]))

    assert np.isnan(ends).all()


def test_rows_of_unequal_weight_count_as_fewer_and_their_unit_does_not() -> None:
    """By hand: (3 + 1)² / (9 + 1) = 1.6."""
    assert effective_row_count(np.array([3.0, 1.0])) == pytest.approx(1.6)
    assert effective_row_count(np.array([3e300, 1e300])) == pytest.approx(1.6)
    assert effective_row_count(np.full(7, 0.3)) == pytest.approx(7)


def test_too_few_rows_are_told_where_they_are_resampled() -> None:
    assert [note.code for note in few_rows(BOOTSTRAP, MIN_ROWS - 1)] == ["FEW_ROWS"]
    assert few_rows(BOOTSTRAP, MIN_ROWS) == ()
    assert few_rows(Resampling(), 5) == ()


@pytest.mark.parametrize("n", [50, 150])
def test_intervals_of_skewed_mean_squares_hold_the_truth(n: int) -> None:
    """Squares of normal numbers cubed: symmetric intervals of 90 % hold 1 in 60 to 70 %."""
    rng, held = np.random.default_rng(4), 0
    resampling = Resampling(100, confidence_level=0.9)
    for seed in range(200):
        squares = rng.normal(size=n) ** 2 * rng.normal(size=n) ** 2
        told = spread_of_mean(resampling, squares, replicated(resampling, np.ones(n), seed))
        held += bool(told.lower[0] <= 1 <= told.upper[0])
    assert 0.86 <= held / 200 <= 0.97


def rough(a, b, c):
    return a * b + np.sin(3 * c) + np.maximum(a, c)


def columns(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {name: rng.normal(size=n) for name in "abc"}


def explained(make, resampling: Resampling, weights=None, n: int = 40):
    engine = make.engine(rough, columns(n), weights)
    options = Options(tuple("abc"), resampling=resampling)
    return interactions.compute(engine.effects, options, seed=5), engine


@pytest.mark.parametrize("scheme", list(Scheme))
def test_resampling_changes_no_value_and_predicts_nothing_more(make, scheme: Scheme) -> None:
    plain, one = explained(make, Resampling())
    spread_out, other = explained(make, Resampling(20, scheme))

    for order in ("overall", "pairwise", "importance"):
        for a, b in zip(getattr(plain, order), getattr(spread_out, order), strict=True):
            assert a.values == pytest.approx(b.values, rel=1e-9)
            assert a.spread is None
    assert other.ledger.predicted == one.ledger.predicted


def test_replicates_are_the_statistics_of_resampled_tables(make) -> None:
    resampling = Resampling(12)
    found, engine = explained(make, resampling)
    weights = replicated(resampling, engine.background.weights, seed=5).weights
    alone = [explained(make, Resampling(), replicate_weights)[0] for replicate_weights in weights]

    for order in ("overall", "pairwise", "importance"):
        values = np.array([[s.values[0] for s in getattr(result, order)] for result in alone])
        errors = [s.spread.standard_errors[0] for s in getattr(found, order)]
        biases = [s.spread.biases[0] for s in getattr(found, order)]
        base = [s.values[0] for s in getattr(found, order)]
        assert errors == pytest.approx(values.std(axis=0, ddof=1), rel=1e-6)
        assert biases == pytest.approx(values.mean(axis=0) - base, rel=1e-6, abs=1e-9)


def test_an_infinite_loss_has_no_interval(make) -> None:
    model = make.model(lambda a: 1e200 * a, ("a",), ["double"])
    asked = AverageLoss(Comparison(Loss.SQUARED_ERROR), resampling=Resampling(10))
    table = make.table({"a": np.arange(9.0), "y": np.arange(9.0)})

    (loss,) = make.answer(model, table, asked, target_column="y").explanations[0].result.losses

    assert (loss.values.tolist(), loss.standard_errors, loss.band) == ([np.inf], None, None)


@pytest.mark.parametrize(("n", "told"), [(99, ["FEW_ROWS"]), (100, [])])
def test_answers_warn_of_intervals_from_few_rows(make, n: int, told: list[str]) -> None:
    model = make.model(rough, tuple("abc"), ["double"] * 3)
    resampled = Options(resampling=Resampling(10))

    answer = make.answer(model, make.table(columns(n)), resampled)

    assert [note.code for note in answer.notes] == told
    assert make.answer(model, make.table(columns(99)), Options()).notes == ()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (Resampling(9), "repeat_count"),
        (Resampling(10_001), "repeat_count"),
        (Resampling(100, confidence_level=1.0), "confidence_level"),
    ],
)
def test_impossible_resampling_is_refused(given: Resampling, word: str) -> None:
    with pytest.raises(ExplainError, match=word):
        check_limits(InteractionsOptions, given, "methods[0].interactions")
