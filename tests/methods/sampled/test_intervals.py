"""Intervals of averages from a sample of the rows: textbook cases, laws, and other tables."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods import partial_dependence, permutation_importance
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.resampling import RowUnits
from onnxplain_server.methods.sampled import partial_dependence as curves
from onnxplain_server.methods.sampled import permutation_importance as shuffles
from onnxplain_server.methods.sampled.intervals import SampledRows
from scipy.stats import t

RANDOM = np.random.default_rng(4)
COUNT, LEVEL = 120, 0.9
A, B = RANDOM.gamma(2.0, size=COUNT), RANDOM.normal(size=COUNT)
WEIGHTS = RANDOM.exponential(size=COUNT)
TARGET = A + B**2


def product(a, b):
    return a * b


def effects(make, weights=None):
    return make.engine(product, {"a": A, "b": B}, weights).effects


def curve(make, whole: int, weights=None):
    points = [(np.array([0.0, 3.0]),)]
    options = partial_dependence.Options(features=(("a",),), grids=({"a": points[0][0]},))
    (found,) = curves.compute(
        effects(make, weights), options, points, SampledRows(whole, LEVEL)
    ).curves
    return found


def importances(make, whole: int):
    options = permutation_importance.Options(
        features=(("a",), ("b",)),
        comparison=Comparison(Loss.SQUARED_ERROR),
    )
    rows = effects(make)
    actual = TARGET[rows.background.source][:, None]
    found = shuffles.influences_of(rows, options, actual, 0, None)
    return found.with_intervals(SampledRows(whole, LEVEL)).importances


def test_the_interval_of_a_curve_is_that_of_a_mean_of_a_finite_population(make) -> None:
    """At a = 3 the rows predict 3 b: mean ± t s / √n · √(1 − n/N)."""
    found = curve(make, whole=4 * COUNT)

    reach = t.ppf(0.95, COUNT - 1) * (3 * B).std(ddof=1) / np.sqrt(COUNT) * np.sqrt(3 / 4)
    assert found.values[:, 0] == pytest.approx([0, 3 * B.mean()])
    assert found.lower[:, 0] == pytest.approx([0, 3 * B.mean() - reach])
    assert found.upper[:, 0] == pytest.approx([0, 3 * B.mean() + reach])


def test_weights_widen_the_interval_of_a_curve_as_those_of_a_ratio(make) -> None:
    """The influence of a row on Σ w f / Σ w is w (f − mean) / mean(w)."""
    found = curve(make, whole=10**9, weights=WEIGHTS)

    mean = np.average(3 * B, weights=WEIGHTS)
    error = np.sqrt(((WEIGHTS * (3 * B - mean) / WEIGHTS.mean()) ** 2).sum() / COUNT / (COUNT - 1))
    degrees = WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum() - 1
    assert found.values[1, 0] == pytest.approx(mean)
    assert found.upper[1, 0] - mean == pytest.approx(t.ppf(0.95, degrees) * error)


def test_a_sample_of_all_rows_knows_the_curve(make) -> None:
    found = curve(make, whole=COUNT)

    assert found.lower.tolist() == found.values.tolist() == found.upper.tolist()


def test_of_all_rows_only_the_chance_of_two_shuffles_is_left(make) -> None:
    for found in importances(make, whole=COUNT):
        reach = t.ppf(0.95, COUNT - 1) * np.sqrt(2) * found.standard_errors
        assert found.upper - found.values == pytest.approx(reach)
        assert found.values - found.lower == pytest.approx(reach)


@pytest.mark.parametrize(
    ("normalize", "repeat_count", "noise"),
    [(False, 20, 1.0), (True, 20, 1.0), (False, 2, 1.0), (False, 4, 1e3)],
    ids=str,
)
def test_an_importance_varies_from_table_to_table_as_its_interval_says(
    make, normalize, repeat_count, noise
) -> None:
    """The reach beside the standard deviation of values of other tables.

    Also where losses vary from row to row far more than what shuffling adds to them.
    """
    options = permutation_importance.Options(
        features=(("a",),),
        comparison=Comparison(Loss.SQUARED_ERROR),
        repeat_count=repeat_count,
        normalize=normalize,
    )
    values, errors, spreads = [], [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        columns = dict(zip("ab", random.normal(size=(2, COUNT)), strict=True))
        rows = make.engine(product, columns).effects
        actual = rows.outputs() + noise * random.normal(size=(COUNT, 1))
        influences = shuffles.influences_of(rows, options, actual, seed, None)
        found = influences.with_intervals(SampledRows(10**9, LEVEL)).importances[0]
        values.append(found.values[0])
        assert found.upper is not None
        errors.append((found.upper - found.values)[0] / t.ppf(0.95, COUNT - 1))
        units = RowUnits(np.arange(COUNT))
        (kept,) = influences.with_replicates(influences.result, units, seed, 100).replicates
        assert kept.values == found.values
        spreads.append(kept.replicates[:, 0, 0].std())

    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.15)
    assert np.sqrt(np.mean(np.square(spreads))) == pytest.approx(np.std(values), rel=0.15)
