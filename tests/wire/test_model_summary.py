"""A model in a sentence: its kind, trees, inputs and who wrote it."""

from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.onnx import describe
from onnxplain_server.core.model import Description, Input
from onnxplain_server.wire.answers.model_summary import model_summary

MODELS = Path(__file__).parents[1] / "models"
WRITTEN = "and was written by"


def told(*operators: str, **fields: Any) -> str:
    inputs = (Input("x", "float", 3),)
    known: dict[str, Any] = {
        "digest": "sha256:00",
        "inputs": inputs,
        "producer": "pytorch",
    } | fields
    return model_summary(
        Description(output_names=("y",), margin_refusal="", operators=operators, **known)
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        # The scripts of the models: 15 rounds of 3 classes, 15 rounds, a tree, pipelines.
        ("xgboost_3class", "45 trees of up to 3 splits from root to leaf; it takes 4 numbers"),
        ("catboost_binary", "15 trees of up to 3 splits from root to leaf; it takes 8 numbers"),
        ("sklearn_tree_int64", "a tree of up to 4 splits from root to leaf; it takes 10 numbers"),
        (
            "sklearn_columns_error",
            "a linear model with Imputer, OneHotEncoder and Scaler; it takes 9 numbers and 1 text",
        ),
        ("sklearn_network_binary", "a neural network with Scaler; it takes 8 numbers"),
    ],
)
def test_a_file_is_told_with_its_trees_inputs_and_writer(name: str, sentence: str) -> None:
    description = describe((MODELS / f"{name}.onnx").read_bytes())
    start = f"It is {sentence}, {WRITTEN} {description.producer} "

    assert model_summary(description).startswith(start)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (told("Gemm", "Softmax"), "It is a linear model; it takes"),
        (told("Gemm", "Relu"), "It is a neural network; it takes"),
        (told("Tanh"), "It takes"),
        (told("MatMul", "Exp"), "It takes"),
        (told("ai.onnx.ml:SVMClassifier"), "It is a support vector machine; it takes"),
    ],
)
def test_a_kind_is_told_where_the_operators_show_one(text: str, kind: str) -> None:
    assert text == f"{kind} 3 numbers, {WRITTEN} pytorch."


def test_what_the_file_does_not_say_is_left_out() -> None:
    open_width = (Input("x", "float", None),)

    assert told(inputs=open_width, producer="") == "It takes as many columns as it is given."
    assert told(digest="") == ""


def test_a_name_from_a_file_stays_short_and_in_its_line() -> None:
    text = told(producer="a\nb" + "c" * 500)

    assert "\n" not in text
    assert len(text) < 120
