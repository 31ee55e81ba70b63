"""Bars of permutation importance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.losses import Loss, LossAt, Measure
from onnxplain_server.methods.permutation_importance import PermutedLoss, Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.permutation_importance import plots

Check = Callable[[Plot], None]


def drawn(
    *found: tuple[str, Any, Any],
    outputs: tuple[str, ...] = ("price",),
    baseline=2.0,
    loss: Measure = Loss.ABSOLUTE_ERROR,
    normalize: bool = False,
) -> Plot:
    """Draw importances: features with "+" between them, values, standard errors."""
    importances = tuple(
        PermutedLoss(
            tuple(names.split("+")), np.atleast_1d(value) * 1.0, np.atleast_1d(error) * 1.0
        )
        for names, value, error in found
    )
    baselines = np.atleast_1d(baseline) * np.ones(len(outputs))
    (plot,) = plots(Result(outputs, baselines, importances, loss, normalize))
    return plot


def rows(plot: Plot) -> list[dict[str, Any]]:
    return list(plot.vega_lite["data"]["values"])


def subtitle(plot: Plot) -> str:
    return " ".join(plot.vega_lite["title"]["subtitle"])


def axis_title(plot: Plot) -> str:
    return str(plot.vega_lite["encoding"]["x"]["axis"]["title"])


def test_bars_fall_and_carry_lines_of_one_standard_error() -> None:
    plot = drawn(("a", 1.0, 0.25), ("b", 4.0, 0.5))

    assert plot.name == "permutation-importance"
    assert plot.vega_lite["encoding"]["y"]["sort"] == ["b", "a"]
    assert [(row["value"], row["low"], row["high"]) for row in rows(plot)] == [
        (4, 3.5, 4.5),
        (1, 0.75, 1.25),
    ]
    marks = [layer["mark"]["type"] for layer in plot.vega_lite["layer"]]
    assert marks == ["bar", "rule", "rule", "text"]
    assert "± 1 standard error" in subtitle(plot)
    assert "b is strongest at 4, then a at 1" in plot.description


def test_squared_errors_are_shown_by_their_roots_in_the_unit_of_predictions() -> None:
    """Of a loss of 4 before, 5 more is a root of 3; its error is 0.6 / (2 · 3)."""
    plot = drawn(("a", 5.0, 0.6), ("b", -4.0, 0.1), baseline=4.0, loss=Loss.SQUARED_ERROR)

    assert [(row["value"], row.get("low")) for row in rows(plot)] == [(1, 0.9), (-2, None)]
    assert "Root mean squared error of price before shuffling: 2" in subtitle(plot)
    shares = drawn(("a", 5.0, 0.6), baseline=4.0, loss=Loss.SQUARED_ERROR, normalize=True)
    assert rows(shares)[0]["value"] == 5
    total = drawn(("a", 5.0, 0.6), baseline=4.0, loss=Loss.SQUARED_ERROR, outputs=("total",))
    assert rows(total)[0]["value"] == 5


def test_features_shuffled_together_are_one_bar() -> None:
    plot = drawn(("lat+lon", 1.0, 0.1), ("age", 0.5, 0.1))

    assert [row["label"] for row in rows(plot)] == ["lat + lon", "age"]


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Loss.SQUARED_ERROR, "root mean squared error after shuffling (units of price)"),
        (Loss.ABSOLUTE_ERROR, "mean absolute error after shuffling (units of price)"),
        (Loss.POISSON, "mean Poisson deviance after shuffling (units of price)"),
        (Loss.GAMMA, "mean gamma deviance after shuffling (no unit)"),
        (Loss.LOGLOSS, "mean log loss after shuffling (nats)"),
        (Loss.MLOGLOSS, "mean multi-class log loss after shuffling (nats)"),
        ("abs(y - p)", "mean of abs(y - p) after shuffling (unit of the expression)"),
        (
            LossAt(Loss.PINBALL, 0.9),
            "mean pinball loss (quantile 0.9) after shuffling (units of price)",
        ),
        (
            LossAt(Loss.PINBALL, 0.9999999),
            "mean pinball loss (quantile 0.9999999) after shuffling (units of price)",
        ),
        (Loss.MAPE, "mean absolute percentage error after shuffling (share of the true value)"),
    ],
)
def test_the_axis_names_the_loss_and_its_unit(loss: Measure, words: str) -> None:
    assert axis_title(drawn(("a", 1.0, 0.1), loss=loss)) == f"Increase of the {words}"


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (Loss.AUC, "area under the ROC curve after shuffling (share of pairs)"),
        (Loss.ACCURACY, "accuracy after shuffling (share of rows)"),
        (Loss.BALANCED_ACCURACY, "balanced accuracy after shuffling (share of rows)"),
        (Loss.F1, "F1 score after shuffling (no unit)"),
        (LossAt(Loss.F1, -2.5), "F1 score (threshold −2.5) after shuffling (no unit)"),
        (
            LossAt(Loss.NDCG, 1_000_000),
            "NDCG (first 1,000,000) after shuffling (share of the best order's gain)",
        ),
    ],
)
def test_the_axis_says_that_a_score_falls(score: Loss | LossAt, words: str) -> None:
    assert axis_title(drawn(("a", 1.0, 0.1), loss=score)) == f"Fall of the {words}"


def test_normalised_values_are_shares_of_the_loss() -> None:
    title = axis_title(drawn(("a", 1.0, 0.1), normalize=True))

    assert title == "Increase of the mean absolute error after shuffling, as a share of that before"


def test_the_loss_before_shuffling_is_told_per_output() -> None:
    one = drawn(("a", 1.0, 0.1), baseline=0.25)
    two = drawn(("a", [1.0, 2.0], [0.1, 0.1]), outputs=("u", "v"), baseline=[0.25, 3.0])
    total = drawn(("a", 1.0, 0.1), outputs=("total",))

    assert "Mean absolute error of price before shuffling: 0.25" in subtitle(one)
    assert "Mean absolute error before shuffling: 0.25 for u and 3 for v" in subtitle(two)
    assert "Mean absolute error, total before shuffling: 2" in subtitle(total)


def test_outputs_stand_side_by_side_with_lines_of_their_own() -> None:
    plot = drawn(("a", [1.0, 2.0], [0.1, 0.2]), outputs=("u", "v"))

    assert plot.vega_lite["encoding"]["yOffset"]["field"] == "output"
    assert plot.vega_lite["layer"][0]["mark"] == "bar"
    assert [(row["output"], row["high"]) for row in rows(plot)] == [("u", 1.1), ("v", 2.2)]


def test_what_got_better_points_left_with_its_number_to_the_right() -> None:
    plot = drawn(("a", 1.0, 0.1), ("b", -0.5, 0.1))

    assert [(row["value"], row["end"]) for row in rows(plot)] == [(1, 1.1), (-0.5, 0)]
    assert "Below 0: predictions got better, by chance" in subtitle(plot)
    assert "Below 0" not in subtitle(drawn(("a", 1.0, 0.1)))


def test_a_single_shuffle_has_no_lines_and_says_so() -> None:
    plot = drawn(("a", 1.0, np.nan))

    assert [layer["mark"]["type"] for layer in plot.vega_lite["layer"]] == ["bar", "text"]
    assert "Shuffled once" in subtitle(plot)
    assert "standard error" not in subtitle(plot)
    assert "error" not in rows(plot)[0]
    assert rows(drawn(("a", -1.0, np.nan)))[0]["end"] == 0, "where the number is written"


def test_what_is_infinite_is_named_and_nothing_else_called_strongest() -> None:
    plot = drawn(("a", np.inf, np.nan), ("b", 1.0, 0.1), loss=Loss.LOGLOSS)

    assert "Infinite, without a bar: a" in subtitle(plot)
    assert "of those with a bar, b is strongest at 1" in plot.description
    assert [row["label"] for row in rows(plot)] == ["b"]


def test_fifteen_of_thirty_features_are_shown_and_said() -> None:
    plot = drawn(*[(f"x{i}", i + 1.0, 0.1) for i in range(30)])

    assert len(rows(plot)) == 15
    assert "15 strongest of 30 features" in subtitle(plot)


def test_features_that_the_model_does_not_use_are_counted() -> None:
    plot = drawn(("a", 1.0, 0.1), ("b", 0.0, 0.0))

    assert "1 of 2 features; the other is at 0" in subtitle(plot)


def test_nothing_shuffled_has_no_plot() -> None:
    assert plots(Result(("y",), np.ones(1), (), Loss.SQUARED_ERROR, normalize=False)) == ()


@pytest.mark.parametrize("outputs", [("price",), ("setosa", "versicolor", "virginica")])
@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize(
    ("error", "size"), [(0.05, 1e-7), (np.nan, 0.12), (0.05, 0.12), (np.nan, 1e10)]
)
def test_importances_can_be_drawn_and_read(
    check_readable: Check, outputs: tuple[str, ...], count: int, error: float, size: float
) -> None:
    values = np.random.default_rng(0).normal(0.5, 0.5, (count, len(outputs))) * size
    errors = np.full_like(values, error * size)
    names = [f"feature {i}+another" if i % 3 else f"a<b>&{i}" for i in range(count)]

    check_readable(drawn(*zip(names, values, errors, strict=True), outputs=outputs))
