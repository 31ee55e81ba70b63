"""Curves of single rows with their means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.individual_conditional_expectation import Curves, Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.individual_conditional_expectation import plots

Check = Callable[[Plot], None]

GRID = np.linspace(0, 10, 11)


def drawn(
    values,
    grid=GRID,
    *,
    feature: str = "age",
    outputs: tuple[str, ...] = ("price",),
    centered: bool = False,
    groups: dict[str, list[str]] | None = None,
) -> Plot:
    """Draw curves: (n_rows, n_points) or (n_rows, n_points, n_outputs)."""
    cube = np.array(values, float)
    cube = cube if cube.ndim == 3 else cube[:, :, None]
    text = any(isinstance(value, str) for value in grid)
    curves = Curves((feature,), (np.array(grid, object if text else float),), cube)
    rows = np.arange(len(cube)) * 2
    by = tuple(map(tuple, (groups or {}).values()))
    (plot,) = plots(Result(outputs, (curves,), rows, by, tuple(groups or {}), centered))
    return plot


def slopes(*each: float):
    return [slope * GRID for slope in each]


def rows(plot: Plot, *, mean: bool) -> list[dict[str, Any]]:
    return [row for row in plot.vega_lite["data"]["values"] if row.get("mean", False) is mean]


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"]).replace("\u00a0", " ")


def layers(plot: Plot) -> list[dict[str, Any]]:
    return list(plot.vega_lite.get("spec", plot.vega_lite)["layer"])


def axis_title(plot: Plot, channel: str = "y") -> str:
    return str(layers(plot)[0]["encoding"][channel]["axis"]["title"])


def test_each_row_has_a_thin_line_and_their_mean_a_bold_one() -> None:
    plot = drawn(slopes(1, 2, 6))

    assert plot.name == "individual-age"
    assert [row["row"] for row in rows(plot, mean=False)] == [0, 2, 4], "rows of the table"
    assert rows(plot, mean=False)[2]["values"] == (6 * GRID).tolist()
    assert [row["values"] for row in rows(plot, mean=True)] == [(3 * GRID).tolist()]
    widths = [layer["mark"].get("strokeWidth") for layer in layers(plot)[:4]]
    assert widths == [1, None, 5.5, 2.5]
    assert "Bold: their mean, unweighted" in subtitle(plot)


def test_it_says_how_the_mean_moves_and_whether_single_rows_agree() -> None:
    split = drawn(slopes(1, 2, -1))
    agreed = drawn(slopes(-1, -2))

    assert "On average it rises from 0 at 0 to 6.67 at 10" in subtitle(split)
    assert "From end to end 2 of 3 curves rise and 1 fall" in subtitle(split)
    assert "From end to end all 2 curves fall" in agreed.description


def test_curves_that_hide_under_their_mean_are_told() -> None:
    same, other = drawn(slopes(2, 2)), drawn(slopes(2, 2.01))

    assert "All curves are the same, so they lie under their mean" in subtitle(same)
    assert "the same" not in subtitle(other)
    assert "the same" not in subtitle(drawn(slopes(2)))


def test_rows_that_cancel_out_are_told_from_rows_that_stay() -> None:
    opposed = drawn(slopes(1, -1))
    constant = drawn(np.ones((2, 11)))

    assert "On average the prediction stays the same" in subtitle(opposed)
    assert "The predictions stay the same" in subtitle(constant)


def test_centred_curves_say_where_they_are_zero_on_the_axis() -> None:
    centred = drawn(np.array(slopes(1, 2)) - [[5], [10]], centered=True)
    plain = drawn(slopes(1, 2))

    assert axis_title(centred) == "Prediction of price, 0 at age = 5"
    assert "Each curve is shifted to 0 at age = 5" in subtitle(centred)
    assert axis_title(plain) == "Prediction of price"
    assert "shifted" not in subtitle(plain)


def test_the_first_group_column_colours_and_each_colour_has_its_mean() -> None:
    plot = drawn(slopes(1, 3, 10), groups={"sex": ["f", "f", "m"]})

    colour = layers(plot)[0]["encoding"]["color"]
    assert colour["legend"]["title"] == "sex"
    assert colour["scale"]["domain"] == ["f", "m"]
    means = {row["series"]: row["values"][-1] for row in rows(plot, mean=True)}
    assert means == {"f": 20, "m": 100}
    assert plot.title == "Individual conditional expectation of price on age, by sex"
    titles = [field["title"] for field in layers(plot)[0]["encoding"]["tooltip"]]
    assert titles == ["row of the table", "sex"]


def test_the_second_group_column_makes_panels() -> None:
    plot = drawn(
        slopes(1, 2, 3), groups={"sex": ["f", "m", "f"], "year": ["(3,9]", "[1,3]", "[1,3]"]}
    )

    assert plot.vega_lite["facet"]["sort"] == ["[1,3]", "(3,9]"], "by value, not by appearance"
    panels = {(row["panel"], row["series"]) for row in rows(plot, mean=False)}
    assert panels == {("(3,9]", "f"), ("[1,3]", "m"), ("[1,3]", "f")}
    assert plot.title.endswith("by sex and year")


def test_several_outputs_get_panels() -> None:
    values = np.stack([np.array(slopes(1, 2)) / 20, np.array(slopes(2, 1)) / 20], axis=2)

    plot = drawn(values, outputs=("no", "yes"))

    assert plot.vega_lite["facet"]["sort"] == ["no", "yes"]
    assert axis_title(plot) == "Prediction"
    assert plot.vega_lite["resolve"] == {}


def test_outputs_of_different_size_get_scales_of_their_own() -> None:
    values = np.stack([np.array(slopes(1, 2)), 1e4 * np.array(slopes(1, 2))], axis=2)

    plot = drawn(values, outputs=("u", "v"))

    assert plot.vega_lite["resolve"] == {"scale": {"y": "independent"}}
    assert "v moves most: on average it rises from 0 at 0 to 150,000 at 10" in subtitle(plot)


def test_a_picture_holds_a_hundred_curves_but_the_mean_is_of_all() -> None:
    plot = drawn([slope**2 * GRID for slope in range(1000)])

    shown = [row["row"] for row in rows(plot, mean=False)]
    assert len(shown) == 100
    assert (shown[0], shown[-1]) == (0, 1998)
    # 10 times the mean of the squares of 0 to 999.
    assert rows(plot, mean=True)[0]["values"][-1] == pytest.approx(3_328_335, rel=1e-4)
    assert "100 of 1000 rows, evenly spread" in subtitle(plot)
    assert "Bold: the unweighted mean of all 1000" in subtitle(plot)


def test_of_many_groups_the_largest_are_shown_and_said() -> None:
    groups = [f"g{min(i, 8)}" for i in range(20)]

    plot = drawn([GRID] * 20, groups={"kind": groups})

    assert "7 largest of 9 groups by kind" in subtitle(plot)
    assert len(rows(plot, mean=False)) == 18
    assert {row["series"] for row in rows(plot, mean=True)} >= {"g8"}


def test_panels_of_outputs_and_groups_stay_few() -> None:
    values = np.random.default_rng(0).random((40, 11, 5))
    years = [f"year {i % 8}" for i in range(40)]

    plot = drawn(values, outputs=tuple("uvwxy"), groups={"sex": ["f"] * 40, "year": years})

    assert len(plot.vega_lite["facet"]["sort"]) == 10
    assert "2 largest of 8 groups by year" in subtitle(plot)


def test_a_missing_value_is_joined_to_nothing() -> None:
    values = np.column_stack([slopes(1, 2), [7, 9]])
    plot = drawn(values, [*GRID, np.nan])

    apart = next(t for t in plot.vega_lite["transform"] if t.get("as") == "apart")
    assert json.loads(apart["calculate"]) == [False] * 11 + [True]
    joined = [layer["transform"][0]["filter"] for layer in layers(plot)]
    assert [text.endswith("!datum.apart") for text in joined] == [1, 0, 1, 1, 1, 0]


def test_the_only_value_is_a_point() -> None:
    plot = drawn([[1.0], [2.0]], [5.0])

    apart = next(t for t in plot.vega_lite["transform"] if t.get("as") == "apart")
    assert json.loads(apart["calculate"]) == [True]


def test_the_ends_of_a_grid_are_its_lowest_and_highest_value() -> None:
    assert "all 2 curves rise" in drawn([[9, 5, 1], [8, 4, 0]], [9, 5, 1]).description


def test_text_runs_down_a_list_by_effect() -> None:
    plot = drawn([[1, 2, 5], [2, 2, 2]], ["house", "flat", "villa"], feature="kind")

    encoding = layers(plot)[0]["encoding"]
    assert encoding["y"]["sort"] == ["villa", "flat", "house"]
    assert axis_title(plot, "x") == "Prediction of price"
    order = next(t for t in plot.vega_lite["transform"] if t.get("as") == "order")
    assert json.loads(order["calculate"]) == [2, 1, 0]
    assert "rise" not in subtitle(plot), "text has no ends"


def test_of_too_many_texts_those_with_the_highest_predictions_are_shown() -> None:
    words = [f"word {i:03}" for i in range(60)]

    plot = drawn(np.random.default_rng(0).random((3, 60)), words, feature="kind")

    assert "40 of 60 values of kind, those with the highest predictions" in subtitle(plot)
    assert len(rows(plot, mean=True)[0]["values"]) == 40


def test_specifications_stay_small() -> None:
    values = np.random.default_rng(0).normal(1e5, 3e4, (1000, 2000, 2))

    plot = drawn(values, np.linspace(0, 1, 2000), outputs=("u", "v"))

    assert len(json.dumps(plot.vega_lite)) < 300_000


def test_rounding_is_finer_than_the_eye() -> None:
    plot = drawn([1e6 + np.sin(GRID + i) / 3 for i in range(3)])

    kept = np.array([row["values"] for row in rows(plot, mean=False)])
    exact = np.array([1e6 + np.sin(GRID + i) / 3 for i in range(3)])
    assert np.abs(kept - exact).max() < 1e-4


def test_what_is_not_finite_is_left_out_and_said(check_readable: Check) -> None:
    plot = drawn([[1, np.inf, 3], [1, 2, 3]], [1, 2, 3])

    assert rows(plot, mean=False)[0]["values"] == [1, None, 3]
    assert "Not shown, because not finite or beyond ±1e300: 1 of 6 values" in subtitle(plot)
    check_readable(plot)


WEIRD = ["a.b[0]", "quo\"te's", "back\\slash", "<b>&amp;", "größe (m²)", "constructor", ""]
NUMBERS = np.linspace(-3, 1234.5, 49)


TOGETHER: tuple[Any, ...] = ("price",), {}
COLOURED = ("u", "v", "w"), {"row": ["(1,2]", "[0,1]", "missing"] * 4}
PANELS = ("u",), {"sex": ["f", "m"] * 6, "year": ["1", "2", "3"] * 4}


@pytest.mark.parametrize(
    ("grid", "outputs", "groups"),
    [
        pytest.param([*NUMBERS], *COLOURED, id="numbers"),
        pytest.param([*NUMBERS[::4], np.nan], *COLOURED, id="missing number"),
        pytest.param(WEIRD, *COLOURED, id="words"),
        pytest.param([5.0], *COLOURED, id="single value"),
        pytest.param([np.nan], *COLOURED, id="only missing"),
        pytest.param([3.0, 1.0, 3.0, 2.0], *COLOURED, id="unsorted with duplicates"),
        pytest.param([*NUMBERS[::4], np.nan], *PANELS, id="numbers in panels"),
        pytest.param(WEIRD, *PANELS, id="words in panels"),
        pytest.param([*NUMBERS[::4], np.nan], *TOGETHER, id="numbers together"),
        pytest.param(WEIRD, *TOGETHER, id="words together"),
    ],
)
def test_curves_can_be_drawn_and_read(
    check_readable: Check,
    grid: list[Any],
    outputs: tuple[str, ...],
    groups: dict[str, list[str]],
) -> None:
    values = np.random.default_rng(0).normal(5e4, 2e4, (12, len(grid), len(outputs)))

    check_readable(drawn(values, grid, outputs=outputs, groups=groups))


def test_joint_features_have_no_plot_of_their_own() -> None:
    points = np.array([0.0, 1.0])
    single = Curves(("age",), (points,), np.array([[[1.0], [2.0]], [[3.0], [5.0]]]))
    joint = Curves(("age", "size"), (points, points), single.values)

    def names(*curves: Curves) -> list[str]:
        result = Result(("price",), curves, np.arange(2), (), (), centered=False)
        return [plot.name for plot in plots(result)]

    assert names(joint) == []
    assert names(joint, single) == ["individual-age"]
