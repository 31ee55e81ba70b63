"""Spreads of numbers by resampling rows: replicates, standard errors, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.errors import ExplainError
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions import Options
from onnxplain_server.methods.resampling import Resampling, Scheme, replicate, spread

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

    told = spread(JACKKNIFE, np.array([values.mean()]), replicates)

    assert told.standard_errors == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    assert told.biases == pytest.approx(0, abs=1e-12)
    reach = 1.959964 * told.standard_errors
    assert told.upper - values.mean() == pytest.approx(reach)


def test_jackknife_takes_the_bias_of_a_variance_away() -> None:
    """The mean square is (n - 1) / n of the variance; its jackknife correction is exact."""
    values = np.random.default_rng(0).normal(size=40)
    weights = replicate(JACKKNIFE, np.ones(40), seed=0)
    squares = mean_of(values**2, weights) - mean_of(values, weights) ** 2

    told = spread(JACKKNIFE, np.array([values.var()]), squares)

    assert values.var() - told.biases == pytest.approx(values.var(ddof=1))


def test_bootstrap_of_a_mean_gives_its_textbook_standard_error() -> None:
    values = np.random.default_rng(0).gamma(2, size=200)
    resampling = Resampling(4_000)
    replicates = mean_of(values, replicate(resampling, np.ones(200), seed=0))

    told = spread(resampling, np.array([values.mean()]), replicates)

    assert told.standard_errors == pytest.approx(values.std() / np.sqrt(200), rel=0.05)
    assert told.lower < values.mean() < told.upper
    assert told.upper - told.lower == pytest.approx(2 * 1.96 * told.standard_errors, rel=0.1)


def test_intervals_do_not_reach_below_zero() -> None:
    replicates = np.linspace(0, 0.01, 400)[:, None]

    for resampling in (BOOTSTRAP, JACKKNIFE):
        assert spread(resampling, np.array([0.001]), replicates).lower >= 0


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
        given.check("methods[0].interactions")
