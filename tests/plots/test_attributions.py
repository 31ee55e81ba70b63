"""Plots of attributions: waterfalls of rows, mean sizes, and points of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import vl_convert
from onnxplain_server.methods.attributions import Result
from onnxplain_server.methods.attributions.result import mean_absolute
from onnxplain_server.plots.attributions import plots
from onnxplain_server.plots.elements.chart import Plot

ADDS_UP = np.zeros(1)


def result(values: Any, *, errors: Any = None, weights: Any = None, **others: Any) -> Result:
    """Values, (n_rows, n_features), of one output whose base value is 10."""
    own = np.asarray(values, dtype=float)[:, :, None]
    n, width = own.shape[:2]
    names = tuple(f"f{j}" for j in range(width))
    texts = np.array([f"t{i}" for i in range(n)], dtype=object)
    given: dict[str, Any] = {
        "output_names": ("price",),
        "features": tuple((name,) for name in names),
        "row_indices": np.arange(n) + 3,
        "base_values": np.array([10.0]),
        "predictions": 10 + own.sum(axis=1),
        "values": own,
        "standard_errors": own[:0] if errors is None else np.asarray(errors)[:, :, None],
        "additivity_errors": ADDS_UP,
        "interactions": own[:, :0],
        "names": names,
        "feature_values": (texts, *(np.arange(n) * 1.5 for _ in range(width - 1))),
    }
    sizes = mean_absolute(own, np.ones(n) if weights is None else np.asarray(weights))
    means = {"mean_absolute_values": sizes[0], "mean_absolute_standard_errors": sizes[1]}
    return Result(**{**given, **means, **others})


def bars(plot: Plot) -> list[dict[str, Any]]:
    return list(plot.vega_lite["data"]["values"])


def test_a_waterfall_leads_from_the_average_to_the_prediction() -> None:
    (plot,) = plots(result([[1.0, -4.0, 0.5]]))

    assert plot.name == "attributions-row-3"
    assert [bar["label"] for bar in bars(plot)] == ["f1 = 0", "f0 = t0", "f2 = 0"]
    assert [(bar["start"], bar["end"]) for bar in bars(plot)] == [
        (11.5, 7.5),
        (10.5, 11.5),
        (10, 10.5),
    ]
    assert [bar["text"] for bar in bars(plot)] == ["−4", "+1", "+0.5"]
    assert "Prediction 7.5, average of the background 10" in plot.description


def test_values_that_add_up_to_no_sum_begin_at_the_average() -> None:
    (plot,) = plots(result([[1.0, -4.0]], additivity_errors=np.zeros(0)))

    assert [bar["start"] for bar in bars(plot)] == [10, 10]
    assert "Banzhaf values add up to no known sum" in plot.description


def test_many_small_values_are_one_bar() -> None:
    (plot,) = plots(result([np.linspace(20, 1, 20)]))

    assert len(bars(plot)) == 12
    assert bars(plot)[-1]["label"] == "9 other features"
    assert bars(plot)[0]["end"] == pytest.approx(10 + np.linspace(20, 1, 20).sum())


def test_values_that_are_no_number_are_words() -> None:
    own = tuple(np.array([value]) for value in (np.nan, np.inf, -np.inf))
    (plot,) = plots(result([[3.0, 2.0, 1.0]], feature_values=own))

    labels = [bar["label"] for bar in bars(plot)]
    assert labels == ["f0 = missing", "f1 = infinite", "f2 = minus infinite"]


def test_estimated_values_have_lines_of_one_standard_error() -> None:
    (plot,) = plots(result([[2.0, -1.0]], errors=np.array([[0.25, 0.5]])))

    assert [(bar["low"], bar["high"]) for bar in bars(plot)] == [(10.75, 11.25), (8.5, 9.5)]
    assert "± 1 standard error" in plot.description


def test_each_row_and_feature_is_a_point_whatever_the_feature() -> None:
    """Text has no rank, and is grey."""
    values = np.random.default_rng(0).normal(size=(30, 3))
    sizes, points = plots(result(values))

    assert sizes.name == "attributions-size"
    ranks = [point["rank"] for point in bars(points)]
    assert len(ranks) == 90
    assert ranks.count(None) == 30
    svg = vl_convert.vegalite_to_svg(points.vega_lite)
    assert svg.count('aria-roledescription="circle"') == 90
    assert "Grey: text" in points.description


def test_rows_of_weight_0_have_points_and_no_mean_sizes() -> None:
    values = np.array([[0.1, 5.0]] * 8)
    (points,) = plots(result(values, weights=np.zeros(8)))

    assert "f1 has the largest mean size" in points.description
