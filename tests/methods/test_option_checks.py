"""Options are refused with the field, the rule, and what was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.limits import Limits, within
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.methods.option_checks import check_limits, choose

NAMES = ("x", "y", "t")


def refusal(resolve, options) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        resolve(options, NAMES, "p")
    return refused.value


def test_chosen_names_are_kept_and_no_choice_means_all() -> None:
    assert choose(["t", "x"], NAMES, "p") == ("t", "x")
    assert choose([], NAMES, "p") == NAMES


@pytest.mark.parametrize("value", [2, 2.5, 5])
def test_a_number_may_lie_on_a_bound(value: float) -> None:
    within(value, Limits(default=3, min=2, max=5), "p.count")


def test_0_may_turn_off_what_has_a_larger_minimum() -> None:
    within(0, Limits(default=0, min=2, max=5, zero_is_off=True), "p.count")


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (1, {"max": 5}, "count is 1; it must be in [2, 5]"),
        (6, {"max": 5}, "count is 6; it must be in [2, 5]"),
        (float("nan"), {"max": 5}, "count is nan; it must be in [2, 5]"),
        (-1, {}, "count is -1; it must be at least 2"),
        (2, {"max": 5, "exclusive_min": True}, "count is 2; it must be in (2, 5]"),
        (5, {"max": 5, "exclusive_max": True}, "count is 5; it must be in [2, 5)"),
        (1, {"max": 5, "zero_is_off": True}, "count is 1; it must be 0, or in [2, 5]"),
        (0, {"max": 5}, "count is 0; it must be in [2, 5]"),
    ],
)
def test_a_number_outside_is_refused(value: float, limits: dict[str, Any], words: str) -> None:
    with pytest.raises(ExplainError) as refused:
        within(value, Limits(default=3, min=2, **limits), "p.count")

    assert refused.value.message == words
    assert refused.value.field == "p.count"


@dataclass
class Part:
    count: int | None = None


@dataclass
class Whole:
    part: Part
    other: int = 9
    is_on: bool = True


class Message:
    count = Limits(default=3, min=2, max=5)


def test_every_number_of_the_options_is_checked_and_no_other() -> None:
    check_limits(Message, Whole(Part()), "p")
    with pytest.raises(ExplainError) as refused:
        check_limits(Message, Whole(Part(6)), "p")

    assert refused.value.field == "p.count"


INTERACTIONS = [
    ({"features": ("x", "q")}, Reason.UNKNOWN_FEATURE, "features", ["'q'", "'x', 'y', 't'"]),
    ({"features": ("x", "x")}, Reason.INVALID_OPTION, "features", ["'x'", "twice"]),
    ({"features": ("x",)}, Reason.INVALID_OPTION, "features", ["at least 2", "1 given"]),
    ({"pairwise_feature_count": -1}, Reason.INVALID_OPTION, "pairwise_feature_count", ["100"]),
    ({"pairwise_feature_count": 101}, Reason.INVALID_OPTION, "pairwise_feature_count", ["101"]),
    ({"threeway_feature_count": 51}, Reason.INVALID_OPTION, "threeway_feature_count", ["50"]),
    ({"threeway_feature_count": -2}, Reason.INVALID_OPTION, "threeway_feature_count", ["-2"]),
    ({"quantile_bin_count": 1}, Reason.INVALID_OPTION, "quantile_bin_count", ["[2, 10000]"]),
    ({"quantile_bin_count": 10001}, Reason.INVALID_OPTION, "quantile_bin_count", ["10001"]),
    ({"knot_count": 2}, Reason.INVALID_OPTION, "knot_count", ["[3, 10000]"]),
    ({"knot_count": 10001}, Reason.INVALID_OPTION, "knot_count", ["10001"]),
    (
        {"knot_count": 9, "quantile_bin_count": 9},
        Reason.INVALID_OPTION,
        "knot_count",
        ["quantile_bin_count", "give one"],
    ),
    ({"quantile_bin_count": -1}, Reason.INVALID_OPTION, "quantile_bin_count", ["-1"]),
    ({"absolute_threshold": -1e-9}, Reason.INVALID_OPTION, "absolute_threshold", ["at least 0"]),
    ({"absolute_threshold": float("nan")}, Reason.INVALID_OPTION, "absolute_threshold", ["nan"]),
]


@pytest.mark.parametrize(("given", "reason", "field", "words"), INTERACTIONS)
def test_impossible_interactions_are_refused(
    given: dict[str, Any], reason: Reason, field: str, words: list[str]
) -> None:
    refused = refusal(interactions.resolve, interactions.Options(**given))

    assert (refused.reason, refused.field) == (reason, f"p.{field}")
    assert all(word in refused.message for word in words)


def grid(**columns: list[float]) -> dict[str, Any]:
    return {name: np.array(values) for name, values in columns.items()}


CURVES = [
    ({"features": (("x",), ("y", "q"))}, Reason.UNKNOWN_FEATURE, "features[1].names", ["'q'"]),
    ({"features": (("x",), ())}, Reason.UNKNOWN_FEATURE, "features[1].names", ["''"]),
    ({"features": (("x", "x"),)}, Reason.INVALID_OPTION, "features[0].names", ["twice"]),
    ({"grid_size": 1}, Reason.INVALID_OPTION, "grid_size", ["[2, 10000]"]),
    ({"grid_size": 10001}, Reason.INVALID_OPTION, "grid_size", ["10001"]),
    ({"group_count": 0}, Reason.INVALID_OPTION, "group_count", ["[1, 100]"]),
    ({"group_count": 101}, Reason.INVALID_OPTION, "group_count", ["101"]),
    ({"trim_lower": -0.1}, Reason.INVALID_OPTION, "trim_lower", ["-0.1"]),
    ({"trim_upper": 1.1}, Reason.INVALID_OPTION, "trim_upper", ["1.1"]),
    ({"trim_lower": 0.5, "trim_upper": 0.5}, Reason.INVALID_OPTION, "trim_lower", ["below"]),
    ({"trim_upper": float("nan")}, Reason.INVALID_OPTION, "trim_upper", ["nan"]),
    (
        {"features": (("x",),), "grids": (None, None)},
        Reason.INVALID_OPTION,
        "grids",
        ["2 grids for 1"],
    ),
    (
        {"features": (("x", "y"),), "grids": (grid(y=[1], x=[1]),)},
        Reason.INVALID_OPTION,
        "grids[0]",
        ["'y', 'x'", "same order"],
    ),
    (
        {"features": (("x",), ("y",)), "grids": (None, grid(y=[]))},
        Reason.INVALID_OPTION,
        "grids[1]",
        ["at least one"],
    ),
    (
        {"features": (("x", "y"),), "grids": (grid(x=[1, 2], y=[1]),)},
        Reason.INVALID_OPTION,
        "grids[0]",
        ["same number of points"],
    ),
]


@pytest.mark.parametrize(("given", "reason", "field", "words"), CURVES)
def test_impossible_curves_are_refused(
    given: dict[str, Any], reason: Reason, field: str, words: list[str]
) -> None:
    refused = refusal(partial_dependence.resolve, partial_dependence.Options(**given))

    assert (refused.reason, refused.field) == (reason, f"p.{field}")
    assert all(word in refused.message for word in words)


def test_features_of_interactions_are_put_in_table_order() -> None:
    options = interactions.resolve(interactions.Options(features=("t", "x")), NAMES, "p")

    assert options.features == ("x", "t")


def test_by_default_every_feature_is_considered() -> None:
    assert interactions.resolve(interactions.Options(), NAMES, "p").features == NAMES
    curves = partial_dependence.resolve(partial_dependence.Options(), NAMES, "p")
    assert (curves.features, curves.grids) == ((("x",), ("y",), ("t",)), (None, None, None))
