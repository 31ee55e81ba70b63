"""Bars of average losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.average_loss import AverageLoss, Result
from onnxplain_server.methods.losses import Loss
from onnxplain_server.plots.average_loss import plots
from onnxplain_server.plots.elements.chart import Plot

Check = Callable[[Plot], None]


def drawn(
    *losses: tuple[str, Any, float],
    outputs: tuple[str, ...] = ("price",),
    loss: Loss | str = Loss.ABSOLUTE_ERROR,
    group_column: str = "",
) -> Plot:
    """Draw losses: group, values, weight."""
    whole = sum(weight for _, _, weight in losses)
    found = tuple(
        AverageLoss(group, np.atleast_1d(values) * 1.0, weight, weight / whole)
        for group, values, weight in losses
    )
    weights = [one.weight for one in found]
    total = np.average([one.values for one in found], axis=0, weights=weights)
    (plot,) = plots(Result(outputs, found, loss, total, group_column))
    return plot


def rows(plot: Plot) -> list[tuple[str, float]]:
    return [(row["label"], row["value"]) for row in plot.vega_lite["data"]["values"]]


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def axis_title(plot: Plot) -> str:
    return str(plot.vega_lite["encoding"]["x"]["axis"]["title"])


def test_one_output_without_groups_is_one_bar_with_its_number() -> None:
    plot = drawn(("", 2.5, 10))

    assert plot.name == "average-loss"
    assert rows(plot) == [("price", 2.5)]
    assert "Over all rows used: 2.5" in subtitle(plot)


@pytest.mark.parametrize(
    ("loss", "title"),
    [
        (Loss.SQUARED_ERROR, "Root mean squared error of price (units of price)"),
        (Loss.ABSOLUTE_ERROR, "Mean absolute error of price (units of price)"),
        (Loss.POISSON, "Mean Poisson deviance of price (units of price)"),
        (Loss.GAMMA, "Mean gamma deviance of price (no unit)"),
        (Loss.LOGLOSS, "Mean log loss of price (nats)"),
        (Loss.MLOGLOSS, "Mean multi-class log loss (nats)"),
        ("abs(y - p) / y", "Mean of abs(y - p) / y for price (unit of the expression)"),
    ],
)
def test_the_axis_names_the_loss_and_its_unit(loss: Loss | str, title: str) -> None:
    assert axis_title(drawn(("", 2.5, 10), loss=loss)) == title


def test_outputs_without_groups_are_rows() -> None:
    plot = drawn(("", [0.5, 2.0], 10), outputs=("u", "v"))

    assert rows(plot) == [("u", 0.5), ("v", 2)]
    assert "Smallest for u at 0.5, largest for v at 2" in subtitle(plot)


def test_of_equal_losses_none_is_called_the_smallest() -> None:
    text = subtitle(drawn(("", [1.0, 1.0], 10), outputs=("u", "v")))
    assert "The same for all bars" in text
    assert "Smallest" not in text


def test_groups_keep_their_order_below_their_average_by_weight() -> None:
    plot = drawn(("[1,2]", 1.0, 30), ("(2,9]", 5.0, 10), group_column="year")

    assert rows(plot) == [("all rows used", 2), ("[1,2]", 1), ("(2,9]", 5)]
    assert plot.title == "Mean absolute error of price, by year"
    assert "Over all rows used: 2 Smallest for [1,2] at 1, largest for (2,9] at 5" in subtitle(plot)


def test_squared_errors_of_groups_are_shown_by_their_roots() -> None:
    plot = drawn(("a", 4.0, 30), ("b", 16.0, 10), group_column="year", loss=Loss.SQUARED_ERROR)

    shown = [("all rows used", pytest.approx(np.sqrt(7))), ("a", 2), ("b", 4)]
    assert rows(plot) == shown  # the root of the mean, no mean of roots


def test_groups_of_several_outputs_stand_side_by_side() -> None:
    plot = drawn(("a", [1.0, 2.0], 1), ("b", [3.0, 5.0], 1), outputs=("u", "v"))

    assert plot.vega_lite["encoding"]["yOffset"]["field"] == "output"
    assert "Over all rows used: 2 for u and 3.5 for v" in subtitle(plot)
    assert "Smallest for a, largest for b" in subtitle(plot)


def test_of_many_groups_the_heaviest_are_shown_and_said() -> None:
    plot = drawn(*[(f"g{i:02}", float(i), float(i + 1)) for i in range(20)])

    assert [label for label, _ in rows(plot)][:2] == ["all rows used", "g06"]
    assert "14 largest of 20 groups" in subtitle(plot)
    # The average is of all groups, shown or not: Σ i (i + 1) / Σ (i + 1).
    assert rows(plot)[0][1] == pytest.approx(2660 / 210)


def test_fourteen_groups_are_all_shown_and_fifteen_are_not() -> None:
    fourteen, fifteen = (
        drawn(*[(f"g{i:02}", float(i), 1.0) for i in range(count)]) for count in (14, 15)
    )

    assert len(rows(fourteen)) == len(rows(fifteen)) == 15
    assert "largest of" not in subtitle(fourteen)
    assert "14 largest of 15 groups" in subtitle(fifteen)


def test_of_many_outputs_the_worst_are_shown_and_said() -> None:
    names = tuple(f"class {i}" for i in range(20))

    alone = drawn(("", np.arange(20.0), 1), outputs=names)
    grouped = drawn(("a", np.arange(20.0), 1), ("b", np.arange(20.0), 1), outputs=names)

    assert rows(alone)[0][0] == "class 5"
    assert "15 worst of 20 outputs" in subtitle(alone)
    assert "7 worst of 20 outputs" in subtitle(grouped)


def test_an_infinite_loss_is_the_worst_and_has_no_bar() -> None:
    plot = drawn(("", [np.inf, *np.ones(15)], 1), outputs=tuple("abcdefghijklmnop"))

    assert len(rows(plot)) == 14
    assert "Not shown, because not finite or beyond ±1e300: 1 of 15 values" in subtitle(plot)
    assert "Smallest" not in subtitle(plot)


def test_a_group_called_as_the_average_stays_apart() -> None:
    labels = [label for label, _ in rows(drawn(("all rows used", 1.0, 1), ("b", 2.0, 1)))]

    assert labels == ["all rows used", "all rows used (2)", "b"]


@pytest.mark.parametrize("outputs", [("price",), ("setosa", "versicolor", "virginica")])
@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([""], id="no groups"),
        pytest.param(["[19,38]", "(38,50]", "(50,59]", "(59,79]", "missing"], id="intervals"),
        pytest.param(["constructor", "a<b>&", "größe (m²)"], id="weird"),
        pytest.param([f"a group of a long name indeed, {i}" for i in range(40)], id="many"),
    ],
)
@pytest.mark.parametrize("size", [0.0, 1e10])
def test_losses_can_be_drawn_and_read(
    check_readable: Check, outputs: tuple[str, ...], groups: list[str], size: float
) -> None:
    values = np.random.default_rng(0).random((len(groups), len(outputs))) * size

    losses = [(group, row, 1.0) for group, row in zip(groups, values, strict=True)]
    check_readable(drawn(*losses, outputs=outputs))
