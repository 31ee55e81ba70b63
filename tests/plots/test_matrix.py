"""Matrix of importances and interactions."""

import dataclasses
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain_server.methods import permutation_importance
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.permutation_importance import PermutedLoss
from onnxplain_server.methods.resampling import ReplicateSpread, Resampling
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions.matrix import plots
from onnxplain_server.plots.registry import draw as draw_result
from onnxplain_server.plots.registry import draw_all

Build = Callable[..., Any]
NAMES = ("age", "income", "rooms", "sea")


def result(
    sizes: Sequence[Sequence[float]],
    effects: Sequence[Sequence[float]],
    *,
    names: Sequence[str] = NAMES,
    outputs: tuple[str, ...] = ("price",),
) -> Result:
    """Build a result from sizes of pairs, in the order of combinations, and of effects."""
    ones = np.ones(len(outputs))
    pairs = tuple(
        Statistic(pair, np.array(size, float) ** 2, 4 * ones)
        for pair, size in zip(itertools.combinations(names, 2), sizes, strict=False)
    )
    importance = tuple(
        Statistic((name,), np.array(effect, float) ** 2, 16 * ones)
        for name, effect in zip(names, effects, strict=True)
    )
    return Result(outputs, ones, Statistic((), ones, ones), (), pairs, (), importance)


def one_output(sizes: Sequence[float], effects: Sequence[float], **given) -> Result:
    return result([[size] for size in sizes], [[effect] for effect in effects], **given)


@pytest.fixture
def some() -> Result:
    """Age and sea interact most, then income and rooms."""
    return one_output([0.01, 0.02, 0.6, 0.4, 0.03, 0.04], [1, 2, 3, 4])


def panels(plot: Plot) -> list[Any]:
    found: list[Any] = plot.vega_lite.get("concat", [plot.vega_lite])
    return found


def rows(panel: Any) -> tuple[list[Any], list[Any]]:
    """Return the data of the diagonal and of the pairs."""
    diagonal, pairs = (layer["data"]["values"] for layer in panel["layer"])
    return diagonal, pairs


def order(plot: Plot) -> list[str]:
    encoding = panels(plot)[0]["layer"][0]["layer"][0]["encoding"]
    assert encoding["x"]["sort"] == encoding["y"]["sort"]
    found: list[str] = encoding["x"]["sort"]
    return found


def scales(panel: Any) -> tuple[list[float], list[float]]:
    """Return the domains of the colours of the diagonal and of the pairs."""
    diagonal, pairs = (layer["layer"][0]["encoding"] for layer in panel["layer"])
    return diagonal["color"]["scale"]["domain"], pairs["fill"]["scale"]["domain"]


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def test_the_diagonal_holds_importances_and_the_cells_sizes_of_interactions(some: Result) -> None:
    (plot,) = plots(some)
    diagonal, pairs = rows(panels(plot)[0])

    assert plot.name == "matrix"
    assert {row["name"]: row["effects"] for row in diagonal} == dict(
        zip(NAMES, [1, 2, 3, 4], strict=True)
    )
    assert {row["name"]: row["size"] for row in pairs} == pytest.approx({
        "age × income": 0.01, "age × rooms": 0.02, "age × sea": 0.6,
        "income × rooms": 0.4, "income × sea": 0.03, "rooms × sea": 0.04,
    })  # fmt: skip
    assert {row["name"]: row["share"] for row in diagonal}["sea"] == 1
    assert {row["name"]: row["share"] for row in pairs}["age × sea"] == pytest.approx(0.09)


def test_each_kind_of_cells_has_a_legend_of_its_own(some: Result) -> None:
    """Vega-Lite from 6.5 on makes one legend, of both titles, where colours share a field."""
    (plot,) = plots(some)
    (panel,) = panels(plot)
    diagonal, pairs = (layer["layer"][0]["encoding"] for layer in panel["layer"])

    assert diagonal["color"]["field"] != pairs["fill"]["field"]
    assert diagonal["color"]["legend"]["title"] == ["Size of a feature's", "effects (diagonal)"]
    assert pairs["fill"]["legend"]["title"] == ["Size of the interaction", "of a pair"]


