"""Plots of changes: both values and the interval between them, and which have changed."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods.changes.comparison import ChangeOptions, compare
from onnxplain_server.methods.changes.found import Changes, OutputRankings
from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.changes.rankings import compare_rankings
from onnxplain_server.methods.resampling import ReplicatedStatistic
from onnxplain_server.plots.changes import plots


def changes(before: dict[str, float], after: dict[str, float], kind: str = "IMPORTANCE") -> Changes:
    random = np.random.default_rng(0)
    sides = []
    for own in (before, after):
        statistics = []
        for name, value in own.items():
            numbers = value + np.vstack([[[0.0]], random.normal(0, 0.01, (100, 1))])
            features = tuple(name.split("+"))
            statistics.append(ReplicatedStatistic.of_numbers(kind, features, numbers, 500.0))
        sides.append(KeptStatistics(("price",), tuple(statistics)))
    pairs = [(0, sides[0], sides[1])]
    return compare(pairs, ChangeOptions(), is_paired=True, are_classes=False)


def test_values_and_intervals_of_the_change_are_drawn(check_readable) -> None:
    (plot,) = plots(changes({"zip": 0.1, "age": 0.3}, {"zip": 0.5, "age": 0.31}))

    check_readable(plot)
    assert plot.name == "change-importance-price"
    assert "1 of 2 changed by more than chance." in plot.description
    zip_, age = plot.vega_lite["data"]["values"]
    assert (zip_["label"], zip_["reference"], zip_["value"]) == ("zip", 0.1, 0.5)
    assert [zip_["verdict"], age["verdict"]] == ["changed", "not shown"]
    assert zip_["low"] < 0.5 < zip_["high"]
    assert zip_["high"] - zip_["low"] == pytest.approx(4 * 2**0.5 * 0.01, rel=0.2)


def test_curves_are_drawn_before_and_after_with_the_interval_of_the_change(check_readable) -> None:
    random, grid = np.random.default_rng(0), np.array([0.0, 1.0, 2.0])
    sides = []
    for values in ([1.0, 2.0, 3.0], [1.0, 2.0, 5.0]):
        column = np.array(values)[:, np.newaxis]
        drawn = column + random.normal(0, 0.01, (100, 3, 1))
        own = ReplicatedStatistic("PARTIAL_DEPENDENCE", ("age",), "", (grid,), column, drawn, 500.0)
        sides.append(KeptStatistics(("variable",), (own,)))
    found = compare([(0, sides[0], sides[1])], ChangeOptions(), is_paired=True, are_classes=False)
    (plot,) = plots(found, {"variable": "price"}.__getitem__)

    check_readable(plot)
    assert plot.title == "Change of partial dependence of price on age"
    assert "Changed by more than chance; the largest difference is +2, at 2." in plot.description
    rows = plot.vega_lite["data"]["values"]
    (last,) = (row for row in rows if row["x"] == 2 and row["series"] == "after")
    assert 3 < last["wide_low"] < last["low"] < last["value"] == 5 < last["high"]


def test_of_many_the_largest_changes_are_drawn(check_readable) -> None:
    names = [f"a rather long name of a feature {i}" for i in range(20)]
    before = dict.fromkeys(names, 0.1)
    after = {name: 0.1 + 0.01 * i for i, name in enumerate(names)}
    (plot,) = plots(changes(before, after))

    check_readable(plot)
    assert len(plot.vega_lite["data"]["values"]) == 15
    assert "The 15 largest changes of 20." in plot.description


def test_losses_of_all_rows_have_a_label(check_readable) -> None:
    (plot,) = plots(changes({"": 1.0}, {"": 1.5}, "AVERAGE_LOSS"))

    check_readable(plot)


def test_mean_squares_go_along_with_shares() -> None:
    assert plots(changes({"a": 1.0}, {"a": 1.5}, "IMPORTANCE_SQUARE")) == ()


def ranked(before: list[float], after: list[float], names: list[str], noise: float = 0.1):
    random = np.random.default_rng(0)
    one, other = (
        np.abs(np.vstack([own, own + random.normal(0, noise, (200, len(own)))]))
        for own in (np.array(before), np.array(after))
    )
    found = compare_rankings([(name,) for name in names], one, other, 5, 0.95)
    return Changes(rankings=(OutputRankings(0, "IMPORTANCE", "price", len(names), found),))


def test_ranks_are_joined_and_only_sure_changes_of_places_are_blue(check_readable) -> None:
    found = ranked([9, 5, 3, 1, 0.9, 0], [5, 9, 3, 0.9, 1, 0], [*"abcdef"], noise=0.15)
    (plot,) = plots(found, {"price": "price in $"}.__getitem__)

    check_readable(plot)
    assert plot.name == "change-ranking-importance-price"
    assert plot.title == "Ranks by importance for price in $"
    assert "2 of 6 changed places by more than chance: blue." in plot.description
    rows = {row["label"]: row for row in plot.vega_lite["data"]["values"]}
    assert [(rows[name]["before"], rows[name]["after"]) for name in "abcde"] == [
        ("1", "2"), ("2", "1"), ("3", "3"), ("4", "5"), ("5", "4"),
    ]  # fmt: skip
    assert {name for name, row in rows.items() if row["verdict"] == "changed"} == {"a", "b"}
    assert "f" not in rows


def test_of_many_features_the_first_of_either_side_stand_at_their_ranks(check_readable, draw):
    names = [f"a rather long name of a feature {i:02}" for i in range(20)]
    before = [*range(20, 0, -1)]
    after = [0, 0, *before[2:18], 30, 31]
    (plot,) = plots(ranked(before, after, names))

    check_readable(plot)
    assert "The 10 first ones of either side; 10 others are not drawn." in plot.description
    rows = plot.vega_lite["data"]["values"]
    placed = {row["label"][-2:]: (row["before_place"], row["after_place"]) for row in rows}
    assert placed["19"] == (12, 1)
    assert placed["00"], placed["01"] == ((1, 11), (2, 12))
    shown = [text.content for text in draw(plot) if text.role == "role-axis-label"]
    assert sum(text.startswith("not used: ") for text in shown) == 2
    assert sum(text.startswith("20 ") for text in shown) == 1


def test_without_replicates_no_feature_has_changed_places_for_sure() -> None:
    pair = np.array([[2.0, 1.0]])

    assert not compare_rankings(
        [("a",), ("b",)], pair, pair[:, ::-1], 5, 0.95
    ).ranked.have_moved.any()
