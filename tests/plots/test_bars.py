"""Bars of interaction statistics."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.interactions import Result, Statistic
from onnxplain_server.methods.resampling import ReplicateSpread, Resampling
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions.bars import plots

Build = Callable[..., Any]
Draw = Callable[[Plot], list[Any]]
Named = Callable[..., dict[str, Plot]]


def data(plot: Plot, measure: str = "share") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = plot.vega_lite["data"]["values"]
    return [row for row in rows if row["measure"] == measure]


def rows(plot: Plot, measure: str = "share") -> list[tuple[str, float]]:
    return [(row["feature"], row["value"]) for row in data(plot, measure)]


def encoding(plot: Plot) -> dict[str, Any]:
    found: dict[str, Any] = plot.vega_lite["layer"][0]["encoding"]
    return found


def with_measure(plot: Plot, measure: str) -> Plot:
    """Set the switch."""
    (parameter,) = plot.vega_lite["params"]
    return replace(plot, vega_lite=plot.vega_lite | {"params": [{**parameter, "value": measure}]})


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


@pytest.fixture
def named(interactions: Build) -> Named:
    def drawn(**result) -> dict[str, Plot]:
        return {plot.name: plot for plot in plots(interactions(**result))}

    return drawn


@pytest.fixture
def pairs(statistic: Build) -> tuple[Statistic, ...]:
    """Forty-five pairs, weakest first."""
    names = itertools.combinations([f"x{i}" for i in range(10)], 2)
    return tuple(statistic(f"{a} {b}", i + 1, 100) for i, (a, b) in enumerate(names))


def test_each_order_is_drawn_once_with_both_measures(named: Named, statistic: Build) -> None:
    one = (statistic("age income", 4.0, 16.0),)

    drawn = named(overall=one, pairwise=one, threeway=one, importance=one)

    assert list(drawn) == ["pairwise", "overall", "threeway", "importance"]
    assert rows(drawn["pairwise"], "share") == [("age × income", 0.25)]
    assert rows(drawn["pairwise"], "size") == [("age × income", 2.0)]


def test_the_switch_starts_with_sizes_and_names_both(named: Named, statistic: Build) -> None:
    (parameter,) = named(overall=(statistic("a", 1.0),))["overall"].vega_lite["params"]

    assert parameter["value"] == "size"
    assert parameter["bind"]["options"] == ["size", "share"]
    assert parameter["bind"]["labels"] == ["size, in units of price", "share (H²)"]


@pytest.mark.parametrize(
    ("measure", "order", "axis", "number"),
    [
        ("size", ["a × b", "c × d"], "Standard deviation of the interaction (units of price)", "3"),
        ("share", ["c × d", "a × b"], "H²: share of the pair's joint effect", "0.8"),
    ],
)
def test_the_switch_decides_bars_order_axis_and_numbers(
    named: Named,
    statistic: Build,
    draw: Draw,
    measure: str,
    order: list[str],
    axis: str,
    number: str,
) -> None:
    plot = named(pairwise=(statistic("a b", 9.0, 90.0), statistic("c d", 0.4, 0.5)))["pairwise"]

    texts = draw(with_measure(plot, measure))

    labels = [t for t in texts if t.content in order and t.role == "role-axis-label"]
    assert [text.content for text in sorted(labels, key=lambda text: text.y)] == order
    assert any(text.content.startswith(axis) for text in texts)
    assert number in [text.content for text in texts]


def test_an_order_that_was_not_computed_has_no_plot(named: Named, statistic: Build) -> None:
    assert list(named(overall=(statistic("a", 1.0),))) == ["overall"]


def test_bars_fall_and_each_scale_has_its_own_order(named: Named, statistic: Build) -> None:
    """A weak pair may interact strongly by share and hardly at all by size."""
    drawn = named(pairwise=(statistic("a b", 9.0, 90.0), statistic("c d", 0.4, 0.5)))["pairwise"]

    assert [name for name, _ in rows(drawn, "share")] == ["c × d", "a × b"]
    assert [name for name, _ in rows(drawn, "size")] == ["a × b", "c × d"]
    assert [row["rank"] for row in data(drawn, "share")] == [0, 1]
    assert "By size, a × b is strongest at 3, then c × d at 0.632" in drawn.description


def test_the_sum_over_outputs_decides_the_order(named: Named, statistic: Build) -> None:
    drawn = named(
        outputs=("u", "v"), overall=(statistic("a", [0.25, 0.0]), statistic("b", [0.16, 0.16]))
    )["overall"]

    assert [name for name, _ in rows(drawn, "size")] == ["b", "b", "a", "a"]
    assert (
        "b is strongest over these outputs together, at 0.4 for u and 0.4 for v, then a"
        in drawn.description
    )


def test_the_fifteen_strongest_are_shown_and_said(
    named: Named, pairs: tuple[Statistic, ...]
) -> None:
    drawn = named(pairwise=pairs)["pairwise"]

    assert [value for _, value in rows(drawn)] == [i / 100 for i in range(45, 30, -1)]
    assert "15 strongest of 45 pairs" in subtitle(drawn)


def test_padding_is_left_out_unless_there_is_nothing_else(named: Named, statistic: Build) -> None:
    padding = statistic("a c", 0.0)

    beside = named(pairwise=(padding, statistic("a b", 0.5)))["pairwise"]
    alone = named(pairwise=(padding,))["pairwise"]

    assert rows(beside) == [("a × b", 0.5)]
    assert "1 of 2 pairs; the other is at 0" in subtitle(beside)
    assert rows(alone) == [("a × c", 0.0)]
    assert "Every pair is at 0" in subtitle(alone)


def test_the_total_is_told_per_output_and_by_both_measures(named: Named, statistic: Build) -> None:
    drawn = named(
        outputs=("u", "v"),
        overall=(statistic("a", [0.5, 0.1]),),
        total=statistic("", [4.0, 1.0], [16.0, 10.0]),
    )["overall"]

    assert (
        "All interactions together: size 2 for u and 1 for v; H² 0.25 for u and 0.1 for v"
        in drawn.description
    )


def test_importance_claims_no_total_of_interactions(named: Named, statistic: Build) -> None:
    assert "together" not in subtitle(named(importance=(statistic("a", 1.0),))["importance"])


def test_only_pairs_and_triples_warn_of_weak_shares(named: Named, statistic: Build) -> None:
    one = (statistic("a b", 1.0),)
    drawn = named(overall=one, pairwise=one, threeway=one, importance=one)

    warned = {
        name for name, plot in drawn.items() if "ratios of two small numbers" in subtitle(plot)
    }

    assert warned == {"pairwise", "threeway"}


def test_what_is_not_finite_is_dropped_and_said(named: Named, statistic: Build) -> None:
    drawn = named(
        outputs=("u", "v"),
        pairwise=(statistic("a b", [np.nan, 1.0], [1.0, 2.0]), statistic("a c", [np.nan, 0.2])),
    )["pairwise"]

    assert rows(drawn) == [("a × b", 0.5), ("a × c", 0.2)]
    assert "Not shown, because not finite or beyond ±1e300: 2 of 4 values" in subtitle(drawn)


def test_nothing_finite_still_makes_a_plot_that_says_so(
    named: Named, statistic: Build, draw: Draw
) -> None:
    drawn = named(overall=(statistic("a", np.nan),))["overall"]

    assert "Not shown, because not finite or beyond ±1e300: 1 of 1 values" in subtitle(drawn)
    assert draw(drawn)


def test_of_many_outputs_the_strongest_are_shown_in_their_order(
    named: Named, statistic: Build
) -> None:
    names = tuple(f"class {i}" for i in range(10))
    drawn = named(outputs=names, overall=(statistic("a", np.arange(10.0)),))["overall"]

    assert encoding(drawn)["color"]["scale"]["domain"] == list(names[3:])
    assert "7 strongest of 10 outputs" in subtitle(drawn)


def test_outputs_of_one_name_stay_apart(named: Named, statistic: Build) -> None:
    drawn = named(outputs=("y", "y"), overall=(statistic("a", [0.5, 0.25]),))["overall"]

    assert [row["output"] for row in data(drawn)] == ["y", "y (2)"]


def test_of_many_outputs_a_sentence_names_the_most_and_the_least(
    named: Named, statistic: Build
) -> None:
    names = tuple(f"class {i}" for i in range(6))
    drawn = named(outputs=names, overall=(statistic("a", np.arange(1.0, 7.0) ** 2),))["overall"]

    assert (
        "a is strongest over these outputs together, at 6 for class 5, down to 1 for class 0"
        in drawn.description
    )


def test_long_names_are_cut_inside_on_the_axis_and_whole_beside_the_pointer(
    named: Named, statistic: Build
) -> None:
    long = [f"a column that an encoder made of free text, value {i}" for i in range(2)]
    drawn = named(pairwise=(statistic((long[0], "b"), 0.2), statistic((long[1], "b"), 0.1)))

    bars = data(drawn["pairwise"])
    assert [bar["label"] for bar in bars] == [
        f"a column that an encoder ma…text, value {i} ×\nb" for i in range(2)
    ]
    assert bars[0]["feature"] == f"{long[0]} × b"


def test_names_of_forty_letters_are_shown_whole_one_below_the_other(
    named: Named, statistic: Build, draw: Draw
) -> None:
    names = tuple(f"{letter * 39}!" for letter in "abc")
    drawn = named(threeway=(statistic(names, 0.2),))["threeway"]

    assert f"{names[0]} × {names[1]} × {names[2]}" in [text.content for text in draw(drawn)]


def test_a_bar_ends_in_its_number(named: Named, statistic: Build, draw: Draw) -> None:
    plot = named(overall=(statistic("a", 0.0640123),))["overall"]
    texts = [text.content for text in draw(with_measure(plot, "share"))]

    assert "0.064" in texts


def test_intervals_are_lines_over_the_bars_with_their_ends_in_tooltips() -> None:
    told = ReplicateSpread(np.array([0.01]), np.array([0.2]), np.array([0.5]), np.array([0.0]))
    one = Statistic(("a",), np.array([0.3]), np.array([1.0]), told)
    other = Statistic(("b",), np.array([0.1]), np.array([1.0]), told)
    result = Result(
        ("y",),
        np.array([1.0]),
        one,
        (one, other),
        (),
        (),
        (),
        Resampling(100, confidence_level=0.9),
    )

    (plot,) = plots(result)

    shares = data(plot)
    assert [(row["low"], row["high"], row["end"]) for row in shares] == [(0.2, 0.5, 0.5)] * 2
    assert [row["spread"] for row in shares] == ["0.2 to 0.5"] * 2
    assert "90 % intervals" in plot.description
    assert [tip["title"] for tip in encoding(plot)["tooltip"]][-1] == "90 % interval"
    sizes = data(plot, "size")
    assert "low" not in sizes[0]
    assert sizes[0]["end"] == sizes[0]["value"]


@pytest.mark.parametrize("outputs", [("y",), ("y", "z")])
def test_p_values_are_in_tooltips(
    outputs: tuple[str, ...], check_readable: Callable[[Plot], None]
) -> None:
    count = len(outputs)
    one, other = (
        Statistic((name,), np.full(count, size), np.ones(count), p_values=np.full(count, p))
        for name, size, p in (("a", 0.1, 0.025), ("b", 0.3, np.nan))
    )
    result = Result(outputs, np.ones(count), one, (one, other), (), (), ())

    for plot in plots(result):
        check_readable(plot)
        assert {row["label"]: row.get("p") for row in data(plot)} == {"b": None, "a": 0.025}
        assert encoding(plot)["tooltip"][-1]["title"] == "p-value"
