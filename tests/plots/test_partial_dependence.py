"""Curves, dots and heat maps of partial dependence."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve, Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.partial_dependence import plots

Build = Callable[..., PartialDependenceCurve]
Draw = Callable[[Plot], list[Any]]

GRID = np.linspace(0, 10, 11)
RISING = GRID * 2


def drawn(
    *curves: PartialDependenceCurve, outputs: tuple[str, ...] = ("price",), **samples
) -> tuple[Plot, ...]:
    return plots(Result(outputs, curves, {name: np.array(s) for name, s in samples.items()}))


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def values(plot: Plot) -> list[Spec]:
    return list(plot.vega_lite["data"]["values"])


def layers(plot: Plot) -> list[Spec]:
    return list(plot.vega_lite.get("spec", plot.vega_lite)["layer"])


def rug(plot: Plot) -> list[float]:
    return [row["x"] for layer in layers(plot) for row in layer.get("data", {}).get("values", [])]


def colour(plot: Plot) -> Spec:
    encodings = [layer["encoding"] for layer in layers(plot)]
    return next((encoding["color"] for encoding in encodings if "color" in encoding), {})


def test_a_number_becomes_a_line_with_points_over_a_rug_of_the_data(curve: Build) -> None:
    (plot,) = drawn(curve(("age",), (GRID,), RISING), age=[1.0, 3.0, 20.0, np.nan])

    assert plot.name == "curve-age"
    assert [layer["mark"]["type"] for layer in layers(plot)] == ["tick", "line", "point"]
    assert rug(plot) == [1.0, 3.0], "values beyond the grid would stretch the axis"
    assert [(row["x"], row["value"]) for row in values(plot)] == list(
        zip(GRID, RISING, strict=True)
    )
    assert "Ticks along the axis: values in the table" in subtitle(plot)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        pytest.param(RISING, "prediction rises from 0 at 0 to 20 at 10.", id="rises"),
        pytest.param(-RISING, "prediction falls from 0 at 0 to −20 at 10.", id="falls"),
        pytest.param(
            RISING - 3 * (GRID == 10),
            "prediction rises on the whole, from 0 at 0 to 18 at 9.",
            id="less than a tenth back",
        ),
        pytest.param(
            RISING - 5 * (GRID == 10), "lowest 0 at 0; highest 18 at 9.", id="more than a tenth"
        ),
        pytest.param((GRID - 5) ** 2, "lowest 0 at 5; highest 25 at 0.", id="turns"),
        pytest.param(3.1 + 1e-8 * GRID, "The average prediction stays the same", id="constant"),
        pytest.param(np.nan * GRID, "No average prediction is finite", id="broken"),
    ],
)
def test_the_description_says_how_the_prediction_moves(
    curve: Build, numbers: Vector, said: str
) -> None:
    (plot,) = drawn(curve(("age",), (GRID,), numbers))

    assert said in plot.description
    assert plot.vega_lite["description"] == plot.description


def test_a_constant_curve_looks_flat(curve: Build) -> None:
    """Otherwise rounding noise fills the height."""
    (plot,) = drawn(curve(("age",), (GRID,), 3.1 + 1e-8 * GRID))

    assert layers(plot)[0]["encoding"]["y"]["scale"]["domain"] == pytest.approx([0.0, 6.2])


def test_outputs_of_one_kind_share_a_picture_in_colours(curve: Build) -> None:
    (plot,) = drawn(
        curve(("age",), (GRID,), np.column_stack([RISING / 20, 1 - RISING / 20])),
        outputs=("no", "yes"),
    )

    assert colour(plot)["scale"]["domain"] == ["no", "yes"]
    assert colour(plot)["legend"]["title"] == "output"
    assert "facet" not in plot.vega_lite


def test_outputs_of_different_kinds_get_scales_of_their_own(curve: Build) -> None:
    (plot,) = drawn(
        curve(("age",), (GRID,), np.column_stack([RISING * 1e5, RISING])), outputs=("price", "area")
    )

    assert plot.vega_lite["facet"]["sort"] == ["price", "area"]
    assert plot.vega_lite["resolve"] == {"scale": {"y": "independent"}}
    assert not colour(plot)


def test_groups_are_colours_and_outputs_then_panels(curve: Build) -> None:
    two = np.column_stack([RISING, -RISING])
    (one,) = drawn(curve(("age",), (GRID,), RISING, "a"), curve(("age",), (GRID,), RISING, "b"))
    (both,) = drawn(
        curve(("age",), (GRID,), two, "a"), curve(("age",), (GRID,), two, "b"), outputs=("u", "v")
    )

    assert colour(one)["scale"]["domain"] == ["a", "b"]
    assert colour(one)["legend"]["title"] == "group"
    assert "facet" not in one.vega_lite
    assert both.vega_lite["facet"]["sort"] == ["u", "v"]
    assert {(row["panel"], row["series"]) for row in values(both)} == {
        ("u", "a"),
        ("u", "b"),
        ("v", "a"),
        ("v", "b"),
    }


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["(3,5]", "[-1,3]", "(5,12]", "missing"], ["[-1,3]", "(3,5]", "(5,12]", "missing"]),
        (["10", "2"], ["2", "10"]),
        (["west", "east"], ["west", "east"]),
    ],
)
def test_groups_of_numbers_are_sorted_and_others_left(
    curve: Build, given: list[str], shown: list[str]
) -> None:
    (plot,) = drawn(*(curve(("age",), (GRID,), RISING + i, name) for i, name in enumerate(given)))

    assert colour(plot)["scale"]["domain"] == shown


def test_of_many_groups_and_outputs_a_few_are_shown_and_said(curve: Build) -> None:
    many = np.outer(GRID, np.arange(1, 11))
    (grouped,) = drawn(*(curve(("age",), (GRID,), RISING, f"g{i}", weight=i) for i in range(10)))
    (classes,) = drawn(
        curve(("age",), (GRID,), many), outputs=tuple(f"class {i}" for i in range(10))
    )

    assert colour(grouped)["scale"]["domain"] == [f"g{i}" for i in range(3, 10)]
    assert "7 largest of 10 groups" in subtitle(grouped)
    assert colour(classes)["scale"]["domain"] == [f"class {i}" for i in range(3, 10)]
    assert "7 of 10 outputs, those that move most" in subtitle(classes)


def test_a_missing_value_is_a_point_of_its_own_behind_the_curve(curve: Build, draw: Draw) -> None:
    (plot,) = drawn(curve(("age",), ([*GRID, np.nan],), [*RISING, 7.0]))

    last = values(plot)[-1]
    assert (last["missing"], last["point"]) == (True, "missing")
    assert last["x"] > 10
    texts = [text for text in draw(plot) if text.role == "role-axis-label"]
    ticks = [text.content for text in texts]
    assert ticks.count("missing") == 1
    assert {"8", "10"} < set(ticks)
    assert "12" not in ticks, "no number stands where none was evaluated"


def test_strings_become_dots_sorted_by_effect_and_missing_comes_last(curve: Build) -> None:
    (plot,) = drawn(curve(("kind",), (["b", "c", "a", None],), [1.0, 2.0, 3.0, 4.0]))

    assert layers(plot)[0]["encoding"]["y"]["sort"] == ["a", "c", "b", "missing"]
    assert [layer["mark"]["type"] for layer in layers(plot)] == ["point", "point"]
    assert {row["x"]: row["value"] for row in values(plot)}["a"] == 3.0


def test_a_category_called_missing_is_not_the_missing_value(curve: Build) -> None:
    (plot,) = drawn(curve(("kind",), (["missing", None],), [1.0, 2.0]))

    assert [row["x"] for row in values(plot)] == ["missing", "missing (no value)"]


def test_of_many_categories_the_most_frequent_are_shown(curve: Build) -> None:
    names = [f"city {i:02}" for i in range(50)]
    (plot,) = drawn(curve(("city",), (names,), np.arange(50.0)), city=np.array(names[10:], object))

    assert [row["x"] for row in values(plot)] == names[10:]
    assert "40 most frequent of 50 values of city" in subtitle(plot)


def surface(first, second) -> tuple[Array, Array]:
    """Every value of the first with every value of the second, the first fastest."""
    return np.tile(np.array(first), len(second)), np.repeat(np.array(second), len(first))


def borders(plot: Plot, channel: str) -> set[tuple[float, float]]:
    """Read the borders of cells from the lists that a picture computes them from."""
    lists = looked_up(plot)
    return {*zip(lists[f"{channel}1"], lists[f"{channel}2"], strict=True)}


def texts(plot: Plot, channel: str) -> list[str]:
    """Read the texts of the numbers along an axis."""
    return looked_up(plot)[f"{channel}_text"]


def looked_up(plot: Plot) -> dict[str, list[Any]]:
    return {
        one["as"]: json.loads(one["calculate"].split("[indexof")[0])
        for one in plot.vega_lite["transform"]
    }


def test_cells_of_two_numbers_touch_halfway_between_grid_values(curve: Build) -> None:
    grid = surface([0.0, 1.0, 4.0], np.arange(10.0))
    (plot,) = drawn(curve(("x", "y"), grid, np.arange(30.0)))

    assert plot.name == "heat-map-x-y"
    spans = sorted(borders(plot, "x"))
    assert spans == [(-0.5, 0.5), (0.5, 2.5), (2.5, 5.5)]
    assert layers(plot)[0]["encoding"]["color"]["scale"]["scheme"] == "viridis"
    assert layers(plot)[0]["encoding"]["color"]["legend"]["title"] == "price"


def test_few_values_of_the_second_feature_also_become_lines(curve: Build) -> None:
    few = drawn(curve(("x", "y"), surface(GRID, np.arange(9.0)), np.arange(99.0)))
    many = drawn(curve(("x", "y"), surface(GRID, np.arange(10.0)), np.arange(110.0)))

    assert [plot.name for plot in few] == ["heat-map-x-y", "curves-x-y"]
    assert colour(few[1])["scale"]["domain"] == [str(i) for i in range(9)]
    assert colour(few[1])["legend"]["title"] == "y"
    assert [plot.name for plot in many] == ["heat-map-x-y"]


def test_missing_values_of_two_features_have_cells_and_a_grey_line(curve: Build) -> None:
    grid = surface([0.0, 1.0, np.nan], [5.0, 6.0, np.nan])
    heat_map, lines = drawn(curve(("x", "y"), grid, np.arange(9.0)))

    corner = values(heat_map)[-1]
    assert [texts(heat_map, channel)[-1] for channel in "xy"] == ["missing", "missing"]
    assert corner["x"] > 1.5
    assert corner["y"] > 6.5
    assert colour(lines)["scale"]["range"][-1] == "#9aa0a6"


def test_a_grid_that_is_no_rectangle_becomes_points(curve: Build) -> None:
    grid = (np.array([0.0, 1.0, 2.0]), np.array([5.0, 7.0, 6.0]))
    heat_map, _ = drawn(curve(("x", "y"), grid, [1.0, 2.0, 3.0]))

    assert layers(heat_map)[0]["mark"]["type"] == "circle"
    assert [(row["x"], row["y"]) for row in values(heat_map)] == [(0, 5), (1, 7), (2, 6)]


def test_outputs_and_groups_of_a_surface_get_panels(curve: Build) -> None:
    grid = surface([0.0, 1.0], np.arange(10.0))
    two = np.column_stack([np.arange(20.0), np.arange(20.0)])
    (plot,) = drawn(
        curve(("x", "y"), grid, two, "a"), curve(("x", "y"), grid, two, "b"), outputs=("u", "v")
    )

    assert plot.vega_lite["facet"]["sort"] == ["u, a", "u, b", "v, a", "v, b"]


def test_more_than_two_features_have_no_picture(curve: Build) -> None:
    assert drawn(curve(("a", "b", "c"), ([1.0], [2.0], [3.0]), [1.0])) == ()


def test_fine_grids_are_thinned_but_keep_their_ends(curve: Build) -> None:
    fine = np.linspace(0, 1, 10_000)
    (plot,) = drawn(curve(("x",), (fine,), fine))

    assert len(values(plot)) == 400
    assert [values(plot)[0]["x"], values(plot)[-1]["x"]] == [0, 1]


def test_numbers_that_are_not_finite_are_dropped_and_said(curve: Build) -> None:
    (plot,) = drawn(curve(("x",), ([1.0, 2.0, 3.0],), [1.0, np.inf, 2.0]))

    assert [row["x"] for row in values(plot)] == [1, 3]
    assert "Not shown, because not finite or beyond ±1e300: 1 of 3 values" in subtitle(plot)


def test_the_same_features_asked_twice_are_two_plots_of_two_names(curve: Build) -> None:
    names = [plot.name for plot in drawn(*[curve(("a.b",), (GRID,), RISING)] * 2)]

    assert names == ["shared-curves", "curve-a-b", "curve-a-b-2"]


def test_no_line_leads_to_the_missing_value(curve: Build) -> None:
    (plot,) = drawn(curve(("age",), ([*GRID, np.nan],), [*RISING, 7.0]))

    filters = {layer["mark"]["type"]: layer["transform"] for layer in layers(plot)[:1]}

    assert filters == {"line": [{"filter": "!datum.missing"}]}


def test_a_class_that_hardly_moves_stays_on_the_scale_of_probabilities(curve: Build) -> None:
    steady = np.column_stack([RISING / 20, np.full(11, 0.3)])
    (plot,) = drawn(curve(("age",), (GRID,), steady), outputs=("no", "yes"))

    assert "facet" not in plot.vega_lite


def test_a_feature_called_output_keeps_its_line_in_the_tooltip(curve: Build) -> None:
    steady = np.column_stack([RISING / 20, RISING / 30])
    (plot,) = drawn(curve(("output",), (GRID,), steady), outputs=("no", "yes"))

    titles = [field["title"] for field in layers(plot)[-1]["encoding"]["tooltip"]]

    assert titles == ["average prediction", "output", "output (feature)"]


def test_the_paper_is_white_on_any_page(curve: Build) -> None:
    """The colours of lines and of dark cells would vanish on a dark one."""
    (plot,) = drawn(curve(("age",), (GRID,), RISING))

    assert plot.vega_lite["config"]["background"] == "white"


def test_groups_are_told_by_the_name_of_their_column(curve: Build) -> None:
    grouped = (curve(("age",), (GRID,), RISING, "f"), curve(("age",), (GRID,), RISING, "m"))

    (named,) = plots(Result(("price",), grouped, {}, "sex"))
    (unnamed,) = plots(Result(("price",), grouped, {}))

    assert colour(named)["legend"]["title"] == "sex"
    assert named.title == "Partial dependence of price on age, by sex"
    assert colour(unnamed)["legend"]["title"] == "group"


def test_panels_of_groups_are_told_by_the_name_of_their_column(curve: Build) -> None:
    grid = surface([0.0, 1.0], np.arange(10.0))
    grouped = [curve(("x", "y"), grid, np.arange(20.0), group) for group in "ab"]

    (plot,) = plots(Result(("price",), tuple(grouped), {}, "sex"))

    assert plot.title == "Partial dependence of price on x and y, by sex"


def test_a_text_that_is_missing_is_called_so(curve: Build) -> None:
    """Tables hold it as an empty text."""
    (plot,) = drawn(curve(("kind",), (["flat", ""],), [1.0, 2.0]))

    assert [row["point"] for row in values(plot)] == ["flat", "missing"]


def stepped(curve: Build, features: tuple[str, ...], grid: tuple[Any, ...], values):
    return replace(curve(features, grid, values), is_stepped=True)


def lines_of(plot: Plot) -> list[Any]:
    return [layer["mark"] for layer in layers(plot) if layer["mark"]["type"] == "line"]


def test_steps_are_drawn_level_up_to_the_next_point(curve: Build, draw: Draw) -> None:
    grid, values = ([0.0, 1.5, 4.0],), [1.0, 3.0, 2.0]
    (steps,) = plots(Result(("y",), (stepped(curve, ("a",), grid, values),), {}))
    (lines,) = plots(Result(("y",), (curve(("a",), grid, values),), {}))

    draw(steps)
    assert [mark.get("interpolate") for mark in lines_of(steps)] == ["step-after"]
    assert [mark.get("interpolate") for mark in lines_of(lines)] == [None]


def test_cells_of_steps_reach_from_each_point_to_the_next(curve: Build, draw: Draw) -> None:
    grid = ([0.0, 1.5, 4.0] * 2, [5.0] * 3 + [7.0] * 3)
    one = stepped(curve, ("a", "b"), grid, [1.0, 2, 2, 4, 5, 5])
    heat_map, _ = plots(Result(("y",), (one,), {}))

    draw(heat_map)
    assert borders(heat_map, "x") == {(0, 1.5), (1.5, 4), (4, 4)}
    assert borders(heat_map, "y") == {(5, 7), (7, 7)}


def test_steps_that_are_left_out_are_counted(curve: Build, draw: Draw) -> None:
    grid = np.arange(1000.0)
    (plot,) = plots(Result(("y",), (stepped(curve, ("a",), (grid,), grid % 7),), {}))

    draw(plot)
    assert "800 of 1,000 steps of a, evenly chosen" in plot.description


def test_curves_at_steps_that_read_the_same_stay_apart(curve: Build, draw: Draw) -> None:
    near = [0.0, 0.5, float(np.nextafter(np.float32(0.5), np.float32(1))), 1.0]
    grid = ([1.0, 2.0] * 4, np.repeat(near, 2))
    one = stepped(curve, ("a", "b"), grid, np.arange(8.0))
    _, curves = plots(Result(("y",), (one,), {}))

    draw(curves)
    series = [row["series"] for row in curves.vega_lite["data"]["values"]]
    assert list(dict.fromkeys(series)) == ["0", "0.5", "0.5000001", "1"]


def test_curves_on_one_scale_say_which_categories_are_left_out(curve: Build) -> None:
    cities = [f"city {k}" for k in range(20)]
    plot, *_ = drawn(
        curve(("age",), (GRID,), RISING),
        curve(("city",), (cities,), np.arange(20.0)),
        city=np.repeat(cities, range(1, 21)),
    )

    assert plot.name == "shared-curves"
    assert "12 most frequent of 20 values of city" in subtitle(plot)
    panels = [panel for panel in plot.vega_lite["concat"] if "mark" in panel]
    shown = [panel["encoding"]["x"]["sort"] for panel in panels]
    assert shown == [cities[:7:-1]], "by their effect"
