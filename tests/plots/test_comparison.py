"""Importance by partial dependence beside that by permutation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.permutation_importance import PermutedLoss, Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions.comparison import compare
from onnxplain_server.plots.registry import draw_all

Build = Callable[..., Any]
Check = Callable[[Plot], None]

B = ("b", "partial dependence")


def shuffled(
    values: dict[str, Any], *, loss: Loss = Loss.ABSOLUTE_ERROR, normalize: bool = False
) -> Result:
    importances = tuple(
        PermutedLoss(tuple(names.split("+")), np.atleast_1d(value) * 1.0, np.zeros(np.size(value)))
        for names, value in values.items()
    )
    outputs = tuple(f"y{k}" for k in range(len(importances[0].values)))
    baseline = np.ones(len(outputs))
    return Result(outputs, baseline, importances, loss, normalize)


@pytest.fixture
def moved(interactions: Build, statistic: Build) -> Build:
    def built(denominators=1.0, **numerators):
        found = tuple(statistic((name,), n, denominators) for name, n in numerators.items())
        outputs = tuple(f"y{k}" for k in range(len(found[0].numerators)))
        return interactions(outputs, importance=found)

    return built


def rows(plot: Plot) -> list[tuple[str, str, float]]:
    return [
        (row["feature"], row["output"], row["value"]) for row in plot.vega_lite["data"]["values"]
    ]


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def test_each_importance_is_a_share_of_its_largest_on_the_scale_of_its_own_plot(
    moved: Build,
) -> None:
    (plot,) = compare(moved(a=1.0, b=16.0), shuffled({"a": 5.0, "b": 10.0}))

    assert plot.name == "importances"
    assert rows(plot) == [
        ("b", "partial dependence", 1),
        ("b", "permutation", 1),
        ("a", "partial dependence", 0.25),
        ("a", "permutation", 0.5),
    ]
    assert "Both find b most important" in subtitle(plot)
    assert "only the shapes compare" in subtitle(plot)
    assert plot.vega_lite["encoding"]["color"]["legend"]["title"] == "importance by"


def test_increases_of_squared_errors_are_those_of_their_roots(moved: Build) -> None:
    """Of a loss of 1 before, 3 more is a root of 2, and 8 more one of 3."""
    (plot,) = compare(moved(a=1.0, b=16.0), shuffled({"a": 3.0, "b": 8.0}, loss=Loss.SQUARED_ERROR))

    assert ("a", "permutation", 0.5) in rows(plot)


def test_disagreement_about_the_first_is_said(moved: Build) -> None:
    (plot,) = compare(moved(a=1.0, b=4.0), shuffled({"a": 5.0, "b": 1.0}))

    said = "Partial dependence finds b most important, permutation a"
    assert said in subtitle(plot)
    assert said in plot.description


def test_a_group_of_features_has_both_importances_in_whatever_order_it_is_named(
    moved: Build,
) -> None:
    (plot,) = compare(moved(**{"a": 1.0, "b + c": 16.0}), shuffled({"a": 5.0, "c+b": 10.0}))

    assert rows(plot)[:2] == [("b + c", "partial dependence", 1), ("b + c", "permutation", 1)]


def test_outputs_are_summed_as_losses_are(moved: Build) -> None:
    """Outputs of larger variance count more, unless each is a share of its own loss."""
    effects = moved(a=[1.0, 90.0], b=[10.0, 0.0], denominators=[10.0, 100.0])

    plain = compare(effects, shuffled({"a": 1.0, "b": 1.0}))
    shares = compare(effects, shuffled({"a": [1.0, 1.0], "b": [1.0, 1.0]}, normalize=True))

    assert [value for name, way, value in rows(plain[0]) if (name, way) == B] == [
        pytest.approx(np.sqrt(10) / (1 + np.sqrt(90)))
    ]
    assert [value for name, way, value in rows(shares[0]) if (name, way) == B] == [
        pytest.approx(1 / (np.sqrt(0.1) + np.sqrt(0.9)))
    ]


def test_only_what_both_know_is_compared(moved: Build) -> None:
    """Features shuffled together have no counterpart, nor has what is infinite."""
    losses = {"a": 1.0, "c+d": 9.0, "b": 2.0, "c": np.inf, "d": 1.0}

    (plot,) = compare(moved(a=1.0, b=2.0, c=3.0, d=4.0), shuffled(losses))

    assert {name for name, _, _ in rows(plot)} == {"a", "b", "d"}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"a": 1.0}, id="one feature in common"),
        pytest.param({"a+b": 1.0}, id="none in common"),
        pytest.param({"a": 0.0, "b": 0.0}, id="nothing important"),
        pytest.param({"a": -0.1, "b": -0.2}, id="all better by chance"),
    ],
)
def test_what_cannot_be_compared_has_no_plot(moved: Build, values: dict[str, float]) -> None:
    assert compare(moved(a=1.0, b=2.0), shuffled(values)) == ()


def test_what_got_better_by_chance_points_left(moved: Build) -> None:
    (plot,) = compare(moved(a=1.0, b=0.5), shuffled({"a": 2.0, "b": -1.0}))

    assert ("b", "permutation", -0.5) in rows(plot)


@pytest.mark.parametrize("count", [2, 5, 30])
def test_both_can_be_drawn_and_read(moved: Build, check_readable: Check, count: int) -> None:
    values = {f"feature{i}": float(i) for i in range(count)}

    (plot,) = compare(moved(**values), shuffled(values))

    check_readable(plot)
    assert len(plot.vega_lite["encoding"]["y"]["sort"]) == min(count - 1, 15), "the first is 0"


def test_the_later_of_two_explanations_shows_both(moved: Build) -> None:
    one, other = moved(a=1.0, b=2.0), shuffled({"a": 1.0, "b": 3.0})

    names = [[plot.name for plot in plots] for plots in draw_all([other, one, other])]
    alone = [[plot.name for plot in plots] for plots in draw_all([other, other])]

    assert names == [
        ["permutation-importance"],
        ["importance", "importances"],
        ["permutation-importance"],
    ]
    assert alone == [["permutation-importance"]] * 2
