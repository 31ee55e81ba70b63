"""Overviews and FIRM of models of reviews, whose texts occur once each."""

from __future__ import annotations

import json
from pathlib import Path

import onnxplain

FOLDER = Path(__file__).parents[2] / "models/text"
TABLE = json.loads((FOLDER / "reviews.json").read_text())["columns"]


def explained(*methods: onnxplain.Firm) -> onnxplain.Explanations:
    with onnxplain.local() as client:
        return client.explain(
            FOLDER / "words.onnx", TABLE, *methods, target_column="class", plots=False
        )


def test_an_overview_has_no_curve_of_texts_that_occur_once_and_says_so() -> None:
    answer = explained()

    told = [warning.message for warning in answer.warnings if warning.code == "SINGLE_TEXTS"]
    curves = [curve.features for curve in answer.partial_dependence.curves]
    assert curves == [("stars",)]
    assert len(told) == 1
    assert "in 'review', so there is no curve" in told[0]
    assert {importance.features for importance in answer.permutation_importance.importances} == {
        ("review",),
        ("stars",),
    }


def test_firm_of_words_is_measured_and_of_texts_in_one_bin_is_warned() -> None:
    words = ("contains(review, 'great')", "contains(review, 'awful')", "contains(review, 'box')")
    answer = explained(onnxplain.Firm(features=("review", *words)))

    told = [warning.message for warning in answer.warnings if warning.code == "TEXTS_IN_ONE_BIN"]
    great, awful, box = (
        answer.firm.importances[place].values[0] for place in range(1, len(words) + 1)
    )
    assert len(told) == 1
    assert told[0].endswith("raise bin_count: 'review'.")
    assert great > abs(box)
    assert awful < -abs(box)
