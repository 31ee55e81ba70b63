"""Overview in a terminal: sentences first, curves as sparklines, nothing broken at 80 columns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.cli.output import overview, tables
from onnxplain_server.cli.output.sparklines import resampled, sparkline

NAMES = ["a_name_of_twenty_six_letters", "number_of_rooms_per_household", "b"]
VALUES = [1.7012e10, 3.2e9, 0.0]


def shuffled() -> pb.Explanation:
    """Importances of large prices, of features with long names."""
    return pb.Explanation(
        permutation_importance={
            "output_names": ["median_house_value"],
            "baseline_losses": [2.5e9],
            "importances": [
                {"features": [name], "values": [value], "standard_errors": [1e8]}
                for name, value in zip(NAMES, VALUES, strict=True)
            ],
        },
        options={"permutation_importance": {"loss": "ABSOLUTE_ERROR"}},
    )


def curves() -> pb.Explanation:
    return pb.Explanation(
        partial_dependence={
            "output_names": ["price"],
            "curves": [
                {"features": ["size"], "grid": [{"numbers": [0, 1, 9]}], "values": [0, 8, 0]},
                {"features": ["town"], "grid": [{"strings": ["u", "v"]}], "values": [4, 8]},
            ],
        }
    )


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    """What a terminal of some columns shows of explanations, without colors."""

    def show(width: int, *explanations: pb.Explanation, form=overview) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        text = form.of_response(pb.ExplainResponse(explanations=explanations), to_terminal=True)
        return re.sub(r"\x1b\[[0-9;]*m", "", text)

    return show


def test_sentences_come_first_and_curves_are_lines_of_bars(shown) -> None:
    """Bars are on one scale, 0 to 8: of `size` a peak near its start, as its grid is uneven."""
    lines = shown(80, curves()).splitlines()

    assert lines[0].startswith("Along size")
    (size,) = (line.split() for line in lines if line.startswith(" size "))
    (town,) = (line.split() for line in lines if line.startswith(" town "))
    assert size == ["size", "0", "▁▅██▇▇▆▅▅▄▄▃▂▂▁▁", "9", "0", "to", "8"]
    assert town == ["town", "2", "texts", "▅█", "4", "to", "8"]


@pytest.mark.parametrize("form", [overview, tables], ids=["overview", "tables"])
@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_number_and_no_word_is_broken(shown, width: int, form) -> None:
    whole = re.sub("─+", "", shown(300, shuffled(), form=form)).split()
    narrow = shown(width, shuffled(), form=form)

    words = {word.strip(":") for word in narrow.split()}
    assert {word.strip(":") for word in whole if len(word) <= width - 4} - words == set()
    assert max(map(len, narrow.splitlines())) <= width
    assert "17,000,000,000" in narrow
    assert "e+" not in narrow


def test_a_sparkline_has_a_gap_where_there_is_no_number() -> None:
    assert sparkline(np.array([0.0, np.nan, 1.0]), 0.0, 1.0) == "▁ █"
    assert sparkline(np.array([3.0, 3.0]), 3.0, 3.0) == "▁▁"


def test_values_are_resampled_by_the_distances_of_the_grid() -> None:
    assert resampled(np.array([0.0, 1.0, 4.0]), np.array([0.0, 3.0, 0.0]), 5).tolist() == [
        0.0, 3.0, 2.0, 1.0, 0.0]  # fmt: skip
    assert resampled(np.array([2.0]), np.array([7.0])).tolist() == [7.0]