def test_it_comes_before_the_bars(some: Result) -> None:
    names = [plot.name for plot in draw_result(some)]

    assert names == ["matrix", "pairwise", "importance"]


def test_each_pair_has_a_cell_on_both_sides_of_the_diagonal(some: Result) -> None:
    (plot,) = plots(some)
    diagonal, pairs = panels(plot)[0]["layer"]

    drawn = [
        (row[layer["encoding"]["x"]["field"]], row[layer["encoding"]["y"]["field"]])
        for kind in (diagonal, pairs)
        for layer in kind["layer"]
        if layer["mark"]["type"] == "rect"
        for row in kind["data"]["values"]
    ]

    assert sorted(drawn) == sorted(itertools.product(NAMES, repeat=2))


def test_what_interacts_stands_together(some: Result) -> None:
    """Sea and age, rooms and income; between them the stronger, rooms × sea, not income:age."""
    assert order(plots(some)[0]) in (
        ["age", "sea", "rooms", "income"],
        ["sea", "age", "rooms", "income"],
    )
    assert "Of the interactions, age × sea is strongest at 0.6" in subtitle(plots(some)[0])


def test_beside_permutation_importances_features_stand_in_their_order(some: Result) -> None:
    """Features that were not shuffled come last, the most important of them first."""
    losses = tuple(
        PermutedLoss((name,), np.array([value]), np.zeros(1))
        for name, value in {"rooms": 0.5, "age": 0.9}.items()
    )
    shuffled = permutation_importance.Result(
        ("price",), np.ones(1), losses, Loss.ABSOLUTE_ERROR, False
    )
    (matrix, *_), _ = draw_all([some, shuffled])

    assert order(matrix) == ["age", "rooms", "sea", "income"]
    assert "Ordered by permutation importance" in subtitle(matrix)
    assert "Ordered so that" in subtitle(plots(some)[0])


def test_a_group_of_features_stands_where_its_first_would() -> None:
    names = ("age", "sea + rooms", "income")
    some = one_output([0.3, 0.2, 0.1], [1, 2, 3], names=names)

    (matrix,) = plots(some, ["rooms", "income", "age", "sea"])

    assert order(matrix) == ["sea + rooms", "income", "age"]


def test_sizes_decide_the_order_and_not_shares(some: Result) -> None:
    pairs = tuple(
        dataclasses.replace(s, denominators=1e3 * s.numerators**2 if i else s.numerators)
        for i, s in enumerate(some.pairwise)
    )

    changed = dataclasses.replace(some, pairwise=pairs)

    assert pairs[0].values == [1.0]
    assert order(plots(changed)[0]) == order(plots(some)[0])


@settings(max_examples=50)
@given(
    st.integers(3, 6),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=21, max_size=21),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_table_does_not_matter(
    n: int, numbers: list[float], shuffler: random.Random
) -> None:
    """Also where many sizes are equal."""
    names = [f"x{i}" for i in range(n)]
    given = one_output(numbers, numbers[-n:], names=names)
    moved = list(names)
    shuffler.shuffle(moved)
    place = {name: i for i, name in enumerate(moved)}
    shuffled = dataclasses.replace(
        given,
        pairwise=tuple(
            dataclasses.replace(s, features=tuple(sorted(s.features, key=place.__getitem__)))
            for s in shuffler.sample(given.pairwise, len(given.pairwise))
        ),
        importance=tuple(shuffler.sample(given.importance, n)),
    )

    assert order(plots(shuffled)[0]) == order(plots(given)[0])


def test_without_interactions_the_most_important_comes_first() -> None:
    """Of equally important ones, the first by name."""
    (plot,) = plots(one_output([0] * 6, [3, 3, 2, 4]))

    assert order(plot) == ["sea", "age", "income", "rooms"]
    assert "Every pair is at 0" in subtitle(plot)


