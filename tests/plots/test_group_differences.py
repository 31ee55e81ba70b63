"""Differences between groups of partial dependence, drawn with their bands."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods.partial_dependence import (
    GroupDifference,
    PartialDependenceCurve,
    Result,
)
from onnxplain_server.methods.resampling import Band
from onnxplain_server.plots.partial_dependence import plots

GRID = (np.arange(4.0),)
CITIES = (np.array(["Bern", "Chur", "Genf", "Zug"], object),)
REACH = np.array([1.0, 1.0, 1.0, 4.0])[:, None]


def result(
    grid, *steps: float, features: tuple[str, ...] = ("age",), reach: np.ndarray = REACH
) -> Result:
    """Curves of a group u and of others, whose differences to u rise by steps from -1."""
    base = np.zeros((4, 1))
    curves, differences = [PartialDependenceCurve(features, "u", grid, base, 9.0)], []
    for number, step in enumerate(steps):
        values = np.arange(4.0)[:, None] * step - 1
        band = Band(
            reach / 2, values - reach / 2, values + reach / 2, values - reach, values + reach
        )
        name = f"v{number}"
        curves.append(PartialDependenceCurve(features, name, grid, values, 5.0))
        differences.append(GroupDifference(features, name, "u", grid, values, band))
    return Result(("price",), tuple(curves), {}, "sex", (), 0.9, tuple(differences))


@pytest.mark.parametrize("grid", [GRID, CITIES], ids=["numbers", "texts"])
def test_differences_are_drawn_with_their_bands_beside_no_difference(check_readable, grid) -> None:
    *_, plot = plots(result(grid, 2.0, 0.5))

    check_readable(plot)
    assert plot.name == "difference-age"
    assert plot.title == "Partial dependence of price on age: differences to sex u"
    rows = plot.vega_lite["data"]["values"]
    ends = [(row["value"], row["low"], row["high"], row["wide_low"]) for row in rows]
    assert ends[2] == (3, 2.5, 3.5, 2)
    (zero,) = [
        layer for layer in plot.vega_lite["layer"] if layer["mark"].get("strokeDash") == [4, 3]
    ]
    assert zero["data"]["values"] == [{"value": 0}]


def test_points_beyond_the_band_of_the_whole_curve_are_told() -> None:
    """Of v0 (-1, 1, 3 and 5), by 1, 1, 1 and 4: those above 0 are 3 and 5, not -1 and 1."""
    *_, plot = plots(result(GRID, 2.0, 0.5))

    assert "Beyond the band of the whole curve: v0 at 2 of 4 points, most surely at 2." in (
        plot.description
    )
    *_, near = plots(result(GRID, 0.5))
    assert "No difference is beyond the band of its whole curve" in near.description
    assert near.title.endswith("on age: difference of v0 to sex u")


def test_a_band_without_width_is_as_sure_as_any() -> None:
    *_, plot = plots(result(GRID, 2.0, reach=REACH * np.array([1, 1, 0, 1])[:, None]))

    assert "v0 at 2 of 4 points, most surely at 2." in plot.description


def test_surfaces_and_groups_without_bands_have_no_differences_drawn() -> None:
    grid = (np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1]))
    surface = plots(result(grid, 2.0, features=("age", "size")))
    alone = plots(Result(("price",), result(GRID, 2.0).curves, {}, "sex"))

    assert not [plot.name for plot in (*surface, *alone) if "difference" in plot.name]
