"""Support of curves and surfaces: extremes are told where rows are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnxplain_server.effects.grids import weights_near
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve, Result
from onnxplain_server.methods.resampling import Band
from onnxplain_server.plots.claims.directions import of_outputs
from onnxplain_server.plots.claims.support import extremes, support_note, supported
from onnxplain_server.plots.elements.curve_marks import binned, marks_of
from onnxplain_server.plots.partial_dependence import plots

ROWS = np.array([0.0, 0.4, 0.6, 1.0, 1.4, 2.6, np.nan])


def near(grid, columns, *, is_stepped: bool = False) -> list[float]:
    weights = np.ones(len(columns[0]))
    found: list[float] = weights_near(grid, columns, weights, is_stepped=is_stepped).tolist()
    return found


def test_rows_count_at_the_nearest_point_and_those_beyond_the_ends_nowhere() -> None:
    assert near((np.array([0.0, 1, 2]),), (ROWS,)) == [2, 3, 0]
    assert near((np.array([0.0, 1, 2, np.nan]),), (ROWS,)) == [2, 3, 0, 1]


def test_the_average_of_a_curve_does_not_depend_on_the_unit_of_weights() -> None:
    marks = marks_of(np.array([1e10, 4e10]), np.array([2e300, 1e300]), None)

    assert marks.average == pytest.approx(2e10)


def test_rows_of_a_step_lie_from_it_up_to_the_next_one() -> None:
    assert near((np.array([0.0, 1, 2]),), (ROWS,), is_stepped=True) == [3, 2, 0]


def test_rows_of_a_cell_are_near_it_along_both_features() -> None:
    texts = np.array(["u", "v", "v", "u", None, "w", "u"], object)
    grid = (np.array([0.0, 1, 0, 1, 0, 1]), np.array(["u", "u", "v", "v", "", ""], object))

    assert near(grid, (ROWS, texts)) == [1, 1, 1, 1, 0, 1]


def test_a_value_that_hardly_any_row_has_is_no_extreme() -> None:
    values, rows = np.array([0.3, 0.5, 0.9]), np.array([600.0, 399.0, 1.0])

    assert extremes(values, rows) == (0, 1)
    assert support_note(values, rows) == "where at least 10 rows are"
    assert extremes(values, None) == (0, 2)
    assert support_note(values[:2], rows[:2]) == ""


def test_a_rare_value_of_two_still_counts() -> None:
    assert supported(np.array([970.0, 30.0])).all()
    assert supported(np.array([999.0, 1.0])).all(), "one alone would be no curve"


def test_the_surface_tells_its_extremes_only_over_cells_with_rows() -> None:
    first, second = np.tile([0.0, 1, 2], 3), np.repeat([0.0, 1, 2], 3)
    values, rows = np.arange(9.0)[:, None], np.array([0.0, 5, 5, 5, 5, 5, 5, 5, 0])
    curve = PartialDependenceCurve(("x", "y"), "", (first, second), values, 35.0, row_weights=rows)

    heat_map = plots(Result(("price",), (curve,), {}))[0]

    assert "lowest 1 at x = 1 and y = 0; highest 7 at x = 1 and y = 2" in heat_map.description
    assert "2 of 9 cells, without rows" in heat_map.description
    crossed = [row for row in heat_map.vega_lite["data"]["values"] if row["rows"] == 0]
    assert [(row["x"], row["y"]) for row in crossed] == [(0, 0), (2, 2)]
    assert heat_map.vega_lite["layer"][0]["encoding"]["color"]["scale"]["domain"] == [1, 7]


@pytest.mark.parametrize("count", [4, 40])
def test_a_list_of_categories_has_room_for_each_label(count: int) -> None:
    names = np.array([f"country {k:02d}" for k in range(count)], object)
    first, second = np.tile(names, 3), np.repeat([0.0, 1, 2], count)
    values = np.arange(3.0 * count)[:, None]
    curve = PartialDependenceCurve(("land", "y"), "", (first, second), values, 1.0)

    heat_map = plots(Result(("price",), (curve,), {}))[0]

    assert heat_map.vega_lite["height"]["step"] >= 15, "categories run down"
    assert heat_map.vega_lite["layer"][0]["encoding"]["y"]["axis"]["title"] == "land"


def test_a_direction_is_told_of_curves_that_hardly_turn() -> None:
    grid = np.arange(5.0)
    rising, falling = np.array([0.0, 2, 1.9, 3, 4]), np.array([4.0, 3, 2, 1, 0])
    turning = np.array([0.0, 2, 4, 2, 1])
    curves = tuple(
        PartialDependenceCurve((name,), "", (grid,), values[:, None], 1.0)
        for name, values in (("up", rising), ("down", falling), ("turn", turning))
    )

    found = of_outputs(Result(("y",), curves, {}), [("up",), ("down",), ("turn",), ("a",)], ("y",))

    assert found is not None
    assert found.ravel().tolist() == [1, -1, 0, 0]


def test_steps_below_a_pixel_are_not_drawn_and_sentences_still_tell_them() -> None:
    grid = np.arange(6.0)
    values = np.array([0.0, 0.002, 0.5, 0.501, 1.0, 1.002])[:, None]
    curve = PartialDependenceCurve(
        ("x",), "", (grid,), values, 6.0, is_stepped=True, row_weights=np.ones(6)
    )

    (plot,) = plots(Result(("y",), (curve,), {}))

    assert [row["x"] for row in plot.vega_lite["data"]["values"]] == [0, 2, 4, 5]
    assert "to 1 at 5" in plot.description


def test_means_of_many_points_are_those_of_bins_of_as_many_rows() -> None:
    points, means = np.arange(100.0), 2 * np.arange(100.0)

    found = binned(points, np.ones(100), means, 20)

    assert len(found) == 20
    assert found[0] == (2.0, 4.0)
    assert all(mean == pytest.approx(2 * at) for at, mean in found)


def test_points_are_pale_where_most_moved_rows_are_outside_and_lines_fade_there() -> None:
    grid, values = np.arange(6.0), np.arange(6.0)[:, None]
    outside = np.array([0.9, 0.2, 0.5, 0.6, 0.1, 0.0])
    curve = PartialDependenceCurve(
        ("x",), "", (grid,), values, 60.0, row_weights=np.full(6, 10.0), outside_shares=outside
    )

    (plot,) = plots(Result(("y",), (curve,), {}))

    rows = plot.vega_lite["data"]["values"]
    assert [row.get("outside", False) for row in rows] == [True, False, False, True, False, False]
    assert len({row["run"] for row in rows if "run" in row}) == 2
    assert rows[1]["run"] == rows[2]["run"] != rows[4]["run"] == rows[5]["run"]
    lines = [layer for layer in plot.vega_lite["layer"] if layer["mark"].get("type") == "line"]
    assert [line["mark"].get("opacity", 1) for line in lines] == [0.3, 1]
    assert "pale: over half of the moved rows outside the data" in plot.description.lower()


def test_lines_are_whole_where_all_points_have_rows_enough() -> None:
    grid, values = np.arange(3.0), np.arange(3.0)[:, None]
    curve = PartialDependenceCurve(
        ("x",), "", (grid,), values, 3.0, row_weights=np.ones(3), outside_shares=np.full(3, 0.5)
    )

    (plot,) = plots(Result(("y",), (curve,), {}))

    assert not any("run" in row for row in plot.vega_lite["data"]["values"])
    assert "pale" not in plot.description


def test_cells_of_a_surface_are_veiled_where_most_moved_rows_are_outside() -> None:
    first, second = np.tile([0.0, 1.0], 2), np.repeat([0.0, 1.0], 2)
    outside = np.array([0.0, 1.0, 0.6, 0.5])
    curve = PartialDependenceCurve(
        ("x", "y"), "", (first, second), np.arange(4.0)[:, None], 4.0, outside_shares=outside
    )

    heat_map = plots(Result(("price",), (curve,), {}))[0]

    veiled = [row for row in heat_map.vega_lite["data"]["values"] if row.get("veiled")]
    assert [(row["x"], row["y"]) for row in veiled] == [(1, 0), (0, 1)]
    assert "Veiled: cells with over half of the moved rows outside" in heat_map.description
    filters = [layer.get("transform") for layer in heat_map.vega_lite["layer"]]
    assert [{"filter": "datum.veiled"}] in filters


@pytest.mark.parametrize(("times", "told"), [(1, "crosses: mean true value"), (5, "beyond")])
def test_true_values_are_crosses_unless_they_would_flatten_the_curve(times, told) -> None:
    grid = np.arange(4.0)
    curve = PartialDependenceCurve(("x",), "", (grid,), grid[:, None], 4.0, row_weights=np.ones(4))
    observed = times * grid[:, None] + [[0], [1], [np.nan], [0]]

    (plot,) = plots(Result(("y",), (replace(curve, observed_means=observed),), {}))

    marks = [layer for layer in plot.vega_lite["layer"] if layer["mark"].get("shape") == "cross"]
    assert told in plot.description
    assert [[row["value"] for row in layer["data"]["values"]] for layer in marks] == (
        [[0, 2, 3]] if times == 1 else []
    )


def test_cells_of_a_surface_tell_their_intervals() -> None:
    first, second = np.array([0.0, 1, 0, 1]), np.array([0.0, 0, 1, 1])
    values, reach = np.arange(4.0)[:, None], np.array([[1.0], [2], [3], [4]])
    band = Band(reach / 2, values - reach, values + reach, values - 9, values + 9)
    surface = PartialDependenceCurve(("x", "y"), "", (first, second), values, 4.0, band=band)

    heat_map, _ = plots(Result(("out",), (surface,), {}, "", confidence_level=0.9))

    cells = heat_map.vega_lite["data"]["values"]
    assert [(row["low"], row["high"]) for row in cells] == [(-1, 1), (-1, 3), (-1, 5), (-1, 7)]
    assert "90 % intervals of cells: ± 2.5 at the median, ± 4 at most" in heat_map.description
    assert not any("veiled" in row for row in cells)  # an average of 0 is no effect of 0