@pytest.mark.parametrize("n", [0, 2])
def test_fewer_than_three_features_with_pairs_have_no_matrix(n: int) -> None:
    assert plots(one_output([0.5][: n - 1], [1] * n, names=NAMES[:n])) == ()


def test_features_without_pairs_have_no_row_and_are_counted(some: Result) -> None:
    pairs = tuple(s for s in some.pairwise if "rooms" not in s.features)
    (plot,) = plots(dataclasses.replace(some, pairwise=pairs))

    assert sorted(order(plot)) == ["age", "income", "sea"]
    assert "Pairs were computed for 3 of 4 features" in subtitle(plot)
    assert "Pairs were" not in subtitle(plots(some)[0])


def test_of_too_many_features_those_that_interact_most_are_shown() -> None:
    """Also two that interact with each other only, but more than any others."""
    names = [f"x{i:02}" for i in range(45)]
    sizes = [
        0.0 if {"x00", "x01"} & {a, b} else float(int(b[1:]))
        for a, b in itertools.combinations(names, 2)
    ]
    sizes[0] = 50.0
    (plot,) = plots(one_output(sizes, [1] * 45, names=names))

    assert len(order(plot)) == 40
    assert {"x00", "x01", "x44"} <= set(order(plot))
    assert "40 of 45 features with pairs, those that interact most" in subtitle(plot)


def test_outputs_have_panels_of_one_order_and_of_one_scale_if_their_sizes_are_similar() -> None:
    sizes = [[0.01, 0.5], [0.4, 0.1], [0.1, 0.1]]
    effects = [[1.0, 0.2], [0.1, 0.1], [0.1, 0.1]]
    (plot,) = plots(result(sizes, effects, names=("a", "b", "c"), outputs=("u", "v")))

    assert [panel["title"]["text"] for panel in panels(plot)] == ["u", "v"]
    assert scales(panels(plot)[0]) == scales(panels(plot)[1])
    assert [ends[-1] for ends in scales(panels(plot)[0])] == [1.0, 0.5]
    assert plot.vega_lite["resolve"]["scale"] == {"color": "shared", "fill": "shared"}


def test_outputs_of_different_units_have_scales_of_their_own() -> None:
    sizes = [[1e5, 0.5], [4e5, 0.1], [1e5, 0.1]]
    (plot,) = plots(result(sizes, sizes, names=("a", "b", "c"), outputs=("price", "share")))

    assert [[ends[-1] for ends in scales(panel)] for panel in panels(plot)] == [
        [4e5, 4e5],
        [0.5, 0.5],
    ]
    assert plot.vega_lite["resolve"]["scale"] == {"color": "independent", "fill": "independent"}
    assert "almost 0" not in plot.description


def test_of_many_outputs_the_strongest_have_panels() -> None:
    outputs = tuple(f"class {i}" for i in range(10))
    numbers = [list(range(1, 11))] * 3
    (plot,) = plots(result(numbers, numbers, names=("a", "b", "c"), outputs=outputs))

    assert [panel["title"]["text"] for panel in panels(plot)] == list(outputs[3:])
    assert "7 strongest of 10 outputs" in subtitle(plot)


def test_numbers_have_two_digits_and_are_white_on_dark_ground(
    some: Result, draw: Callable[[Plot], list[Any]]
) -> None:
    (plot,) = plots(some)
    diagonal, pairs = rows(panels(plot)[0])

    assert {row["name"]: (row["text"], row["dark"]) for row in pairs}["age × sea"] == ("0.6", True)
    assert {row["name"]: row["dark"] for row in diagonal} == {
        "age": False, "income": False, "rooms": False, "sea": True,
    }  # fmt: skip
    assert [text.content for text in draw(plot)].count("0.03") == 2


