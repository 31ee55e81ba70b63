"""Plots of attributions: waterfalls and lines of rows, mean sizes, points of all rows, pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import vl_convert
from onnxplain_server.methods.attributions import Result
from onnxplain_server.methods.attributions.result import mean_absolute
from onnxplain_server.plots.attributions import plots
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.style import MISSING_COLOUR

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
    counts = {"weighted_row_count": n if weights is None else int(np.count_nonzero(weights))}
    given |= {**counts, "are_drawn": True}
    return Result(**{**given, **means, **others})


def bars(plot: Plot) -> list[dict[str, Any]]:
    return list(plot.vega_lite["data"]["values"])


def drawn(result: Result) -> dict[str, Plot]:
    return {plot.name: plot for plot in plots(result)}


def along(result: Result, feature: str) -> Plot:
    return drawn(result)[f"attributions-dependence-{feature}"]


def columns(*values: Any) -> tuple[np.ndarray, ...]:
    """Values of features at the rows explained."""
    return tuple(np.array(own, object if isinstance(own[0], str) else float) for own in values)


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
    sizes, points, *_ = plots(result(values))

    assert sizes.name == "attributions-size"
    ranks = [point["rank"] for point in bars(points)]
    assert len(ranks) == 90
    assert ranks.count(None) == 30
    svg = vl_convert.vegalite_to_svg(points.vega_lite)
    assert svg.count('aria-roledescription="circle"') == 90
    assert svg.count(f'fill="{MISSING_COLOUR}"') == 30
    assert "Grey: text" in points.description


@pytest.mark.parametrize("count", [300, 1_000])
def test_rows_along_a_feature_are_thinned_evenly(count: int) -> None:
    plot = along(result(np.ones((count, 2))), "f1")

    rows = [int(point["row"].removeprefix("row ").replace(",", "")) for point in bars(plot)]
    assert len(rows) == 300
    assert (rows[0], rows[-1]) == (3, count + 2)
    assert set(np.diff(rows)) <= {count // 300, count // 300 + 1}
    assert f"300 of {count:,} rows explained" in plot.description


def test_the_features_of_the_largest_values_have_points_along_them() -> None:
    """Not those that are constant, and not groups; the largest mean sizes, not sums."""
    values = np.outer([1, -1] * 5, [9.0, 1, 2, 8, 7, 3, 0.5])
    names = [f"f{j}" for j in range(7)]
    groups = {
        "features": (("f0", "f1"), *((name,) for name in names[2:])),
        "feature_values": columns(
            *([*range(10)] for _ in range(3)), [4.0] * 10, *[[*range(10)]] * 3
        ),
        "names": tuple(names),
    }
    found = drawn(result(values[:, [0, 2, 3, 4, 5, 6]], **groups))

    shown = [name for name in found if "dependence" in name]
    assert shown == [f"attributions-dependence-f{j}" for j in (4, 5, 2)]


def test_points_lie_at_the_values_of_the_feature_and_missing_ones_apart() -> None:
    """Infinite ones have no place, and are counted."""
    own = columns(["a"] * 8, [1, 2, np.nan, 4, 5, 6, np.inf, 8])
    values = np.column_stack([np.zeros(8), np.arange(8.0) - 2])
    plot = along(result(values, feature_values=own), "f1")

    points = bars(plot)
    assert [point["value"] for point in points] == [-2, -1, 0, 1, 2, 3, 5]
    assert [point["x"] for point in points if point["own"] != "missing"] == [1, 2, 4, 5, 6, 8]
    assert points[2]["own"] == "missing"
    assert points[2]["x"] > 8
    assert "lowest, −2 at 1, and highest, 5 at 8" in plot.description
    assert "Not shown: 1 of 8 rows" in plot.description


def test_points_of_few_equal_numbers_stand_side_by_side() -> None:
    """Near their number, which the tooltip tells."""
    own = columns(["a"] * 40, [1, 2, 4, np.nan] * 10)
    points = bars(along(result(np.ones((40, 2)), feature_values=own), "f1"))

    ones = [point["x"] for point in points if point["own"] == "1"]
    assert len({*ones}) == 10
    assert np.mean(ones) == pytest.approx(1, abs=0.02)
    assert ones == pytest.approx(np.ones(10), abs=0.1)


def test_texts_are_ordered_by_their_mean_value() -> None:
    own = columns(["low", "high", "low", "high", "", "mid", "high", "mid"], [*range(8)])
    values = np.column_stack([[-3.0, 5, -1, 4, 9, 1, 3, 2], np.zeros(8)])
    plot = along(result(values, feature_values=own), "f0")

    encoding = plot.vega_lite["layer"][1]["encoding"]
    assert encoding["y"]["sort"] == ["high", "mid", "low", "missing"]
    assert [(point["x"], point["value"]) for point in bars(plot)[:2]] == [("low", -3), ("high", 5)]


def test_points_have_the_colour_of_the_strongest_partner() -> None:
    """Interactions of f1 with f0 cancel out in their sum, but are the largest in size."""
    n = 600
    signs = np.array([1.0, -1] * 300)
    pairs = {(0, 1): 0.5 * signs, (1, 2): np.full(n, 0.4), (0, 2): np.full(n, 0.1)}
    joint = np.stack([pairs[pair] for pair in combinations(range(3), 2)], axis=1)[:, :, None]
    given = result(np.ones((n, 3)), interactions=joint)

    largest = "with the largest mean absolute interaction"
    assert f"Colour: f1, {largest}, 0.5" in along(given, "f0").description
    assert f"Colour: f0, {largest}, 0.5" in along(given, "f1").description
    assert f"Colour: f1, {largest}, 0.4" in along(given, "f2").description
    points = bars(along(given, "f1"))
    rows = [int(point["row"].removeprefix("row ")) - 3 for point in points]
    assert [point["other"] for point in points] == [f"t{row}" for row in rows]
    assert sum("series" in point for point in points) == 7
    ranks = [point["rank"] for point in bars(along(given, "f2"))]
    assert ranks == pytest.approx(np.linspace(0, 1, 300), abs=1e-3)


def test_interactions_within_rounding_give_no_colour() -> None:
    plot = along(result(np.ones((10, 2)), interactions=np.full((10, 1, 1), 1e-9)), "f1")

    assert "No colour" in plot.description
    assert "other" not in bars(plot)[0]


@pytest.mark.parametrize("is_text", [False, True])
def test_without_interactions_colours_are_by_what_values_vary_with(is_text: bool) -> None:
    """The slope along f1 turns with f3; f2 is noise, and f0 goes along with f1 itself."""
    rng = np.random.default_rng(0)
    x, other, noise = rng.uniform(-1, 1, (3, 300))
    turn = ["up" if one > 0 else "down" for one in other] if is_text else other
    own = columns(x + 0.1 * noise, x, noise, turn)
    values = np.zeros((300, 4))
    values[:, 1] = x * np.sign(other) + 0.1 * rng.normal(size=300)
    plot = along(result(values, feature_values=own), "f1")

    assert "Colour: f3, with which values vary most among rows of like f1" in plot.description


@pytest.mark.parametrize(
    ("slope", "curvature", "other", "noise"),
    [
        pytest.param(0, 0, 0, 1, id="noise, beside many features"),
        pytest.param(0, 1, 0, 0, id="a curve, along which another feature goes"),
        pytest.param(10, 0, 0.1, 0, id="another feature, too little to be seen"),
    ],
)
def test_values_of_a_feature_that_acts_alone_have_no_colour(
    slope: float, curvature: float, other: float, noise: float
) -> None:
    rng = np.random.default_rng(0)
    x, aside, sign, own_noise = rng.normal(size=(4, 300))
    own = columns(x + 0.01 * aside, x, sign, *rng.normal(size=(20, 300)))
    values = np.zeros((300, 23))
    values[:, 1] = slope * x + curvature * np.exp(x) + other * np.sign(sign) + noise * own_noise
    plot = along(result(values, feature_values=own), "f1")

    assert "No colour" in plot.description


def test_lines_of_rows_lead_from_the_average_to_their_predictions() -> None:
    given = result([[1.0, -4.0, 0.5], [2.0, 1.0, 0.25]])
    plot = drawn(given)["attributions-decision"]

    lines = {name: [p for p in bars(plot) if p["row"] == name] for name in ("row 3", "row 4")}
    assert [point["sum"] for point in lines["row 3"]] == [10, 10.5, 11.5, 7.5]
    assert [point["sum"] for point in lines["row 4"]] == [10, 10.25, 12.25, 13.25]
    assert [point["added"] for point in lines["row 4"]] == [
        "average",
        "f2 = 1.5",
        "f0 = t1",
        "f1 = 1.5",
    ]
    labels = plot.vega_lite["layer"][2]["encoding"]["y"]["axis"]["labelExpr"]
    assert labels.startswith('["f2", "f0", "f1"]')
    assert "row 3 at 7.5 and row 4 at 13.25" in plot.description


def test_rows_whose_values_are_not_finite_have_no_line() -> None:
    plot = drawn(result([[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0]]))["attributions-decision"]

    assert {point["row"] for point in bars(plot)} == {"row 3", "row 5"}
    assert "Not shown, as not finite: 1 of 3 rows" in plot.description


def test_the_smallest_of_many_values_are_one_step() -> None:
    values = np.linspace(20, 1, 20) * np.array([[1], [-1]])
    plot = drawn(result(values))["attributions-decision"]

    steps = [point for point in bars(plot) if point["row"] == "row 4"]
    assert len(steps) == 13
    assert (steps[1]["added"], steps[1]["value"]) == ("9 other features", pytest.approx(-45))
    assert steps[-1]["sum"] == pytest.approx(10 + values[1].sum())


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(result([[1.0, 2.0]]), id="one row"),
        pytest.param(result([[1.0, 2.0]] * 2, additivity_errors=np.zeros(0)), id="Banzhaf values"),
        pytest.param(result([[1.0, np.nan], [1.0, 2.0]]), id="one row of finite values"),
    ],
)
def test_lines_need_two_rows_whose_values_add_up(given: Result) -> None:
    assert "attributions-decision" not in drawn(given)


def cells(plot: Plot) -> tuple[dict[str, float], dict[str, float]]:
    """Return the sizes of main effects and of interactions by their names."""
    diagonal, pairs = (layer["data"]["values"] for layer in plot.vega_lite["layer"])
    return (
        {row["name"]: row["effects"] for row in diagonal},
        {row["name"]: row["size"] for row in pairs},
    )


def test_cells_are_mean_sizes_of_main_effects_and_interactions() -> None:
    """The main effect of f1 is 2 - (1 + 3) / 2 = 0 in row 3, and 2 - (-1 + 1) / 2 = 2 in row 4."""
    joint = np.array([[1.0, 0, 3], [-1, 0, 1]])[:, :, None]
    plot = drawn(result([[5.0, 2, 1], [5, 2, 1]], interactions=joint))["attributions-pairs"]

    assert cells(plot) == (
        {"f0": 5, "f1": 1, "f2": 0.5},
        {"f0 × f1": 1, "f0 × f2": 0, "f1 × f2": 2},
    )
    assert "f1 × f2 is strongest at 2, then f0 × f1 at 1" in plot.description


def test_pairs_of_the_largest_features_are_shown() -> None:
    sizes = np.arange(14.0)
    joint = np.stack([np.full(2, 0.1 * (14 - a)) for a, _ in combinations(range(14), 2)], axis=1)
    plot = drawn(result([sizes, -sizes], interactions=joint[:, :, None]))["attributions-pairs"]

    effects, pairs = cells(plot)
    assert list(effects) == [f"f{j}" for j in range(13, 1, -1)]
    assert len(pairs) == 66
    assert "12 of 14 features, those of the largest values" in plot.description
    assert "Of the pairs shown, no one stands out: f2 × f3 at 1.2" in plot.description


def test_a_single_row_has_no_matrix_of_mean_sizes() -> None:
    assert "attributions-pairs" not in drawn(result([[1.0, 2.0]], interactions=np.ones((1, 1, 1))))


def odd(n: int, *, is_estimated: bool = False) -> Result:
    """Two outputs, a group, odd names; values that are missing, infinite, constant, NaN."""
    rng = np.random.default_rng(0)
    names = ("quo\"te's", "constructor", "", "row", "a_name_as_long_as_those_of_encoders" * 3)
    own = columns(["", "long text " * 9, "c"] * n, rng.normal(size=3 * n), [7] * 3 * n,
                  [np.nan, np.inf, 1] * n, [1e-300, 1e300, 0] * n)  # fmt: skip
    values = rng.normal(size=(n, 4, 2))
    values[0, 0, 0] = np.nan
    errors = np.abs(np.nan_to_num(values)) if is_estimated else values[:0]
    pairs = values[:, :0] if is_estimated else rng.normal(size=(n, 6, 2))
    return dataclasses.replace(
        result(values[:, :, 0]),
        output_names=("<b>&amp;", "price_of_a_house" * 5),
        features=((names[0], names[1]), *((name,) for name in names[2:])),
        names=names,
        feature_values=tuple(column[:n] for column in own),
        base_values=np.array([10.0, -1e5]),
        predictions=np.nansum(values, axis=1) + np.array([10.0, -1e5]),
        values=values,
        standard_errors=errors,
        additivity_errors=np.zeros(2),
        interactions=pairs,
        mean_absolute_values=np.abs(values).mean(axis=0),
        mean_absolute_standard_errors=np.full((4, 2), np.nan),
    )


@pytest.mark.parametrize("is_estimated", [False, True])
@pytest.mark.parametrize("n", [2, 6, 7, 30])
def test_odd_answers_can_be_drawn_and_read(
    check_readable: Callable[[Plot], None], n: int, is_estimated: bool
) -> None:
    for plot in plots(odd(n, is_estimated=is_estimated)):
        check_readable(plot)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "of 8 rows. Lines: ± 1 standard error, as of rows that are drawn from many."),
        ({"weights": [0, 2, 1, 0, 1, 1, 1, 1], "are_drawn": False},
         "of 6 rows, without 2 of weight 0."),
        ({"weights": [0] * 7 + [1]}, "of 1 row, without 7 of weight 0."),
    ],
    ids=["drawn", "named, some of weight 0", "one row, without errors"],
)  # fmt: skip
def test_mean_sizes_are_those_of_rows_that_count(given: dict[str, Any], told: str) -> None:
    """Only rows that were drawn have an error of the draw."""
    sizes, *_ = plots(result(np.outer(np.arange(1.0, 9), [1, 2]), **given))

    assert sizes.name == "attributions-size"
    assert told in sizes.description
    assert ("Lines" in sizes.description) == ("Lines" in told)
    assert any("low" in bar for bar in bars(sizes)) == ("Lines" in told)


def test_rows_of_weight_0_have_points_and_no_mean_sizes() -> None:
    values = np.array([[0.1, 5.0]] * 8)
    points, *others = plots(result(values, weights=np.zeros(8)))

    assert len(others) == 2
    assert "f1 has the largest mean size" in points.description
