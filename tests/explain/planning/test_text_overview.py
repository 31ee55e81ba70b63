"""Overviews and FIRM of models of reviews, whose texts occur once each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import onnxplain
from onnxplain_server.explain.planning.overview import OverviewPlan
from onnxplain_server.explain.planning.overview_curves import text_notes

FOLDER = Path(__file__).parents[2] / "models/text"
TABLE = json.loads((FOLDER / "reviews.json").read_text())["columns"]


def explained(
    *methods: onnxplain.Firm,
    model: bytes | Path = FOLDER / "words.onnx",
    table: dict[str, list[Any]] = TABLE,
) -> onnxplain.Explanations:
    with onnxplain.local() as client:
        return client.explain(model, table, *methods, target_column="class", plots=False)


def of_texts_alone() -> bytes:
    """Return the model of words whose other input, the stars, is 0 in each row."""
    model = onnx.load(FOLDER / "words.onnx")
    names = [given.name for given in model.graph.input]
    del model.graph.input[names.index("stars")]
    zero = onnx.helper.make_tensor("zero", onnx.TensorProto.FLOAT, [1], [0.0])
    model.graph.node.insert(0, onnx.helper.make_node("Shape", ["review"], ["shape"]))
    stars = onnx.helper.make_node("ConstantOfShape", ["shape"], ["stars"], value=zero)
    model.graph.node.insert(1, stars)
    return bytes(model.SerializeToString())


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
    assert told[0].endswith("; measure words, as in contains(column, 'great'): 'review'.")
    assert great > abs(box)
    assert awful < -abs(box)


def test_what_has_no_curve_by_its_kind_is_not_told_as_left_out_for_time() -> None:
    answer = explained(
        model=of_texts_alone(), table={name: TABLE[name] for name in ("review", "class")}
    )

    told = {warning.code: warning.message for warning in answer.warnings}
    assert "OVERVIEW_REDUCED" not in told
    assert "in 'review', so there is no curve of it." in told["SINGLE_TEXTS"]
    assert "Leading features by shuffling: review." in answer.summary
    assert not answer.message.explanations[-1].HasField("partial_dependence")


def test_several_columns_of_texts_are_told_together() -> None:
    plan = OverviewPlan(("a", "b"), 60, None, 5.0, 1e6, None, single_texts=("a", "b"))

    [note] = text_notes(plan)
    assert "in 'a', 'b', so there is no curve of them. FIRM" in note.message
    assert plan.curves(plan.drawn_names) is None
    assert plan.curve_cost == 0
