"""Plots tell how classes were paired with outputs, where names do not say so."""

from __future__ import annotations

import pytest
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.class_names import with_classes


def picture() -> Plot:
    return finish("loss", "Loss", ["of all rows"], "The loss.", {"mark": "bar"})


@pytest.mark.parametrize(
    ("pairings", "remark"),
    [
        ([("a", "a"), ("b", "b")], ""),
        ([], ""),
        (
            [("<=50K", "regular"), (">50K", "affluent")],
            "Classes of the target: <=50K is the output regular and >50K is the output affluent.",
        ),
        (
            [("no", ""), ("yes", "chance")],
            "Classes of the target: no is 0 and yes is 1 of the output chance.",
        ),
    ],
)
def test_a_remark_stands_under_the_title_and_in_the_description(pairings, remark: str) -> None:
    (plot,) = with_classes([picture()], [ClassPairing(*pair) for pair in pairings])

    lines = plot.vega_lite["title"]["subtitle"]
    assert lines[0] == "of all rows"
    assert " ".join(lines[1:]) == remark
    assert plot.description == plot.vega_lite["description"] == f"The loss. {remark}".strip()


def test_many_classes_are_counted() -> None:
    pairings = [ClassPairing(str(k), f"p_{k}") for k in range(100)]

    (plot,) = with_classes([picture()], pairings)

    assert plot.description.endswith("5 is the output p_5 and 94 more.")
