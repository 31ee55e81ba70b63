"""Pictures of feature vectors."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors import interchange
from onnxplain_server.methods.feature_vectors.cooccurrence import Rule, count
from onnxplain_server.methods.feature_vectors.geometry import important
from onnxplain_server.methods.feature_vectors.growing import Fit
from onnxplain_server.methods.feature_vectors.interchange import split_pairs
from onnxplain_server.methods.feature_vectors.knockoff_test import check
from onnxplain_server.methods.feature_vectors.options import Options, PathSource
from onnxplain_server.methods.feature_vectors.paths import of_sentences
from onnxplain_server.methods.feature_vectors.result import (
    PathCounts,
    Repetition,
    Result,
    embed_counts,
    finish,
)
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.plane import extent_of, labels
from onnxplain_server.plots.feature_vectors import plots

WEIRD = ("a.b[0]", "quo\"te's", "back\\slash", "<b>&amp;", "größe (m²)", "value", "", "constructor")
LONG = "a name as long as those that come out of one-hot encoders of free text fields " * 2

Draw = Callable[[Plot], list[Any]]


def result(
    names: Sequence[str],
    *,
    repeated: bool = False,
    knockoffs: bool = False,
    fit: Fit | None = None,
) -> Result:
    """Vectors of random paths, on which early features stand more often."""
    random = np.random.default_rng(0)
    drawn = (len(names) * random.random((400, 5)) ** 2).astype(int)
    options = Options(PathSource.MODEL, tuple(names))
    paths = of_sentences(drawn.tolist(), len(names))
    trunk = PathCounts(count(paths, Rule()), split_pairs(paths, Rule()), 400, 40, fit)
    embedding = embed_counts(trunk.counted, options)
    vectors = embedding.vectors
    holds = interchange.compare(trunk.split_pairs, important(vectors, 0.05)).holds
    noise = [vectors + random.normal(0, 1, vectors.shape) for _ in range(5)]
    return finish(
        options,
        trunk,
        embedding,
        repeats=[Repetition(moved, holds) for moved in noise] if repeated else (),
        check=check(vectors, vectors * 0.7, 200, 0) if knockoffs else None,
    )


@pytest.mark.parametrize(
    "names",
    [("a", "b"), tuple(f"feature {i}" for i in range(40)), WEIRD, (LONG, f"{LONG}!", "short")],
    ids=["two", "forty", "weird", "long"],
)
def test_pictures_can_be_drawn_and_read(
    check_readable: Callable[[Plot], None], names: tuple[str, ...]
) -> None:
    for plot in plots(result(names, repeated=True, knockoffs=True)):
        check_readable(plot)


def test_each_picture_has_its_name() -> None:
    found = plots(result(("a", "b", "c"), knockoffs=True))

    assert [plot.name for plot in found] == [
        "feature-vectors",
        "feature-vector-lengths",
        "feature-vector-similarity",
        "feature-vector-knockoffs",
        "feature-vector-permutations",
    ]


def test_the_plane_names_the_longest_features(draw: Draw) -> None:
    names = tuple(f"x{i}" for i in range(40))

    shown = {text.content for text in draw(plots(result(names))[0])}

    assert {"x0", "x1", "x2"} <= shown


def test_labels_do_not_touch_each_other(draw: Draw) -> None:
    names = tuple(f"feature number {i}" for i in range(40))

    texts = draw(plots(result(names))[0])

    placed = [(text.x, text.y) for text in texts if text.content.startswith("feature number")]
    assert len(placed) > 3
    for i, (x, y) in enumerate(placed):
        for other_x, other_y in placed[:i]:
            assert abs(x - other_x) > 5 or abs(y - other_y) > 10


def test_both_axes_have_the_same_unit() -> None:
    """Otherwise angles would not be what they seem."""
    plane = extent_of(np.array([[1.0, 0.1], [0.5, -0.3]]))

    across = (plane.x[1] - plane.x[0]) / plane.size["width"]
    up = (plane.y[1] - plane.y[0]) / plane.size["height"]
    assert across == pytest.approx(up, rel=0.01)


def test_a_label_without_a_place_is_left_out() -> None:
    points = np.tile([1.0, 0.0], (30, 1))
    plane = extent_of(points)

    layers, unnamed = labels(points, ["same place"] * 30, plane, np.arange(30))

    named = sum(len(layer["data"]["values"]) for layer in layers)
    assert 0 < named < 6
    assert len(unnamed) == 30 - named


def test_the_plane_can_be_zoomed() -> None:
    spec = plots(result(("a", "b", "c")))[0].vega_lite

    params = [param for layer in spec["layer"] for param in layer.get("params", ())]
    assert params == [{"name": "zoom", "select": "interval", "bind": "scales"}]


def test_vectors_of_one_direction_have_one_colour() -> None:
    one = result(tuple("abcdefgh"))
    spec = plots(replace(one, groups=np.array([1, 1, 2, 2, 1, 2, 0, 0])))[0].vega_lite

    colours = [
        layer["encoding"]["color"] for layer in spec["layer"] if "color" in layer["encoding"]
    ]
    assert colours[0]["scale"]["domain"] == ["1", "2", "none"]
    assert len(set(colours[0]["scale"]["range"])) == 3


def test_a_knot_of_vectors_whose_names_do_not_fit_is_enlarged() -> None:
    """Twelve of 20 lie within a hundredth of the plane."""
    one = result(tuple(f"a long name of feature {k}" for k in range(20)))
    vectors = np.zeros_like(one.embedding.vectors)
    vectors[:8, 0], vectors[:8, 1] = 1.0, np.linspace(-1, 1, 8)
    vectors[8:, 0], vectors[8:, 1] = 0.5, np.linspace(0.5, 0.51, 12)
    plot = plots(replace(one, embedding=replace(one.embedding, vectors=vectors)))[0]

    whole, knot = plot.vega_lite["vconcat"]
    assert "enlarged below" in plot.description
    units = [np.ptp(part["layer"][2]["encoding"]["x"]["scale"]["domain"]) for part in (whole, knot)]
    assert units[1] < units[0] / 10


def test_repetitions_show_as_lines_over_the_bars() -> None:
    with_lines, without = (plots(result(("a", "b", "c"), repeated=r))[1] for r in (True, False))

    assert "± 1 standard error" in with_lines.description
    assert "± 1 standard error" not in without.description


def copies() -> Result:
    """Paths of five features, of which the last takes the place of the first at random."""
    random = np.random.default_rng(0)
    sentences = [
        [4 if j == 0 and random.random() < 0.5 else j for j in sentence]
        for sentence in ([0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 1, 1], [2, 2, 3]) * 200
    ]
    paths = of_sentences(sentences, 5)
    trunk = PathCounts(count(paths, Rule()), split_pairs(paths, Rule()), 1_000, 40)
    options = Options(PathSource.MODEL, ("a", "b", "c", "d", "e"))
    return finish(options, trunk, embed_counts(trunk.counted, options))


def test_the_heat_map_puts_similar_features_side_by_side() -> None:
    order = plots(copies())[2].vega_lite["layer"][0]["encoding"]["x"]["sort"]

    assert abs(order.index("a") - order.index("e")) == 1


def test_the_heat_map_names_and_marks_pairs_that_could_stand_in_for_each_other() -> None:
    plot = plots(replace(copies(), notes=()))[2]  # as of many paths

    marked = {(r["first"], r["second"]) for r in plot.vega_lite["data"]["values"] if r["told"]}
    assert marked == {("a", "e"), ("e", "a")}
    assert "Could stand in for each other (dots): a and e." in plot.description


def test_the_heat_map_has_colours_for_both_signs_and_says_what_they_are() -> None:
    colour = plots(copies())[2].vega_lite["layer"][0]["encoding"]["color"]

    assert colour["scale"]["domain"] == [-1, 0, 1]
    assert colour["legend"]["title"] == "adjusted similarity"


def test_no_picture_tells_a_pair_where_the_forest_tells_little_of_its_target() -> None:
    told = plots(result(tuple("abcdef"), fit=Fit(5, 0.45)))

    assert not any("ould stand in for each other (dots)" in plot.description for plot in told)
    assert "the fidelity of the surrogate forest is only 0.45" in told[2].description


@pytest.mark.parametrize("number", [0, 2], ids=["plane", "heat map"])
def test_what_lowers_trust_stands_on_the_picture(number: int) -> None:
    plot = plots(result(tuple("abcdef"), repeated=True, fit=Fit(5, 0.75)))[number]

    subtitle = " ".join(plot.vega_lite["title"]["subtitle"])
    for part in ("xplained variance", "singular gap", "standard error of angles"):
        assert part in subtitle
    assert "fidelity of the forest 0.75 (low trust)" in subtitle


def test_the_histogram_shows_where_the_pairs_lie() -> None:
    plot = plots(result(("a", "b", "c"), knockoffs=True))[4]

    assert plot.vega_lite["layer"][1]["data"]["values"] == [{"low": 0.0}]
    assert "p = " in plot.description


def test_nothing_is_named_where_the_summary_withholds_it() -> None:
    """Vectors of few paths have the warning FEW_SENTENCES, which silences the summary."""
    few = result(("a", "b", "c"))
    many = replace(few, notes=())

    told, named = ({plot.name: plot.description for plot in plots(one)} for one in (few, many))

    assert [note.code for note in few.notes] == ["FEW_SENTENCES"]
    for name in ("feature-vectors", "feature-vector-lengths"):
        assert "because of the warning FEW_SENTENCES" in told[name]
        assert "is longest" not in told[name]
        assert "is longest, then" in named[name]
    assert "none is told to stand in for another" in plots(copies())[2].description
