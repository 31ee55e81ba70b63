"""A feature is unused only where the graph proves it: no prediction changes, to the last bit."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.analysis.reachable_columns import read_reach

ML = "ai.onnx.ml"
W = np.array([[1.0], [0.0], [2.0]], np.float32)
TREE: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}
PARTS = {
    "picked": ([("Gather", "X k", "a", {"axis": 1}), ("ReduceSum", "a one", "y", {})], {1}),
    "extracted": (
        [("ArrayFeatureExtractor", "X k", "a", {"domain": ML}), ("ReduceSum", "a one", "y", {})],
        {1},
    ),
    "a range": ([("Slice", "X one three one", "a", {}), ("ReduceSum", "a one", "y", {})], {0}),
    "split": (
        [("Split", "X sizes", "a b", {"axis": 1}), ("ReduceSum", "b one", "y", {})],
        {0, 1},
    ),
    "put together again": (
        [
            ("Split", "X sizes", "a b", {"axis": 1}),
            ("Concat", "b a", "c", {"axis": 1}),
            ("Gather", "c zero", "y", {"axis": 1}),
        ],
        {0, 1},
    ),
    "a matrix with a row of zeros": ([("MatMul", "X w", "y", {})], {1}),
    "scaled before it": (
        [("Sub", "X row", "a", {}), ("Div", "a row", "b", {}), ("Gemm", "b w bias", "y", {})],
        {1},
    ),
    "a transposed one": ([("Gemm", "X wt", "y", {"transB": 1})], {1}),
    "a linear map": (
        [
            (
                *("LinearRegressor", "X", "y"),
                {"domain": ML, "coefficients": [0.0, 3.0, 0.0], "intercepts": [1.0]},
            )
        ],
        {0, 2},
    ),
    "trees": ([("TreeEnsembleRegressor", "X", "y", {"domain": ML, **TREE})], {0, 2}),
    "all": ([("ReduceSum", "X one", "y", {})], set()),
    "rows mixed before": ([("Softmax", "X", "a", {}), ("MatMul", "a w", "y", {})], set()),
    "a sum with a column": (
        [
            ("Gather", "X zero", "a", {"axis": 1}),
            ("Add", "X a", "b", {}),
            ("MatMul", "b w", "y", {}),
        ],
        set(),
    ),
    "a bias from a column": (
        [
            ("Gather", "X k", "a", {"axis": 1}),
            ("Gather", "X one", "b", {"axis": 1}),
            ("Gemm", "a wk b", "y", {}),
        ],
        set(),
    ),
    "its shape alone": (
        [
            ("Gather", "X zero", "a", {"axis": 1}),
            ("ReduceSum", "X none", "s", {"keepdims": 0}),
            ("Add", "a s", "y", {}),
        ],
        set(),
    ),
    "picked by rows": (
        [("Gather", "X k", "a", {"axis": 0}), ("ReduceSum", "a one", "y", {})],
        set(),
    ),
    "reshaped": (
        [("Reshape", "X flat", "a", {}), ("Gather", "a zero", "y", {"axis": 1})],
        set(),
    ),
}
CONSTANTS = {
    "k": np.array([0, 2]),
    "zero": np.array([0]),
    "none": np.array([0, 1]),
    "one": np.array([1]),
    "three": np.array([3]),
    "sizes": np.array([2, 1]),
    "flat": np.array([-1, 1]),
    "w": W,
    "wk": W[:2],
    "wt": W.T.copy(),
    "bias": np.array([1.0], np.float32),
    "row": np.array([1.0, 2.0, 3.0], np.float32),
}


def made(build, nodes, **overrides) -> ModelProto:
    written = [build.node(kind, read, out, **attributes) for kind, read, out, attributes in nodes]
    used = {name for node in written for name in node.input}
    constants = {name: values for name, values in CONSTANTS.items() if name in used}
    model: ModelProto = build(written, **overrides, **constants)
    return model


@pytest.mark.parametrize("case", PARTS)
def test_a_column_is_unused_where_the_graph_shows_it_and_nowhere_else(build, case: str) -> None:
    nodes, unused = PARTS[case]

    reach = read_reach(made(build, nodes), 3)["y"]

    assert set(np.flatnonzero(~reach).tolist()) == unused


@pytest.mark.parametrize("case", [case for case, (_, unused) in PARTS.items() if unused])
def test_no_value_of_an_unused_column_changes_a_bit(build, case: str) -> None:
    model, random = load(made(build, PARTS[case][0]).SerializeToString()), np.random.default_rng(0)
    rows = random.normal(size=(50, 3)).astype(np.float32)
    moved = rows.copy()
    for j in model.unused(3, np.array([0])):
        moved[:, j] = 1e6 * random.normal(size=50)

    assert (moved != rows).any()
    assert model.predict({"X": moved}).tobytes() == model.predict({"X": rows}).tobytes()


def two_inputs(build, nodes, outputs):
    inputs = [build.input(name, [None, 1]) for name in "ab"]
    return load(made(build, nodes, inputs=inputs, outputs=outputs).SerializeToString())


def test_an_input_that_does_not_reach_an_output_is_unused_for_that_one(build) -> None:
    nodes: list[Any] = [("Neg", "a", "y", {}), ("Mul", "a b", "z", {})]
    model = two_inputs(build, nodes, {"y": None, "z": None})

    assert model.output_names == ("y", "z")
    assert model.unused(2, np.array([0])) == {1}
    assert model.unused(2, np.array([1])) == frozenset()
    assert model.unused(2, np.array([1, 0])) == frozenset()


def test_an_input_of_a_node_that_leads_nowhere_is_unused(build) -> None:
    model = two_inputs(build, [("Exp", "a", "y", {}), ("Exp", "b", "lost", {})], {"y": None})

    assert model.unused(2, np.array([0])) == {1}


def test_what_a_graph_inside_a_node_reads_is_used(build) -> None:
    value = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    branches: dict[str, Any] = {
        f"{name}_branch": helper.make_graph([build.node("Neg", read, "r")], name, [], [value])
        for name, read in (("then", "a"), ("else", "b"))
    }
    bare = helper.make_tensor_value_info("c", TensorProto.FLOAT, None)
    branches["else_branch"].output[0].CopyFrom(bare)
    nodes = [
        build.node("ReduceSum", "a", "total", keepdims=0),
        build.node("Cast", "total", "yes", to=TensorProto.BOOL),
        helper.make_node("If", ["yes"], ["y"], **branches),
    ]
    inputs = [build.input(name, [None, 1]) for name in "abcd"]

    reach = read_reach(build(nodes, inputs=inputs), 4)["y"]

    assert reach.tolist() == [True, True, True, False]


def test_nothing_is_said_of_a_graph_that_cannot_be_followed(build) -> None:
    nodes = [build.node("Neg", "late", "y"), build.node("Gather", "X zero", "late", axis=1)]
    proto = build(nodes, zero=np.array([0]))

    with pytest.raises(ValueError, match="order"):
        read_reach(proto, 3)


def test_every_exported_model_keeps_its_answers_when_unused_columns_move(cases) -> None:
    random = np.random.default_rng(0)
    for name in cases:
        case = cases[name]
        model = load(case.content)
        feeds = case.feeds(model.inputs)
        wide = len(model.inputs) == 1
        n_features = feeds[model.inputs[0].name].shape[1] if wide else len(model.inputs)
        moved = {key: values.copy() for key, values in feeds.items()}
        for j in model.unused(n_features, np.arange(len(model.output_names))):
            column = moved[model.inputs[0].name][:, j] if wide else moved[model.inputs[j].name]
            column[:] = random.permutation(column)
        assert model.predict(moved).tobytes() == model.predict(feeds).tobytes(), name


def test_a_graph_that_cannot_be_followed_counts_as_using_everything(
    build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    model = load(made(build, PARTS["picked"][0]).SerializeToString())
    monkeypatch.setattr("onnxplain_server.adapters.onnx.session.read_reach", fail)

    assert model.unused(3, np.array([0])) == frozenset()


def test_a_graph_is_followed_once(build, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(made(build, PARTS["picked"][0]).SerializeToString())
    first = model.unused(3, np.array([0]))
    monkeypatch.setattr("onnxplain_server.adapters.onnx.session.read_reach", None)

    assert model.unused(3, np.array([0])) == first == {1}
