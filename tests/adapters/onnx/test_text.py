"""Models that read texts: predictions equal their library's, and patterns cannot run away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason

FOLDER = Path(__file__).parents[2] / "models/text"
REVIEWS = json.loads((FOLDER / "reviews.json").read_text())
TABLE = {name: REVIEWS["columns"][name] for name in ("review", "stars")}
LONG = np.array([["a" * 50_000 + "!"]], dtype=object)


@pytest.mark.parametrize("name", sorted(REVIEWS["predictions"]))
def test_predictions_are_those_of_the_library(name: str) -> None:
    with onnxplain.local() as client:
        found = client.predict(FOLDER / f"{name}.onnx", TABLE).values

    expected = REVIEWS["predictions"][name]
    np.testing.assert_allclose(np.asarray(found)[:, 1], expected, rtol=0, atol=1e-6)


def with_operator(operator: str, domain: str = "", **attributes: Any) -> bytes:
    """Write a model whose answer is the number of letters that an operator leaves, roughly."""
    text = helper.make_tensor_value_info("text", TensorProto.STRING, [None, 1])
    number = helper.make_tensor_value_info("number", TensorProto.FLOAT, [None, 1])
    nodes = [
        helper.make_node("Reshape", ["text", "all"], ["flat"]),
        helper.make_node(operator, ["flat"], ["out"], domain=domain, **attributes),
        helper.make_node("Shape", ["out"], ["shape"]),
        helper.make_node("ReduceSum", ["shape"], ["sum"], keepdims=1),
        helper.make_node("Cast", ["sum"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("Shape", ["text"], ["rows"]),
        helper.make_node("Expand", ["cast", "rows"], ["number"]),
    ]
    shape = helper.make_tensor("all", TensorProto.INT64, [1], [-1])
    graph = helper.make_graph(nodes, "text", [text], [number], [shape])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model: ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model.SerializeToString()


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "(x+x+)+y", "([a-z]+)*[^!]!!"])
def test_patterns_that_run_away_elsewhere_end(pattern: str) -> None:
    """In a library that goes back, one of these takes longer than the universe is old."""
    by_word = {"mark": 0, "mincharnum": 1, "pad_value": "", "tokenexp": pattern}
    contents = [
        with_operator("RegexFullMatch", pattern=pattern),
        with_operator("Tokenizer", "com.microsoft", **by_word),
    ]
    for content in contents:
        model = load(content, is_batched=True)
        assert np.isfinite(model.predict({"text": LONG})).all()


def test_a_locale_that_the_system_does_not_have_is_named() -> None:
    content = with_operator("StringNormalizer", case_change_action="LOWER", locale="tlh_KX.UTF-8")

    with pytest.raises(ExplainError, match=r"needs the locale 'tlh_KX\.UTF-8'") as refused:
        load(content)

    assert refused.value.reason is Reason.UNSUPPORTED_MODEL
