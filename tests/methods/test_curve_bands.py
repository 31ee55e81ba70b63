"""Bands of curves: by their definition, and by laws that replicates obey."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.row_draws import poisson_counts
from onnxplain_server.methods.partial_dependence import Options, Result
from onnxplain_server.methods.resampling import Deviations, Resampling, t_quantile
from onnxplain_server.methods.sampled import curve_bands, replicated_curves
from onnxplain_server.plots.partial_dependence import plots

N, REPEATS, LEVEL = 60, 40, 0.8
QUESTION = ("weight_column", "cluster_column", "row_count")


def tangled(a, b):
    return a * b + np.abs(b)


def table(seed: int = 0, n: int = N) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "a": random.integers(0, 6, n) + 0.0,
        "b": random.normal(size=n),
        "w": random.integers(1, 4, n) + 0.0,
        "g": np.where(random.random(n) < 0.4, "u", "v").astype(object),
        "c": random.integers(0, 20, n) + 0.0,
    }


def explained(make, columns, **given) -> tuple[Result, int]:
    question = {name: given.pop(name) for name in QUESTION if name in given}
    asked: dict[str, Any] = {
        "features": (("a",),),
        "resampling": Resampling(REPEATS, confidence_level=LEVEL),
    }
    model = make.model(tangled, ["a", "b"], ["double", "double"])
    answer = make.answer(model, make.table(columns), Options(**asked | given), **question)
    return answer.explanations[0].result, model.predicted


def replicates(columns, rows, grid, keys, weights):
    """Average under each replicate by the definition: (n_replicates, n_points)."""
    counts = poisson_counts(keys[rows], 0, range(REPEATS)) * weights[rows]
    curves = np.stack([tangled(point, columns["b"][rows]) for point in grid], axis=1)
    return counts @ curves / counts.sum(axis=1, keepdims=True)


def check(band, values, drawn, count: float) -> None:
    """Compare a band of one output with its definition."""
    errors = drawn.std(axis=0, ddof=1)
    largest = (np.abs(drawn - drawn.mean(axis=0)) / errors).max(axis=1)
    single = t_quantile(LEVEL, count, REPEATS)
    whole = np.quantile(largest, LEVEL) * single / NormalDist().inv_cdf((1 + LEVEL) / 2)
    assert whole > single
    for found, expected in (
        (band.standard_errors, errors),
        (band.lower, values - single * errors),
        (band.upper, values + single * errors),
        (band.simultaneous_lower, values - whole * errors),
        (band.simultaneous_upper, values + whole * errors),
    ):
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("is_sampled", [False, True], ids=["all rows", "sampled rows"])
@pytest.mark.parametrize("are_clusters", [False, True], ids=["rows", "clusters"])
def test_bands_are_those_of_replicates_of_the_curve(
    make, monkeypatch: pytest.MonkeyPatch, are_clusters: bool, is_sampled: bool
) -> None:
    columns, rows = table(), np.arange(N)
    if is_sampled:
        monkeypatch.setattr(curve_bands, "_MAX_WEIGHTS", 0)
    clusters = {"cluster_column": "c"} if are_clusters else {}
    keys = columns["c"].astype(int) if are_clusters else rows
    found, _ = explained(make, columns, weight_column="w", **clusters)
    plain, _ = explained(make, columns, weight_column="w", resampling=Resampling())

    (curve,), (without,) = found.curves, plain.curves
    drawn = replicates(columns, rows, curve.grid[0], keys, columns["w"])
    totals = np.bincount(np.unique(keys, return_inverse=True)[1], columns["w"])
    np.testing.assert_allclose(curve.values, without.values)
    check(curve.band, curve.values[:, 0], drawn, totals.sum() ** 2 / (totals**2).sum())


def test_groups_differ_by_replicates_that_share_their_clusters(make) -> None:
    columns = table()
    found, _ = explained(make, columns, group_column="g", cluster_column="c")

    first, second = found.curves
    (difference,) = found.differences
    keys, drawn, counts = columns["c"].astype(int), [], []
    for group in "uv":
        rows = np.flatnonzero(columns["g"] == group)
        drawn.append(replicates(columns, rows, first.grid[0], keys, np.ones(N)))
        sizes = np.unique(keys[rows], return_counts=True)[1]
        counts.append(sizes.sum() ** 2 / (sizes**2).sum())
    assert (difference.group, difference.reference_group) == ("v", "u")
    np.testing.assert_allclose(difference.values, second.values - first.values)
    check(difference.band, difference.values[:, 0], drawn[1] - drawn[0], min(counts))


@pytest.mark.parametrize("features", [(("a",),), (("a", "b"),)], ids=["curve", "surface"])
def test_bands_cost_no_prediction_and_do_not_depend_on_parts_of_the_grid(
    make, monkeypatch: pytest.MonkeyPatch, features
) -> None:
    asked: Any = {"features": features, "grid_size": 30}
    whole, predicted = explained(make, table(), **asked)
    _, plain = explained(make, table(), **asked, resampling=Resampling())
    monkeypatch.setattr(replicated_curves, "_MAX_NUMBERS", 3 * N)
    parts, _ = explained(make, table(), **asked)

    assert predicted == plain
    for field in ("standard_errors", "simultaneous_lower", "simultaneous_upper"):
        one, other = (getattr(each.curves[0].band, field) for each in (whole, parts))
        np.testing.assert_allclose(other, one, rtol=1e-9)


def test_some_rows_tell_the_spread_of_all(make, monkeypatch: pytest.MonkeyPatch) -> None:
    """By law: the standard error of 4,000 rows, from 500 of them; in mean within its own error."""
    columns = table(n=4_000)
    asked: Any = {"resampling": Resampling(400), "row_count": 4_000}
    whole, _ = explained(make, columns, **asked)
    monkeypatch.setattr(curve_bands, "_MAX_WEIGHTS", 0)
    some, predicted = explained(make, columns, **asked)

    band, whole_band = some.curves[0].band, whole.curves[0].band
    assert band is not None
    assert whole_band is not None
    ratios = band.standard_errors / whole_band.standard_errors
    assert predicted == 6 * 4_500
    assert float(np.mean(ratios)) == pytest.approx(1, abs=0.12)


def test_a_point_without_spread_has_a_band_without_width() -> None:
    random = np.random.default_rng(0)
    deviations = np.stack([random.normal(size=200), np.full(200, 1e-16)], axis=1)[:, :, None]
    values = np.array([[1.0], [5.0]])

    found = Deviations()
    found.add(deviations, np.array([5.0]))
    band = found.band(values, 0.9, 200)

    assert band.simultaneous_lower[1] == band.simultaneous_upper[1] == 5
    assert band.lower[0] >= band.simultaneous_lower[0]


def test_independent_points_need_the_quantile_of_their_largest_deviation() -> None:
    """By law: of m independent normal points, level^(1/m) of each are within the band."""
    random, points = np.random.default_rng(1), 20
    found = Deviations()
    for part in np.split(random.normal(size=(20_000, points, 1)), 4, axis=1):
        found.add(part, np.ones(1))
    band = found.band(np.zeros((points, 1)), 0.9, 1e9)

    reach = band.simultaneous_upper / band.standard_errors
    expected = NormalDist().inv_cdf((1 + 0.9 ** (1 / points)) / 2)
    assert reach == pytest.approx(np.full((points, 1), expected), rel=0.02)


def test_below_two_replicates_nothing_is_known() -> None:
    found = Deviations()
    found.add(np.array([[[0.0]], [[np.nan]]]), np.ones(1))

    band = found.band(np.ones((1, 1)), 0.9, 100)

    assert np.isnan([band.standard_errors, band.lower, band.simultaneous_upper]).all()


def test_plots_draw_both_bands_and_tell_what_they_are(make) -> None:
    found, _ = explained(make, table())
    (plot,) = plots(found)

    band = found.curves[0].band
    assert band is not None
    rows = plot.vega_lite["data"]["values"]
    assert [row["wide_low"] for row in rows] == pytest.approx(
        band.simultaneous_lower[:, 0].tolist()
    )
    assert [row["high"] for row in rows] == pytest.approx(band.upper[:, 0].tolist())
    areas = [one["mark"] for one in plot.vega_lite["layer"] if one["mark"].get("type") == "area"]
    assert [area["opacity"] for area in areas] == sorted(area["opacity"] for area in areas)
    assert "Dark band: 80 % interval of each point by itself; pale: of it as a whole" in (
        plot.description
    )
