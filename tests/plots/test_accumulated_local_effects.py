"""Curves of accumulated effects with bands, and heat maps of two features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.accumulated_local_effects import AccumulatedLocalEffect, Result
from onnxplain_server.methods.resampling import Band
from onnxplain_server.plots.accumulated_local_effects import plots
from onnxplain_server.plots.elements.chart import Plot

Check = Callable[[Plot], None]


def effect(grid: list[Any], values: Any, group: str = "", **given: Any) -> AccumulatedLocalEffect:
    columns = [np.array(c, object if isinstance(c[0], str) else float) for c in grid]
    numbers = np.array(values, float).reshape(len(columns[0]), -1)
    ones = np.ones(len(numbers))
    names = tuple("ab"[: len(columns)])
    known = {"weight": 4.0, "missing_weight": 0.0, "bin_weights": ones, "row_weights": ones}
    return AccumulatedLocalEffect(
        names, group, tuple(columns), numbers, numbers.mean(axis=0), **{**known, **given}
    )


def drawn(*curves: AccumulatedLocalEffect, level: float = 0.0, group_column: str = "") -> Plot:
    names = tuple(f"y{k}" for k in range(curves[0].values.shape[1]))
    samples = {"a": curves[0].grid[0], "b": curves[0].grid[-1]}
    (plot,) = plots(Result(names, curves, level, samples, group_column))
    return plot


def test_a_curve_has_a_band_and_says_what_it_is(check_readable: Check) -> None:
    low, high = np.array([[-2.0], [-1], [1]]), np.array([[0.0], [1], [3]])
    band = Band((high - low) / 4, low, high, low - 1, high + 1)
    plot = drawn(effect([[1, 2, 5]], [-1, 0, 2], band=band), level=0.9)

    check_readable(plot)
    assert [(r["low"], r["high"]) for r in plot.vega_lite["data"]["values"]] == [
        (-2, 0),
        (-1, 1),
        (1, 3),
    ]
    assert plot.name == "effect-a"
    assert "Effect rises from −1 at 1 to 2 at 5; 0 is the mean" in plot.description
    assert (
        "Dark band: 90 % interval of each point by itself; pale: of it as a whole"
        in plot.description
    )


@pytest.mark.parametrize("grid", [[1.0, 2, 5], ["u", "v", ""]])
def test_rows_without_a_value_are_told(check_readable: Check, grid: list[Any]) -> None:
    plot = drawn(effect([grid], [-1, 0, 2], missing_weight=7.0))

    check_readable(plot)
    assert "Left out, without a value: rows of weight 7." in plot.description
    assert "Band" not in plot.description


def test_text_stands_in_the_order_in_which_effects_are_added_up(check_readable: Check) -> None:
    plot = drawn(effect([["u", "v", "w"]], [0, 2, -1]))

    check_readable(plot)
    assert [row["x"] for row in plot.vega_lite["data"]["values"]] == ["u", "v", "w"]
    dots = next(layer for layer in plot.vega_lite["layer"] if "y" in layer["encoding"])
    assert dots["encoding"]["y"]["sort"] == ["u", "v", "w"]


def test_groups_with_points_of_their_own_share_an_axis(check_readable: Check) -> None:
    one, two = effect([[1, 2]], [-1, 1], "g"), effect([[2, 3, 4]], [-1, 0, 1], "h")
    plot = drawn(one, two, group_column="c")

    check_readable(plot)
    assert sorted(row["x"] for row in plot.vega_lite["data"]["values"]) == [1, 2, 2, 3, 4]


def test_a_heat_map_crosses_out_places_without_rows(
    check_readable: Check,
) -> None:
    grid = [[1, 2, 1, 2], [3, 3, 4, 4]]
    plot = drawn(effect(grid, [0.5, -0.5, -0.5, 1.5], row_weights=np.array([1.0, 1, 0, 2])))

    check_readable(plot)
    assert plot.name == "effect-a-b"
    assert "highest 1.5 at a = 2 and b = 4" in plot.description
    assert "Crossed: no rows" in plot.description


def test_a_flat_effect_is_called_that(check_readable: Check) -> None:
    plot = drawn(effect([[1, 2]], [0, 0]))

    check_readable(plot)
    assert "The effect stays the same." in plot.description


def test_cells_whose_band_holds_0_are_veiled_and_all_tell_their_interval(
    check_readable: Check,
) -> None:
    """Of four cells, the band of the whole holds 0 in the second, whose own interval does not."""
    values = np.array([[-4.0], [2.0], [0.5], [8.0]])
    own, whole = np.array([[1.0], [1], [0.25], [2]]), np.array([[2.0], [3], [0.4], [3]])
    band = Band(own / 2, values - own, values + own, values - whole, values + whole)

    plot = drawn(effect([[1, 2, 1, 2], [1, 1, 2, 2]], values, band=band), level=0.9)

    check_readable(plot)
    cells = plot.vega_lite["data"]["values"]
    assert [row.get("veiled", False) for row in cells] == [False, True, False, False]
    assert [(row["low"], row["high"]) for row in cells] == [(-5, -3), (1, 3), (0.25, 0.75), (6, 10)]
    assert "Veiled: 1 of 4 cells whose band of the whole holds 0" in plot.description
    assert "90 % intervals of cells: ± 1 at the median, ± 2 at most" in plot.description
    tips = plot.vega_lite["layer"][0]["encoding"]["tooltip"]
    assert [tip["title"] for tip in tips][:3] == ["effect together", "interval from", "to"]
    assert [{"filter": "datum.veiled"}] in [
        layer.get("transform") for layer in plot.vega_lite["layer"]
    ]


def test_surfaces_without_replicates_have_neither(check_readable: Check) -> None:
    plot = drawn(effect([[1, 2, 1, 2], [1, 1, 2, 2]], [0, 0, 0, 1]))

    check_readable(plot)
    assert "Veiled" not in plot.description
    assert "interval" not in str(plot.vega_lite)
