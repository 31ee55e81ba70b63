"""Spreads of numbers by resampling rows: replicates, standard errors, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import Options
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.resampling import (
    MIN_ROWS,
    Resampling,
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


def test_bootstrap_replicates_draw_as_many_rows_as_there_are() -> None:
    drawn = replicate(BOOTSTRAP, np.ones(30), seed=0)

    assert drawn.shape == (400, 30)
    assert (drawn.sum(axis=1) == 30).all()
    assert (drawn == np.rint(drawn)).all()


def test_case_weights_stay_with_their_rows() -> None:
    weights = np.array([1.0, 2.0, 0.5])

    drawn = replicate(BOOTSTRAP, weights, seed=0)

    assert ((drawn / weights).sum(axis=1) == 3).all()


def test_jackknife_leaves_each_row_out_exactly_once() -> None:
    kept = replicate(Resampling(7, Scheme.JACKKNIFE), np.ones(30), seed=0)

    assert kept.shape == (7, 30)
    assert (kept.sum(axis=0) == 6).all()
    assert set(kept.sum(axis=1)) <= {25, 26}


def test_jackknife_has_no_more_groups_than_rows() -> None:
    kept = replicate(JACKKNIFE, np.ones(30), seed=0)

    assert kept.shape == (30, 30)
    assert (kept.sum(axis=1) == 29).all()


@pytest.mark.parametrize("resampling", [BOOTSTRAP, JACKKNIFE], ids=["bootstrap", "jackknife"])
def test_same_seed_gives_the_same_replicates_and_another_one_others(resampling) -> None:
    first, same, other = (replicate(resampling, np.ones(50), seed=seed) for seed in (1, 1, 2))

    assert (first == same).all()
    assert (first != other).any() or resampling is JACKKNIFE


def test_jackknife_of_a_mean_gives_its_textbook_standard_error_and_no_bias() -> None:
    values = np.random.default_rng(0).gamma(2, size=50)
    replicates = mean_of(values, replicate(JACKKNIFE, np.ones(50), seed=0))

    told = spread(JACKKNIFE, np.array([values.mean()]), replicates, 50)

    assert told.standard_errors == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    assert told.biases == pytest.approx(0, abs=1e-12)
    reach = 2.009575 * told.standard_errors  # of Student's t with 49 degrees of freedom
    assert values.mean() - told.lower == pytest.approx(reach)
    stretched = values.mean() / (1 - reach / values.mean())
    assert told.upper == pytest.approx(stretched)


def test_jackknife_takes_the_bias_of_a_variance_away() -> None:
    """The mean square is (n - 1) / n of the variance; its jackknife correction is exact."""
    values = np.random.default_rng(0).normal(size=40)
    weights = replicate(JACKKNIFE, np.ones(40), seed=0)
    squares = mean_of(values**2, weights) - mean_of(values, weights) ** 2

    told = spread(JACKKNIFE, np.array([values.var()]), squares, 40)

    assert values.var() - told.biases == pytest.approx(values.var(ddof=1))


def test_bootstrap_of_a_mean_gives_its_textbook_standard_error() -> None:
    values = np.random.default_rng(0).gamma(2, size=200)
    resampling = Resampling(4_000)
    replicates = mean_of(values, replicate(resampling, np.ones(200), seed=0))

    told = spread(resampling, np.array([values.mean()]), replicates, 200)

    assert told.standard_errors == pytest.approx(values.std() / np.sqrt(200), rel=0.05)
    assert told.lower < values.mean() < told.upper
    assert values.mean() - told.biases - told.lower == pytest.approx(
        1.972 * told.standard_errors, rel=1e-3
    )


def test_intervals_do_not_reach_below_zero() -> None:
    replicates = np.linspace(0, 0.01, 400)[:, None]

    for resampling in (BOOTSTRAP, JACKKNIFE):
        assert spread(resampling, np.array([0.001]), replicates, 400).lower >= 0


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
    assert [note.code for note in few_rows_notes(BOOTSTRAP, np.ones(MIN_ROWS - 1))] == ["FEW_ROWS"]
    assert few_rows_notes(BOOTSTRAP, np.ones(MIN_ROWS)) == ()
    assert few_rows_notes(Resampling(), np.ones(5)) == ()


@pytest.mark.parametrize("n", [50, 150])
def test_intervals_of_skewed_mean_squares_hold_the_truth(n: int) -> None:
    """Squares of normal numbers cubed: symmetric intervals of 90 % hold 1 in 60 to 70 %."""
    rng, held = np.random.default_rng(4), 0
    resampling = Resampling(100, confidence_level=0.9)
    for seed in range(200):
        squares = rng.normal(size=n) ** 2 * rng.normal(size=n) ** 2
        replicates = mean_of(squares, replicate(resampling, np.ones(n), seed))
        told = spread(resampling, np.array([squares.mean()]), replicates, n)
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
    weights = replicate(resampling, engine.background.weights, seed=5)
    alone = [explained(make, Resampling(), replicate_weights)[0] for replicate_weights in weights]

    for order in ("overall", "pairwise", "importance"):
        values = np.array([[s.values[0] for s in getattr(result, order)] for result in alone])
        errors = [s.spread.standard_errors[0] for s in getattr(found, order)]
        biases = [s.spread.biases[0] for s in getattr(found, order)]
        base = [s.values[0] for s in getattr(found, order)]
        assert errors == pytest.approx(values.std(axis=0, ddof=1), rel=1e-6)
        assert biases == pytest.approx(values.mean(axis=0) - base, rel=1e-6, abs=1e-9)


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
