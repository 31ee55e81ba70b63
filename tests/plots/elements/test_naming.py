"""Names of the model and its outputs in titles."""

from collections.abc import Callable
from typing import Any

import pytest
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.interactions import Statistic
from onnxplain_server.plots.registry import draw_all
from onnxplain_server.plots.units.naming import Naming, class_phrase, output_labels, spoken
from onnxplain_server.plots.units.prediction_units import TOTAL, in_units_of

Build = Callable[..., Any]


def test_numbers_become_classes_where_outputs_score_classes() -> None:
    assert output_labels(["0", "1", "<=50K"], are_classes=True) == {"0": "class 0", "1": "class 1"}
    assert output_labels(["0", "price"], are_classes=False) == {"0": "output 0"}


def test_labels_of_the_target_take_the_place_of_numbers_but_not_of_names() -> None:
    pairings = [ClassPairing("ill", "1"), ClassPairing("healthy", "0"), ClassPairing("x", "name")]

    labels = output_labels(["0", "1", "name"], are_classes=True, pairings=pairings)

    assert labels == {"0": "healthy", "1": "ill"}


def test_labels_that_are_numbers_themselves_do_not() -> None:
    pairings = [ClassPairing("2", "1"), ClassPairing("1", "0")]
    assert output_labels(["1"], are_classes=True, pairings=pairings) == {"1": "class 1"}


@pytest.mark.parametrize(
    ("shown", "count", "text"),
    [
        (["price"], 1, "price"),
        (["low", "high"], 2, "low and high"),
        (["a", "b", "c", "d"], 4, "4 outputs"),
        (["a", "b", "c", "d"], 9, "4 outputs of 9"),
    ],
)
def test_titles_name_up_to_three_outputs(shown: list[str], count: int, text: str) -> None:
    assert spoken(shown, count) == text


def test_units_are_those_of_the_only_output() -> None:
    assert in_units_of("squared units of the output", ["price"]) == "squared units of price"
    assert in_units_of("units of the output", ["a", "b"]) == "units of the output"
    assert in_units_of("nats", ["price"]) == "nats"


def test_a_class_is_not_called_class_twice() -> None:
    assert [class_phrase(name) for name in ("setosa", "class 1")] == ["class setosa", "class 1"]


def test_the_model_is_in_title_and_description(interactions: Build, statistic: Build) -> None:
    result = interactions(outputs=("0",), overall=(statistic("age", 1.0),))

    ((plot,),) = draw_all([result], Naming("house.onnx", {"0": "class 0"}))

    title = "Interactions of each feature with all others for class 0 · house.onnx"
    assert plot.title == plot.vega_lite["usermeta"]["title"] == title
    assert plot.description.startswith(f"{title}.")
    assert plot.vega_lite["title"]["text"] == [title.partition(" · ")[0], "house.onnx"]


def test_without_a_name_titles_do_not_name_the_model(
    interactions: Build, statistic: Callable[..., Statistic]
) -> None:
    ((plot,),) = draw_all([interactions(overall=(statistic("age", 1.0),))])
    assert "·" not in plot.title


@pytest.mark.parametrize(
    ("names", "target", "expected"),
    [
        (["variable"], "price", {"variable": "price"}),
        (["output_0"], "price", {"output_0": "price"}),
        (["42"], "price", {"42": "price"}),
        (["scores"], "price", {}),
        (["rent"], "price", {}),
        (["variable"], "", {}),
        (["variable_0", "variable_1"], "price", {}),
    ],
)
def test_an_output_without_a_name_of_its_own_has_that_of_the_target(
    names: list[str], target: str, expected: dict[str, str]
) -> None:
    assert output_labels(names, are_classes=False, target=target) == expected


def test_outputs_on_the_margin_say_so_but_for_their_total() -> None:
    naming = Naming(outputs={"1": "ill"}, is_margin=True)

    once = naming.named(["1", "well", TOTAL])
    assert once == ("ill (margin)", "well (margin)", TOTAL)
    assert naming.named(once) == once