@pytest.mark.parametrize(
    ("size", "largest", "text"),
    [
        (0.123456, 1, "0.12"),
        (0.00123, 1, "0.0012"),
        (1e-5, 1, "≈ 0"),
        (0.0, 1, "0"),
        (0.0000234, 0.01, "2.3e−5"),
        (23_456, 2e6, "23,000"),
        (1_234_567, 2e6, "1.2e+6"),
    ],
)
def test_numbers_in_cells_are_short(size: float, largest: float, text: str) -> None:
    (plot,) = plots(one_output([largest, size, 0], [1, 1, 1], names=("a", "b", "c")))

    assert {row["name"]: row["text"] for row in rows(panels(plot)[0])[1]}["a × c"] == text


def test_numbers_that_do_not_fit_are_left_to_tooltips() -> None:
    names = [f"feature {i}" for i in range(30)]
    (plot,) = plots(one_output([0.5] * 435, [1] * 30, names=names))

    assert not any("text" in row for part in rows(panels(plot)[0]) for row in part)


def test_what_is_not_finite_is_grey_and_counted(
    some: Result, check_readable: Callable[[Plot], None]
) -> None:
    broken = dataclasses.replace(some.pairwise[0], numerators=np.array([np.nan]))
    (plot,) = plots(dataclasses.replace(some, pairwise=(broken, *some.pairwise[1:])))

    check_readable(plot)
    row = rows(panels(plot)[0])[1][0]
    assert row["name"] == "age × income"
    assert "size" not in row
    assert "Grey: not finite, 1 of 10 values" in subtitle(plot)


def test_intervals_and_p_values_are_in_tooltips(some: Result) -> None:
    told = ReplicateSpread(np.array([0.01]), np.array([0.2]), np.array([0.5]), np.array([0.0]))
    pairs = tuple(
        dataclasses.replace(s, spread=told, p_values=np.array([0.03])) for s in some.pairwise
    )
    resampled = dataclasses.replace(
        some, pairwise=pairs, resampling=Resampling(100, confidence_level=0.9)
    )
    (plot,) = plots(resampled)
    layers = panels(plot)[0]["layer"]
    row = rows(panels(plot)[0])[1][0]

    assert (row["low"], row["high"], row["p"]) == (0.2, 0.5, 0.03)
    assert [tip["title"] for tip in layers[1]["layer"][0]["encoding"]["tooltip"]] == [
        "pair", "size of interaction", "H², share of joint effect",
        "share, 90 % from", "share, 90 % to", "p-value",
    ]  # fmt: skip
    assert [tip["title"] for tip in layers[0]["layer"][0]["encoding"]["tooltip"]] == [
        "feature", "size of effects", "share of prediction variance",
    ]  # fmt: skip


@pytest.mark.parametrize("outputs", [("price",), ("u", "v", "w")], ids=["one output", "three"])
@pytest.mark.parametrize(
    "names",
    [
        tuple(f"feature {i}" for i in range(30)),
        ("a.b[0]", "quo\"te's", "<b>&amp;", "", "constructor", "output"),
        tuple(f"a column that an encoder made of free text, value {i}" for i in range(5)),
    ],
    ids=["thirty", "weird", "long"],
)
def test_it_can_be_drawn_and_read(
    names: tuple[str, ...], outputs: tuple[str, ...], check_readable: Callable[[Plot], None]
) -> None:
    rng = np.random.default_rng(0)
    count = len(names) * (len(names) - 1) // 2
    sizes = rng.gamma(0.3, 1, (count, len(outputs))).tolist()
    effects = rng.gamma(1, 1, (len(names), len(outputs))).tolist()
    (plot,) = plots(result(sizes, effects, names=names, outputs=outputs))

    check_readable(plot)
    assert [row["name"] for row in rows(panels(plot)[0])[0]]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=30), min_size=3, max_size=5, unique=True), st.floats(0, 1e150))
def test_any_names_and_sizes_can_be_drawn(
    draw: Callable[[Plot], list[Any]], names: list[str], size: float
) -> None:
    count = len(names) * (len(names) - 1) // 2
    (plot,) = plots(one_output([size] * count, [size] * len(names), names=names))

    assert plot.title in [text.content for text in draw(plot)]
