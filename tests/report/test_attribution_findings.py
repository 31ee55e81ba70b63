"""Attributions in words: which rows mean sizes are over, and what their errors are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.methods.attributions.result import mean_absolute
from onnxplain_server.report.finding import Finding
from onnxplain_server.report.registry import Answered, of_explanation, of_method

COUNT = 8
VALUES = np.arange(2.0 * COUNT).reshape(COUNT, 2, 1)
NAMED = {"row_indices": range(COUNT)}
GIVEN = {"explained_rows": {"columns": [{"name": "a", "numbers": range(COUNT)}]}}
DRAWN = {"explained_row_count": COUNT}
BY_WEIGHT = "the rows explained, by their weights"


def answered(options: Any, weights: Any, *, has_rows: bool = True) -> pb.Explanation:
    means, errors = mean_absolute(VALUES, np.array(weights, float))
    rows = {"values": VALUES.ravel(), "predictions": [0.0] * COUNT} if has_rows else {}
    return pb.Explanation(
        attributions={
            "output_names": ["price"],
            "features": [{"names": ["a"]}, {"names": ["b"]}],
            "mean_absolute_values": means.ravel(),
            "mean_absolute_standard_errors": errors.ravel(),
            "explained_row_count": COUNT,
            **rows,
        },
        options={"attributions": options},
    )


def sizes_of(explanation: pb.Explanation) -> Finding:
    [found] = of_explanation(explanation)
    return found


@pytest.mark.parametrize(
    ("options", "weights", "has_rows", "rows"),
    [
        pytest.param(DRAWN, [1.0] * COUNT, True, "8 rows", id="drawn"),
        pytest.param(DRAWN, [1, 2] * 4, True, "8 rows", id="drawn, of different weights"),
        pytest.param(DRAWN, [1, 2] * 4, False, "8 rows", id="drawn, written to a table"),
        pytest.param(GIVEN, [1] * COUNT, True, "8 rows", id="given"),
        pytest.param(NAMED, [3] * COUNT, True, "8 rows", id="named, of equal weights"),
        pytest.param(NAMED, [0, 1] * 4, True, BY_WEIGHT, id="named, some of weight 0"),
        pytest.param(NAMED, [0, 1] * 4, False, BY_WEIGHT, id="named, written to a table"),
    ],
)
def test_mean_sizes_tell_a_number_of_rows_where_all_of_them_count(
    options: Any, weights: Any, has_rows: bool, rows: str
) -> None:
    explanation = answered(options, weights, has_rows=has_rows)
    note = sizes_of(explanation).note

    assert f"values of {rows}" in note
    if has_rows:
        [sentence] = of_method("attributions").sentences(explanation, Answered("", False, 0))
        assert sentence.endswith(f" over {rows}.")


@pytest.mark.parametrize("options", [DRAWN, NAMED, GIVEN])
def test_only_rows_that_were_drawn_have_an_error_of_the_draw(options: Any) -> None:
    found = sizes_of(answered(options, [1] * COUNT))

    is_drawn = options is DRAWN
    assert ("standard error" in [column.title for column in found.columns]) == is_drawn
    assert ("standard errors are those of rows that are drawn" in found.note) == is_drawn
    assert len(found.rows[0]) == len(found.columns)


@pytest.mark.parametrize(
    ("harmful", "ending"),
    [
        ((), None),
        (["b"], "without it: both name b first."),
        (["a"], "without it: b has the largest, and shuffling a worsens them most."),
        (["b", "a"], "without it: b has the largest, and shuffling b or a worsens them most."),
    ],
)
def test_values_beside_shuffling_tell_what_each_names_first(
    harmful: list[str], ending: str | None
) -> None:
    told = Answered("", is_linear=False, loss_row_count=0, most_harmful=harmful)
    sentences = [*of_method("attributions").sentences(answered(DRAWN, [1] * COUNT), told)]

    assert [s.endswith(ending) for s in sentences[1:] if ending] == [True] * bool(ending)
    assert len(sentences) == 1 + bool(ending)
