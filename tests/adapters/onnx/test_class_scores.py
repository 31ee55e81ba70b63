"""Class scores: detected from a model's graph and metadata."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.adapters.onnx import describe, load
from onnxplain_server.adapters.onnx.analysis.outputs import read_parts
from onnxplain_server.adapters.onnx.class_scores import has_class_scores
from onnxplain_server.adapters.onnx.read import read
from onnxplain_server.core.model import Scale
from onnxplain_server.core.model_limits import DEFAULT_LIMITS

ML = "ai.onnx.ml"
WEIGHTS = np.array([[1.0, -1], [0, 1], [1, 1]], np.float32)
REGRESSORS = {
    *("batch_of_one", "batch_of_one_inside", "flat_columns", "half", "two_outputs"),
    "interpret_regressor",
    *("catboost_regressor", "lightgbm_poisson", "lightgbm_regressor", "xgboost_regressor"),
    "lightgbm_categorical_regressor",
    *("network_double", "network_float", "sklearn_gradient_boosting", "sklearn_linear"),
    *("sklearn_random_forest_two_targets", "sklearn_tree_int64"),
    *("sklearn_bagged_votes", "sklearn_votes_of_columns"),
}


def scores(model: ModelProto) -> bool:
    content = model.SerializeToString()
    found = load(content).has_class_scores
    assert describe(content).has_class_scores is found
    return found


def test_committed_classifiers_score_classes_and_regressors_do_not(cases) -> None:
    for name in cases:
        graph, _ = read(cases[name].content, DEFAULT_LIMITS)
        assert has_class_scores(graph, read_parts(graph)) is (name not in REGRESSORS), name


def test_scores_before_the_link_are_of_the_same_classes(cases) -> None:
    content = cases["xgboost_3class"].content

    assert load(content, Scale.MARGIN).has_class_scores


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([("Softmax", {"axis": 1})], True, id="softmax"),
        pytest.param([("LogSoftmax", {"axis": 1})], True, id="logarithms"),
        pytest.param([("Sigmoid", {})], True, id="sigmoid"),
        pytest.param([("Sigmoid", {}), ("Sub", "one")], True, id="complement"),
        pytest.param([("Sigmoid", {}), ("Mul", "half")], True, id="share"),
        pytest.param([("Sigmoid", {}), ("Mul", "many")], False, id="range of a number"),
        pytest.param([("Sigmoid", {}), ("MatMul", "square")], False, id="hidden layer"),
        pytest.param([("Sigmoid", {}), ("Mul", "gate")], False, id="gate"),
        pytest.param([("Relu", {})], False, id="numbers"),
    ],
)
def test_the_end_of_a_network_tells(build, steps, found: bool) -> None:
    nodes, last = [build.node("MatMul", "X weights", "t0")], "t0"
    for k, (operator, about) in enumerate(steps, 1):
        taken = {"one": f"one {last}", "half": f"{last} half", "many": f"{last} many",
                 "square": f"{last} square", "gate": f"{last} t0"}  # fmt: skip
        inputs = taken[about] if isinstance(about, str) else last
        overrides = {} if isinstance(about, str) else about
        last = "y" if k == len(steps) else f"t{k}"
        nodes.append(build.node(operator, inputs, last, **overrides))
    constants = {
        "weights": WEIGHTS,
        "one": np.ones(1, np.float32),
        "half": np.full(1, 0.5, np.float32),
        "many": np.full(1, 100, np.float32),
        "square": np.eye(2, dtype=np.float32),
    }

    assert scores(build(nodes, **constants)) is found


def test_an_average_of_probabilities_scores_classes(build) -> None:
    nodes = [
        build.node("Softmax", "X", "p", axis=1),
        build.node("Sigmoid", "X", "q"),
        build.node("Add", "p q", "sum"),
        build.node("Div", "sum two", "y"),
    ]

    assert scores(build(nodes, two=np.full(1, 2, np.float32)))


def test_a_label_output_tells(build) -> None:
    """Whatever the scores are made of: here they are distances to three centres."""
    nodes = [
        build.node("Abs", "X", "distances"),
        build.node("ArgMin", "distances", "nearest", axis=1, keepdims=0),
    ]
    outputs = {"nearest": TensorProto.INT64, "distances": TensorProto.FLOAT}

    assert scores(build(nodes, outputs))


def test_other_whole_numbers_are_no_labels(build) -> None:
    nodes = [
        build.node("Abs", "X", "y"),
        build.node("Floor", "y", "whole"),
        build.node("Cast", "whole", "count", to=TensorProto.INT64),
    ]
    outputs = {"count": TensorProto.INT64, "y": TensorProto.FLOAT}

    assert not scores(build(nodes, outputs))


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("class_names", '["no", "yes", "perhaps"]', True),
        ("classes", "no,yes,perhaps", True),
        ("class_names", "[]", False),
        ("author", "somebody", False),
    ],
)
def test_metadata_may_name_classes(build, key: str, value: str, found: bool) -> None:
    model = build([build.node("Neg", "X", "y")])
    helper.set_model_props(model, {key: value})

    assert scores(model) is found


@pytest.mark.parametrize(
    ("transform", "count", "found"),
    [("LOGISTIC", 2, True), ("NONE", 2, False), ("LOGISTIC", 1, False)],
)
def test_a_regressor_with_a_link_scores_classes(build, transform: str, count, found) -> None:
    """The runtime computes none behind a single column."""
    weights = {"coefficients": [1.0, 0, 1] * count, "intercepts": [0.0] * count, "targets": count}
    node = build.node("LinearRegressor", "X", "y", domain=ML, post_transform=transform, **weights)

    assert scores(build([node])) is found


def broken_label(build) -> ModelProto:
    """A network of two classes whose label is looked up beyond the end of the list."""
    nodes = [
        build.node("MatMul", "X weights", "scores"),
        build.node("Softmax", "scores", "probabilities", axis=1),
        build.node("ArgMax", "probabilities", "best", axis=1, keepdims=0),
        build.node("Add", "best shift", "place"),
        build.node("Gather", "names place", "label"),
    ]
    outputs = {"label": TensorProto.INT64, "probabilities": TensorProto.FLOAT}
    constants = {"weights": WEIGHTS, "shift": np.array(7), "names": np.array([0, 1])}
    model: ModelProto = build(nodes, outputs, **constants)
    return model


def test_a_label_output_that_the_runtime_refuses_is_told(build) -> None:
    model = load(broken_label(build).SerializeToString())

    (note,) = model.notes
    assert note.code == "OUTPUT_REFUSED"
    assert "as it is: in Gather: indices element out of data" in note.message
    assert "without its output 'label'" in note.message
    assert model.predict({"X": np.zeros((2, 3), np.float32)}).tolist() == [[0.5, 0.5]] * 2


def test_a_label_output_of_another_type_than_declared_is_told(build) -> None:
    model = broken_label(build)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING

    (note,) = load(model.SerializeToString()).notes

    assert note.code == "OUTPUT_REFUSED"
    assert "tensor(string)" in note.message


def test_a_label_output_that_works_is_not_told(cases) -> None:
    for name in ("sklearn_logistic_3class_double", "catboost_binary", "sklearn_columns_error"):
        assert load(cases[name].content).notes == ()


def is_binary(model: ModelProto) -> bool:
    content = model.SerializeToString()
    found = load(content).is_binary
    assert describe(content).is_binary is found
    return found


def test_committed_models_of_two_classes_are_binary(cases) -> None:
    for name in cases:
        described = describe(cases[name].content)
        two_classes = len(described.output_names) == 2 and name not in REGRESSORS
        assert described.is_binary is two_classes, name


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        pytest.param(["Softmax z y"], True, id="softmax"),
        pytest.param(["Softmax z s", "Identity s y"], True, id="softmax passed on"),
        pytest.param(["Sigmoid z y"], False, id="two labels at a time"),
        pytest.param(["Sigmoid a p", "Sub one p q", "Concat q,p y"], True, id="complement"),
        pytest.param(["Sigmoid a p", "Sigmoid b q", "Concat q,p y"], False, id="two heads"),
        pytest.param(["Abs z y"], False, id="numbers"),
    ],
)
def test_two_outputs_are_binary_where_one_excludes_the_other(build, nodes, found: bool) -> None:
    lines = [line.split() for line in nodes]
    ends = [
        build.node(
            operator,
            inputs.replace(",", " "),
            output,
            **({"axis": 1} if operator in {"Softmax", "Concat"} else {}),
        )
        for operator, *between, output in lines
        for inputs in [" ".join(between)]
    ]
    starts = [build.node("MatMul", f"X weights_{name}", name) for name in "zab"]
    constants = {
        "weights_z": WEIGHTS,
        "weights_a": WEIGHTS[:, :1],
        "weights_b": WEIGHTS[:, 1:],
        "one": np.ones(1, np.float32),
    }

    assert is_binary(build([*starts, *ends], **constants)) is found


def test_a_margin_is_of_the_same_two_classes(cases) -> None:
    assert load(cases["xgboost_binary"].content, Scale.MARGIN).is_binary
