"""Pictures of what moving features does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm import Effect, Motion, Resolution, Result, Score, Search
from onnxplain_server.methods.swarm.curve import ScoreCurve
from onnxplain_server.methods.swarm.reach import Reach
from onnxplain_server.methods.swarm.result import Histogram
from onnxplain_server.methods.swarm.searching import SearchResult
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.swarm.importances import plots

FEATURES = ("age", "blood pressure", "sex")
BORDERS = np.linspace(0, 10, 11)
INSIDE = Reach(0.0, 2.0, 0.0, 2.0, 0.0)
OUTSIDE = Reach(0.0, 2.0, 0.0, 10.0, 0.75)


def effect(class_name: str, feature: str, importance: float, n: int, **given) -> Effect:
    """Weights up to 5 change nothing, from then on half of the rows are of the last class."""
    shares = np.zeros((2, n))
    if n:
        shares[0, 0], shares[1, 0], shares[1, -1] = 1, 0.5, 0.5
    ends = ([0.0, 5.0], [5.0, 10.0]) if given.get("exact", True) else ([1.0, 5.0], [1.0, 5.0])
    curve = ScoreCurve(np.array(ends[0]), np.array(ends[1]), np.array([0.9, 0.6]), shares)
    scores, window_shares = curve.windows(BORDERS)
    found = SearchResult(
        5.0, 0.6, 4.0, 0.3, curve, agreement=None if given.get("exact", True) else 0.2
    )
    values = Histogram(np.array([0.0, 1.0, 2.0]), np.array([3.0, 4.0]))
    similarities = curve.similarities(10)
    row = given.get("row_index")
    return Effect(class_name, feature, row, 7, importance, found, scores, window_shares,
                  similarities, values, given.get("reach", INSIDE), (0.0, 2.0))  # fmt: skip


def result(
    classes: tuple[str, ...] = ("low", "middle", "high"),
    features: tuple[str, ...] = FEATURES,
    **given,
) -> Result:
    names = classes or ("",)
    effects = tuple(
        effect(name, feature, 1.0 / (i + 1), len(classes), **given)
        for name in names
        for i, feature in enumerate(features)
    )
    similarity = np.full((len(classes), len(classes)), 0.25)
    if given.get("row_index") is not None:
        similarity = np.zeros((0, 0))
    sums = np.array([len(names) / (i + 1) for i in range(len(features))])
    score, loss = (Score.ACCURACY, None) if classes else (None, Loss.SQUARED_ERROR)
    return Result(classes, features, effects, 0.9, sums, sums, similarity, BORDERS, Search.EXACT,
                  score, loss, Motion(), Resolution())  # fmt: skip


def named(drawn: tuple[Plot, ...]) -> dict[str, Plot]:
    return {plot.name: plot for plot in drawn}


def values(plot: Plot, **wanted) -> list[dict[str, Any]]:
    """Find rows of data anywhere in a plot."""
    found: list[dict[str, Any]] = []

    def walk(part) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("values"), list) and "data" not in part:
                rows = [row for row in part["values"] if isinstance(row, dict)]
                found.extend(r for r in rows if all(r.get(k) == v for k, v in wanted.items()))
            for inner in part.values():
                walk(inner)
        elif isinstance(part, list):
            for inner in part:
                walk(inner)

    walk(plot.vega_lite)
    return found


def test_there_is_a_picture_of_importances_of_each_class_and_of_similarity() -> None:
    assert list(named(plots(result()))) == [
        "swarm-importance",
        "swarm-low",
        "swarm-middle",
        "swarm-high",
        "swarm-similarity",
    ]


def test_similarity_is_left_out_for_two_classes() -> None:
    assert list(named(plots(result(("no", "yes"))))) == [
        "swarm-importance",
        "swarm-no",
        "swarm-yes",
    ]


def test_rows_by_themselves_have_importances_only() -> None:
    assert list(named(plots(result(row_index=3)))) == ["swarm-importance"]


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(result(), id="exact"),
        pytest.param(result(exact=False), id="tried"),
        pytest.param(result(()), id="regression"),
        pytest.param(result(tuple(f"class {k}" for k in range(9))), id="nine classes"),
        pytest.param(result(features=tuple(f"{'long ' * 9}{j}" for j in range(20))), id="long"),
        pytest.param(result(("a\n", "if", " ")), id="strange names"),
    ],
)
def test_every_picture_is_readable(shown: Result, check_readable: Callable[[Plot], None]) -> None:
    """Of the pictures of classes, which are alike, the first."""
    first, *others = (plot.name for plot in plots(shown))
    for name, plot in named(plots(shown)).items():
        if name in {first, *others[:1], "swarm-similarity"}:
            check_readable(plot)


def test_detail_shows_the_two_most_important_features_until_another_is_clicked() -> None:
    text = json.dumps(named(plots(result()))["swarm-low"].vega_lite)

    assert '"value": [{"feature": "age"}, {"feature": "blood pressure"}]' in text
    assert text.count('{"filter": {"param": "shown", "empty": false}}') == 2


def test_scores_have_one_fixed_scale_of_colours() -> None:
    text = json.dumps(named(plots(result()))["swarm-low"].vega_lite)

    assert text.count('"scheme": "viridis", "domain": [0.0, 1.0]') == 3


def test_the_best_weight_is_red_and_no_change_is_grey() -> None:
    plot = named(plots(result()))["swarm-low"]

    assert {row["x"] for row in values(plot, part="best")} == {5.0}
    assert {row["x"] for row in values(plot, part="neutral")} == {1.0}


def test_weights_that_leave_the_data_are_pale() -> None:
    """All rows stay in the data up to weight 2."""
    plot = named(plots(result()))["swarm-low"]

    assert [(row["low"], row["high"]) for row in values(plot, feature="age") if set(row) == {
        "feature", "low", "high"}] == [(2.0, 10.0)]  # fmt: skip
    assert "Pale: weights that move rows out of the data" in plot.description


def test_shares_are_piled_up_to_1_in_each_window() -> None:
    shares = values(named(plots(result()))["swarm-low"], part="share", feature="age", x=6.0)

    assert [(row["class"], row["y"], row["y2"]) for row in shares] == [
        ("low", 0.0, 0.5),
        ("high", 0.5, 1.0),
    ]


def test_windows_in_which_nothing_was_tried_stay_empty() -> None:
    plot = named(plots(result(exact=False)))["swarm-low"]
    blocks = [row["low"] for row in values(plot, feature="age") if "low" in row and "score" in row]

    assert blocks == [1.0, 5.0]


def test_half_discs_lie_on_the_line_of_the_class_whose_rows_are_moved() -> None:
    plot = named(plots(result()))["swarm-similarity"]
    arcs = [row for row in values(plot) if "target" in row and "down" in row]
    order = ["low", "middle", "high"]

    assert arcs
    for row in arcs:
        assert row["down"] == (order.index(row["target"]) > order.index(row["class"]))


def test_what_few_searches_have_found_is_told() -> None:
    told = named(plots(result(exact=False)))["swarm-importance"].description

    assert "less than half of the searches: age (20%)" in told


def test_importance_has_a_unit_and_a_range() -> None:
    plot = named(plots(result()))["swarm-importance"]

    assert (
        "Importance: fall of accuracy, times the largest weight allowed (10), in [0, 10]"
        in plot.description
    )
    assert "stress test" in plot.title.lower()


def test_importance_by_a_loss_has_the_unit_of_the_loss_and_no_largest_value() -> None:
    plot = named(plots(result(())))["swarm-importance"]

    assert (
        "rise of the mean squared error, times the largest weight allowed (10), in [0, ∞)"
        in plot.description
    )


def test_importances_of_single_rows_are_sums_over_them() -> None:
    assert ", in [0, 30]" in named(plots(result(row_index=3)))["swarm-importance"].description


@pytest.mark.parametrize(("exact", "end"), [(True, 10), (False, 6)])
def test_the_axis_ends_with_the_window_of_the_largest_weight_tried(exact: bool, end: int) -> None:
    """By trial weights 1 and 5 are tried: the window of 5 reaches to 6."""
    plot = named(plots(result(exact=exact)))["swarm-low"]
    summary, details = plot.vega_lite["vconcat"]
    panel = details["hconcat"][0]["spec"]

    assert panel["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, end]
    assert summary["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(1.06 * end)]
    boxes = [row["box"] for row in values(plot) if "box" in row]
    assert boxes == pytest.approx([1.035 * end] * len(FEATURES))
    assert ("No weight above 6 was tried" in plot.description) is not exact


def test_a_best_weight_is_told_as_a_factor_of_values() -> None:
    told = named(plots(result()))["swarm-low"].description

    assert "age lowers accuracy most: 0.6 with values times 5 (of at most 10)" in told


@pytest.mark.parametrize("name", ["swarm-importance", "swarm-low"])
def test_weights_that_lead_out_of_the_data_are_told_on_the_picture(name: str) -> None:
    inside, outside = (named(plots(result(reach=r)))[name] for r in (INSIDE, OUTSIDE))

    assert "Extrapolates" not in inside.description
    assert (
        "most harmful weights move up to 75% of their rows out of the data" in outside.description
    )
