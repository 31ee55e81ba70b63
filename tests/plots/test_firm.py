"""FIRM in pictures: the ranking, the curves, the squares, and sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.firm import Estimator, Result
from onnxplain_server.methods.firm.result import (
    ConditionalExpectation,
    FirmImportance,
    ImportanceSpread,
    PairGrid,
    ScatterSample,
)
from onnxplain_server.methods.sequences import Options, Setting, Weights, from_weights
from onnxplain_server.methods.sequences.background import uniform
from onnxplain_server.plots import sequences
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.firm.ranking import plots as drawn

Check = Callable[[Plot], None]
WEIRD = ("a.b[0] > 1", "quo\"te's", "<b>&amp;", "constructor", "", "größe (m²) ** 2")


def importance(
    feature: str,
    values: Sequence[float],
    levels=(0.0, 1.0),
    spread: float | None = None,
) -> FirmImportance:
    number = np.array(values, dtype=float)
    kind = object if isinstance(levels[0], str) else float
    held = np.array(levels, dtype=kind)
    expected = np.arange(len(held))[:, None] * number + 5
    around = None
    if spread is not None:
        around = ImportanceSpread(number * 0 + spread, number - 2 * spread, number + 2 * spread)
    shares = np.full(len(held), 1 / len(held))
    curve = ConditionalExpectation(held, len(held) < 5, expected, shares)
    return FirmImportance(feature, Estimator.BINNED, number, around, curve)


def result(
    *importances: FirmImportance,
    outputs: tuple[str, ...] = ("price",),
    level: float = 0.0,
    pair_grids: tuple[PairGrid, ...] = (),
) -> Result:
    random = np.random.default_rng(0)
    values = {
        one.feature: random.choice(one.curve.levels, 30)
        if one.curve.is_by_value
        else random.normal(size=30)
        for one in importances
    }
    cloud = ScatterSample(values, random.normal(size=(30, len(outputs))))
    numbers = np.ones(len(outputs))
    return Result(outputs, importances, (), numbers, numbers, False, level, cloud, pair_grids, ())


def named(plots: Sequence[Plot], name: str) -> Plot:
    (plot,) = [plot for plot in plots if plot.name == name]
    return plot


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def test_the_ranking_is_by_size_and_keeps_signs() -> None:
    signed = replace(importance("b", [-2]), estimator=Estimator.SLOPE)
    held = replace(importance("c", [1], levels=("no", "yes")), estimator=Estimator.TWO_VALUED)
    plot = named(drawn(result(importance("a", [0.5]), signed, held)), "firm")

    assert plot.vega_lite["encoding"]["y"]["sort"] == ["b", "c = yes", "a"]
    assert [row["value"] for row in plot.vega_lite["data"]["values"]] == [2, 1, 0.5]
    assert [row["text"] for row in plot.vega_lite["data"]["values"]] == ["▼ 2", "▲ 1", "0.5"]
    assert "b is strongest at 2" in plot.description
    assert "▼ it falls; without a sign" in subtitle(plot)
    assert "Without intervals" in subtitle(plot)


@pytest.mark.parametrize(
    ("rise", "levels", "label"),
    [
        (1, (0.0, 1.0), "age > 30"),
        (-1, (0.0, 1.0), "not (age > 30)"),
        (1, ("no", "yes"), "“age > 30” = yes"),
    ],
)
def test_a_comparison_is_no_value_of_its_own(
    rise: int, levels: tuple[Any, ...], label: str
) -> None:
    held = importance("age > 30", [1], levels=levels)
    expected = np.array([[0.0], [1.0]]) * rise
    curve = replace(held.curve, expected=expected)
    held = replace(held, estimator=Estimator.TWO_VALUED, curve=curve)

    plot = named(drawn(result(held, importance("b", [0.5]))), "firm")

    assert plot.vega_lite["encoding"]["y"]["sort"][0] == label


def test_intervals_lie_over_the_bars() -> None:
    plot = named(drawn(result(importance("a", [1], spread=0.25), level=0.9)), "firm")

    (row,) = plot.vega_lite["data"]["values"]
    assert (row["low"], row["high"]) == (0.5, 1.5)
    assert "90 % intervals" in subtitle(plot)


def test_curves_show_the_expected_score_the_rows_and_where_they_are() -> None:
    found = result(
        importance("x", [2], np.linspace(-2, 2, 9)),
        importance("kind", [1], ["a", "b", ""]),
        importance("gaps", [0.5], [1.0, 2.0, np.nan]),
    )

    plot = named(drawn(found), "firm-curves")

    assert plot.description.startswith("Expected score of price along each feature: x, kind, gaps.")
    first, second, third = plot.vega_lite["concat"]
    strip, main = first["vconcat"]
    cloud, line, dots = main["layer"]
    assert len(cloud["data"]["values"]) == 30
    assert [row["score"] for row in line["data"]["values"]] == [5 + 2 * i for i in range(9)]
    assert line["mark"]["type"] == "line"
    assert len(dots["data"]["values"]) == 9
    assert sum(row["share"] for row in strip["data"]["values"]) == pytest.approx(1)
    # Text has no line between its values.
    assert len(second["vconcat"][1]["layer"]) == 2
    assert third["vconcat"][1]["layer"][2]["data"]["values"][2]["level"] == "missing"


def pairs(values: Sequence[float], outputs: int = 1) -> Result:
    names = ("a", "not a", "b", "not b")
    singles = [importance(name, [v] * outputs) for name, v in zip(names, values, strict=False)]
    joined = [
        importance(f"({names[i]}) and ({names[j]})", [values[4 + k]] * outputs)
        for k, (i, j) in enumerate([(0, 2), (0, 3), (1, 2), (1, 3)])
    ]
    cells = ((0, 2, 4), (0, 3, 5), (1, 2, 6), (1, 3, 7))
    literals = PairGrid(names, cells, (0, 1, 2, 3), "CONJUNCTION")
    labels = tuple(f"y{k}" for k in range(outputs))
    return result(*singles, *joined, outputs=labels, pair_grids=(literals,))


def test_pairs_are_a_square_below_their_features() -> None:
    plot = named(drawn(pairs([1, -1, 2, -2, 0.5, -0.5, 0.25, -4])), "firm-pairs-conjunction")

    row, square = plot.vega_lite["vconcat"]
    assert [cell["value"] for cell in row["data"]["values"]] == [1, -1, 2, -2]
    cells = {(c["first"], c["second"]): c["value"] for c in square["data"]["values"]}
    assert len(cells) == 8
    assert cells["a", "not b"] == cells["not b", "a"] == -0.5
    assert square["encoding"]["color"]["scale"]["domain"] == [-4, 0, 4]
    assert "(not a) and (not b) is strongest" in plot.description


def test_model_and_labels_are_squares_side_by_side() -> None:
    plot = named(drawn(pairs(np.arange(8.0).tolist(), 2)), "firm-pairs-conjunction")

    assert [block["vconcat"][0]["title"]["text"] for block in plot.vega_lite["hconcat"]] == [
        "y0",
        "y1",
    ]


@pytest.mark.parametrize(
    ("names", "outputs"),
    [
        pytest.param(("only",), ("low", "mid", "high"), id="one"),
        pytest.param(tuple(f"x{i} > {i}" for i in range(30)), ("price",), id="30"),
        pytest.param(WEIRD, ("low", "mid", "high"), id="weird"),
    ],
)
def test_pictures_can_be_drawn_and_read(
    check_readable: Check, names: tuple[str, ...], outputs: tuple[str, ...]
) -> None:
    random = np.random.default_rng(0)
    found = [
        importance(name, random.normal(size=len(outputs)).tolist(), np.linspace(-1, 3, 12), 0.1)
        for name in names
    ]
    for plot in drawn(result(*found, outputs=outputs, level=0.95)):
        check_readable(plot)


def test_squares_can_be_drawn_and_read(check_readable: Check) -> None:
    for plot in drawn(pairs([1, -1, 2, -2, 0.5, -0.5, 0.25, float("nan")])):
        check_readable(plot)


@pytest.fixture(scope="module")
def of_sequences() -> tuple[Plot, ...]:
    random = np.random.default_rng(0)
    tables = tuple(random.normal(size=(30 - k + 1, 4**k)) for k in (1, 2, 3))
    options = Options(motifs=("GAT", "GATTA"))
    found = from_weights(
        [Weights(tables, 30)], Setting(uniform(4), 30, ("score",)), options, lambda: None
    )
    return sequences.plots(found)


def test_a_motif_lies_over_the_band_of_irrelevant_strings(of_sequences: tuple[Plot, ...]) -> None:
    plot = named(of_sequences, "firm-motif-GATTA")

    band, lines = plot.vega_lite["layer"]
    assert len(band["data"]["values"]) == 26
    assert all(row["low"] < row["high"] for row in band["data"]["values"])
    assert {row["strings"] for row in lines["data"]["values"]} == {
        "the motif",
        "1 mismatch",
        "2 mismatches",
    }
    assert "243 strings that agree nowhere" in subtitle(plot)


def test_raw_weights_stand_beside_where_there_are_any(of_sequences: tuple[Plot, ...]) -> None:
    plot = named(of_sequences, "firm-motif-GAT")

    titles = [
        panel["layer"][0]["encoding"]["y"]["axis"]["title"] for panel in plot.vega_lite["hconcat"]
    ]
    assert titles == ["Raw weight (w)", "Importance (Q)"]


def test_strings_by_positions_are_the_strongest(of_sequences: tuple[Plot, ...]) -> None:
    one, three = (named(of_sequences, f"firm-kmers-{k}") for k in (1, 3))

    assert {row["kmer"] for row in one.vega_lite["data"]["values"]} == set("ACGT")
    assert len(three.vega_lite["data"]["values"]) == 20 * 28
    assert "20 strongest of 64 strings" in subtitle(three)


def test_sequences_can_be_drawn_and_read(
    of_sequences: tuple[Plot, ...], check_readable: Check
) -> None:
    for plot in of_sequences:
        check_readable(plot)
