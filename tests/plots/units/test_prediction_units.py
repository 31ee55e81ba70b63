"""Units of predictions: those of the target, or probabilities of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from onnxplain_server.methods.losses import Loss
from onnxplain_server.plots.interactions.bars import plots
from onnxplain_server.plots.units.naming import Naming
from onnxplain_server.plots.units.prediction_units import Units, are_probabilities, value_unit

PROBABILITIES = Units(are_probabilities=True)


@pytest.mark.parametrize(
    ("changes", "losses", "known"),
    [
        pytest.param({}, [], True, id="a link makes them"),
        pytest.param({"has_link": False}, [], False, id="scores within any range"),
        pytest.param({"has_link": False}, [Loss.AUC, Loss.LOGLOSS], True, id="log loss is theirs"),
        pytest.param({"has_link": False}, [Loss.AUC, None], False, id="scores that only rank"),
        pytest.param({"is_response": False}, [Loss.LOGLOSS], False, id="margin, or expression"),
        pytest.param({"are_classes": False}, [], False, id="numbers"),
    ],
)
def test_outputs_are_probabilities_where_something_shows_it(
    changes: dict[str, bool], losses: Iterable[Loss | None], known: bool
) -> None:
    facts = {"are_classes": True, "is_response": True, "has_link": True} | changes

    assert are_probabilities(**facts, losses=losses) is known


def test_sizes_of_probabilities_are_percentage_points() -> None:
    assert PROBABILITIES.of_sizes(["ill"]) == "percentage points"
    assert Units().of_sizes(["price"]) == "units of price"
    assert value_unit(Naming(units=PROBABILITIES).named(["ill"])) == "probability of ill"
    assert value_unit(Naming(units=PROBABILITIES).named(["a", "b"])) == "probability"
    assert value_unit(Naming().named(["a", "b"])) == "units of the output"


def test_bars_have_the_unit_of_their_axis(
    interactions: Callable[..., Any], statistic: Callable[..., Any]
) -> None:
    result = interactions(overall=(statistic("age", 0.04, 0.16),))
    outputs = Naming(units=PROBABILITIES).named(result.output_names)

    (plot,) = plots(replace(result, output_names=outputs))

    rows = {row["measure"]: row["value"] for row in plot.vega_lite["data"]["values"]}
    assert rows == {"size": 20, "share": 0.25}
    assert "age is strongest at 20" in plot.description
    assert plot.vega_lite["params"][0]["bind"]["labels"][0] == "size, in percentage points"
