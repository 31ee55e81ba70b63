"""Tree reader: the ensemble predicts as onnxruntime does, or the model is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.analysis.margin import read_margin
from onnxplain_server.adapters.onnx.analysis.outputs import read_parts
from onnxplain_server.adapters.onnx.read import read as read_graph
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Scale
from onnxplain_server.trees.reading.axes import MISSING, value_of
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.refusal import Refusal

MODELS = Path(__file__).parents[2] / "models"
ML = "ai.onnx.ml"
STUMP = ((0, "LEQ", 0.5), [1.0], [2.0])
EDGES = np.array([0.0, -0.0, 1e-45, -1e-45, 0.5, 1.0, -1.0, 3e38, -3e38, np.inf, -np.inf, np.nan])


def runtime(model, rows):
    session = ort.InferenceSession(model.SerializeToString())
    names = [output.name for output in model.graph.output]
    feeds = rows if isinstance(rows, dict) else {"X": rows}
    return np.concatenate([a.reshape(len(a), -1) for a in session.run(names, feeds)], axis=1)


def reason_of(model) -> str:
    view = read_ensemble(model)
    assert isinstance(view, Refusal)
    return view.reason


def exported(scale):
    """Fixtures of exporters whose answer on a scale is a sum over trees."""
    for path in sorted(MODELS.glob("*.onnx")):
        graph, _ = read_graph(path.read_bytes())
        trees = [n for n in graph.model.graph.node if n.op_type.startswith("TreeEnsemble")]
        fixture = json.loads(path.with_suffix(".json").read_text())
        if trees and (scale is Scale.RESPONSE or fixture["margin"] is not None):
            yield path.stem


def view_of(name, scale):
    graph, _ = read_graph((MODELS / f"{name}.onnx").read_bytes())
    parts = read_parts(graph)
    if scale is Scale.MARGIN:
        columns = load((MODELS / f"{name}.onnx").read_bytes()).output_names
        parts = read_margin(graph, parts, (len(columns),)).parts
    return read_ensemble(graph.cut(part.tensor for part in parts))


@pytest.mark.parametrize(
    ("name", "scale"), [(name, scale) for scale in Scale for name in exported(scale)]
)
def test_exported_models_are_read_with_the_predictions_of_the_runtime(name, scale, sums) -> None:
    view = view_of(name, scale)
    if isinstance(view, Refusal):
        assert scale is Scale.RESPONSE
        assert any(word in view.reason for word in ("LOGISTIC", "SOFTMAX", "Exp", "linear"))
        return
    model = load((MODELS / f"{name}.onnx").read_bytes(), scale)
    fixture = json.loads((MODELS / f"{name}.json").read_text())
    dtype = view.axes[0].dtype
    rows = np.array(list(fixture["columns"].values()), dtype=float).T.astype(dtype)
    predicted = model.predict({model.inputs[0].name: rows})
    assert sums(view, rows.T) == pytest.approx(
        predicted.astype(float), rel=1e-5, abs=1e-6 * float(np.abs(predicted).max())
    )


def varied(rng, n: int, width: int, thresholds=()):
    """Rows that hit thresholds, miss them by one unit in the last place, and hold odd values."""
    exact = np.array(thresholds, dtype=np.float32)
    near = np.concatenate(
        [exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))]
    )
    pool = np.concatenate([near, EDGES.astype(np.float32), rng.normal(size=20).astype(np.float32)])
    return rng.choice(pool, size=(n, width))


MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_compares_as_the_runtime(regressor, sums, mode, missing) -> None:
    rng = np.random.default_rng(0)
    thresholds = [0.1, -0.1, 0.5, 0.0, -0.0, 1e-40]
    trees = [((0, mode, t, missing), [2.0**-k], [-(2.0**-k)]) for k, t in enumerate(thresholds)]
    model, rows = regressor(trees, 1), varied(rng, 200, 1, thresholds)
    assert sums(read_ensemble(model), rows.T).tolist() == runtime(model, rows).tolist()


def test_nodes_of_several_modes_in_one_tree(regressor, sums) -> None:
    rng = np.random.default_rng(1)
    trees = [
        ((0, a, 0.1, True), ((0, b, 0.5), [1.0], [2.0]), ((0, b, -0.1, True), [4.0], [8.0]))
        for a in MODES
        for b in MODES
    ]
    model, rows = regressor(trees, 1), varied(rng, 200, 1, [0.1, 0.5, -0.1])
    assert sums(read_ensemble(model), rows.T).tolist() == runtime(model, rows).tolist()


def test_averages_and_base_values(regressor, sums) -> None:
    trees = [STUMP, ((1, "GT", 0.0), [3.0], [5.0]), [4.0]]
    rows = varied(np.random.default_rng(2), 50, 2, [0.5, 0.0])
    for attributes in ({"aggregate_function": "AVERAGE"}, {"base_values": [10.0]}):
        model = regressor(trees, 2, **attributes)
        assert sums(read_ensemble(model), rows.T) == pytest.approx(runtime(model, rows), rel=1e-6)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_a_minimum_over_trees_is_refused(regressor, aggregate) -> None:
    view = read_ensemble(regressor([STUMP], 1, aggregate_function=aggregate))
    assert view == Refusal(f"the model takes the {aggregate} over its trees, which is no sum")


@pytest.mark.parametrize("labels", [1, 2, 3])
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("negative", [False, True])
def test_classifiers_with_one_column_of_weights(
    collected, model, sums, labels, base, negative
) -> None:
    sign = -1 if negative else 1
    bases: Any = {"base_values": [0.1] + [0.0] * (0 if labels < 3 else 2)} if base else {}
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "scores"],
        domain=ML,
        classlabels_int64s=list(range(labels)),
        **collected([((0, "LEQ", 0.5), [0.2], [sign * 0.7])], "class"),
        **bases,
    )
    proto = model([node], 1, ["scores"])
    rows = np.array([[0.0], [1.0]], dtype=np.float32)
    assert sums(read_ensemble(proto), rows.T) == pytest.approx(runtime(proto, rows), abs=1e-7)


def test_classifiers_with_two_columns_of_weights(collected, model, sums) -> None:
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "scores"],
        domain=ML,
        classlabels_int64s=[0, 1],
        **collected([((0, "LEQ", 0.5), [0.2, 0.8], [0.7, 0.3])], "class"),
    )
    proto = model([node], 1, ["scores"])
    rows = np.array([[0.0], [1.0]], dtype=np.float32)
    assert sums(read_ensemble(proto), rows.T) == pytest.approx(runtime(proto, rows), abs=1e-7)


def test_two_classes_that_the_runtime_treats_row_by_row_are_refused(collected, model) -> None:
    attributes = collected([((0, "LEQ", 0.5), [0.2, 0.8], [0.7, 0.3])], "class")
    for name in ("class_treeids", "class_nodeids", "class_ids", "class_weights"):
        del attributes[name][-1]  # the second leaf says nothing of the second class
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["l", "s"],
        domain=ML,
        classlabels_int64s=[0, 1],
        **attributes,
    )
    assert "from row to row" in reason_of(model([node], 1, ["s"]))


PREPARATIONS = {
    "scaler": [("Scaler", ML, {"offset": [0.3, -7.0], "scale": [1 / 3, -0.123]})],
    "imputer and scaler": [
        ("Imputer", ML, {"imputed_value_floats": [0.1, 0.2], "replaced_value_float": float("nan")}),
        ("Scaler", ML, {"offset": [0.1], "scale": [7.7]}),
    ],
    "doubled scaler": [
        ("Scaler", ML, {"offset": [0.3], "scale": [0.7]}),
        ("Scaler", ML, {"offset": [0.01], "scale": [-3.3]}),
    ],
    "picked twice": [("Gather", "", {"axis": 1}, np.array([1, 0, 1]))],
    "sum with constants": [("Add", "", {}, np.array([[0.1, -0.3]], np.float32))],
    "quotient": [("Div", "", {}, np.array([0.3], np.float32))],
    "product": [("Mul", "", {}, np.array([-1.7, 3.1], np.float32))],
    "whole numbers": [
        ("Cast", "", {"to": TensorProto.INT64}),
        ("Cast", "", {"to": TensorProto.FLOAT}),
    ],
}


def prepared(regressor, model, trees, steps, input_type=TensorProto.FLOAT):
    nodes, constants, tensor = [], [], "X"
    for i, (op_type, domain, attributes, *constant) in enumerate(steps):
        inputs = [tensor]
        if constant:
            constants.append(numpy_helper.from_array(constant[0], f"c{i}"))
            inputs.append(f"c{i}")
        tensor = f"t{i}"
        nodes.append(helper.make_node(op_type, inputs, [tensor], domain=domain, **attributes))
    tree = regressor(trees, 2).graph.node[0]
    tree.input[0] = tensor
    return model([*nodes, tree], 2, ["y"], input_type, constants)


@pytest.mark.parametrize("steps", PREPARATIONS.values(), ids=PREPARATIONS.keys())
def test_preparation_folds_exactly(regressor, model, sums, steps) -> None:
    """Rows one unit in the last place around every cut that was found for the features."""
    rng = np.random.default_rng(3)
    trees = [
        ((int(rng.integers(2)), str(rng.choice(MODES)), t, bool(k % 2)), [2.0**-k], [-(2.0**-k)])
        for k, t in enumerate(rng.normal(size=12))
    ]
    proto = prepared(regressor, model, trees, steps)
    view = read_ensemble(proto)
    assert isinstance(view, Ensemble)
    rows = np.column_stack([column_around_cuts(rng, axis) for axis in view.axes])
    assert sums(view, rows.T).tolist() == runtime(proto, rows).tolist()


def column_around_cuts(rng, axis):
    cuts = value_of(axis.cuts[(axis.cuts < MISSING)]).astype(np.float32)
    near = [cuts, np.nextafter(cuts, np.float32(np.inf)), np.nextafter(cuts, np.float32(-np.inf))]
    odd = EDGES[np.abs(np.nan_to_num(EDGES)) < 1e38].astype(np.float32)
    pool = np.concatenate([*near, odd[~np.isinf(odd)]])
    return rng.choice(pool, size=400)


@pytest.mark.parametrize(
    ("input_type", "dtype"), [(TensorProto.DOUBLE, np.float64), (TensorProto.INT64, np.int64)]
)
def test_other_types_of_input(collected, model, sums, input_type, dtype) -> None:
    """Doubles are compared as doubles, whole numbers as float32."""
    trees = [((0, "LEQ", 0.1), [1.0, 0, 0], [2.0, 0, 0])]
    trees.append(((1, "LT", 2**24 + 2), [4.0, 0, 0], [8.0, 0, 0]))
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "y"],
        domain=ML,
        classlabels_int64s=[0, 1, 2],
        **collected(trees, "class"),
    )
    proto = model([node], 2, ["y"], input_type)
    exact = float(np.float32(0.1))
    rows = np.array(
        [[exact, 2**24], [np.nextafter(exact, 1), 2**24 + 1], [0.1, 2**24 + 2], [-3, 2**24 + 3]]
    ).astype(dtype)
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def pipeline(regressor, zeros):
    """A text column one-hot encoded beside a number."""
    tree = regressor(
        [((0, "GT", 0.5), [1.0], ((2, "LEQ", 0.1), [2.0], [4.0])), ((1, "LT", 0.5), [8.0], [16.0])],
        3,
    )
    nodes = [
        helper.make_node(
            "OneHotEncoder", ["city"], ["hot"], domain=ML, cats_strings=["b", "a"], zeros=zeros
        ),
        helper.make_node("Reshape", ["hot", "shape"], ["flat"]),
        helper.make_node("Concat", ["flat", "size"], ["X"], axis=1),
        tree.graph.node[0],
    ]
    inputs = [
        helper.make_tensor_value_info("city", TensorProto.STRING, [None, 1]),
        helper.make_tensor_value_info("size", TensorProto.FLOAT, [None, 1]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])]
    shape = numpy_helper.from_array(np.array([-1, 2]), "shape")
    graph = helper.make_graph(nodes, "g", inputs, outputs, [shape])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_one_hot_columns_are_one_feature(regressor, sums) -> None:
    proto = pipeline(regressor, zeros=1)
    city = np.array(["a", "b", "c", "", "a", "b"], dtype=object)
    size = np.array([0.0, 1.0, 0.1, 0.2, np.nan, -1.0], dtype=np.float32)
    expected = runtime(proto, {"city": city[:, None], "size": size[:, None]})
    assert sums(read_ensemble(proto), [city, size]).tolist() == expected.tolist()


def test_a_category_that_the_model_refuses_is_an_error(regressor, sums) -> None:
    view = read_ensemble(pipeline(regressor, zeros=0))
    city, size = np.array(["a", "c"], dtype=object), np.zeros(2, np.float32)
    with pytest.raises(ExplainError, match="refuses 'c'"):
        sums(view, [city, size])


def test_label_encoders(regressor, model, sums) -> None:
    trees = [((0, "LEQ", 3.5), [1.0], [2.0]), ((1, "EQ", -1.0), [4.0], [8.0])]
    steps = [
        (
            "LabelEncoder",
            ML,
            {
                "keys_floats": [1.0, 2.0, 0.5],
                "values_floats": [9.0, 3.0, 4.0],
                "default_float": -1.0,
            },
        )
    ]
    proto = prepared(regressor, model, trees, steps)
    rows = varied(np.random.default_rng(4), 200, 2, [1.0, 2.0, 0.5])
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def test_affine_operators_after_the_trees_are_read(regressor, model, sums) -> None:
    tree = regressor([((0, "LEQ", 0.5), [1.0, 2.0], [4.0, 8.0])], 1).graph.node[0]
    constants = [
        numpy_helper.from_array(np.array([3.0, -2.0], np.float32), "k"),
        numpy_helper.from_array(np.array([1]), "second"),
    ]
    nodes = [
        tree,
        helper.make_node("Mul", ["y", "k"], ["scaled"]),
        helper.make_node("Gather", ["scaled", "second"], ["picked"], axis=1),
        helper.make_node("Sub", ["scaled", "picked"], ["difference"]),
        helper.make_node("Neg", ["difference"], ["negative"]),
        helper.make_node("Concat", ["negative", "picked"], ["all"], axis=1),
        helper.make_node("Div", ["all", "k3"], ["given"]),
    ]
    constants.append(numpy_helper.from_array(np.array([4.0], np.float32), "k3"))
    proto = model(nodes, 1, ["given"], TensorProto.FLOAT, constants)
    rows = np.array([[0.0], [1.0]], dtype=np.float32)
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def test_several_tree_operators_are_summed(regressor, model, sums) -> None:
    first = regressor([STUMP], 2).graph.node[0]
    second = regressor([((1, "GT", 0.0), [3.0], [5.0])], 2).graph.node[0]
    second.output[0] = "z"
    proto = model([first, second, helper.make_node("Add", ["y", "z"], ["total"])], 2, ["total"])
    rows = varied(np.random.default_rng(5), 50, 2, [0.5, 0.0])
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def ensemble_5(**changed):
    """A TreeEnsemble: two trees, one of them a node with the same leaf on both sides."""

    def tensor(values, dtype=np.float32):
        return numpy_helper.from_array(np.array(values, dtype=dtype))

    attributes = {
        "n_targets": 2,
        "aggregate_function": 1,
        "post_transform": 0,
        "tree_roots": [0, 3],
        "nodes_modes": tensor([0, 6, 2, 0], np.uint8),
        "nodes_featureids": [0, 1, 0, 0],
        "nodes_splits": tensor([0.5, 0.0, 2.0, 0.0]),
        "nodes_truenodeids": [1, 0, 3, 5],
        "nodes_trueleafs": [0, 1, 1, 1],
        "nodes_falsenodeids": [2, 1, 2, 5],
        "nodes_falseleafs": [0, 1, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 0, 0],
        "membership_values": tensor([1.0, 3.0, 2.5, np.nan]),
        "leaf_targetids": [0, 1, 0, 1, 0, 1],
        "leaf_weights": tensor([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
        **changed,
    }
    node = helper.make_node("TreeEnsemble", ["X"], ["y"], domain=ML, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 5)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_tree_ensembles_of_opset_5_with_members(sums) -> None:
    proto = ensemble_5()
    rows = varied(np.random.default_rng(6), 300, 2, [0.5, 1.0, 2.0, 3.0, 2.5])
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def test_node_ids_may_be_any_numbers(regressor, sums) -> None:
    proto = regressor([((0, "LEQ", 0.5), ((1, "GT", 0.0), [1.0], [2.0]), [4.0]), STUMP], 2)
    for attribute in proto.graph.node[0].attribute:
        if attribute.name.endswith("nodeids"):
            attribute.ints[:] = [(3 * i + 2) % 5 for i in attribute.ints]
        if attribute.name.endswith("treeids"):
            attribute.ints[:] = [7 - 3 * i for i in attribute.ints]
    rows = varied(np.random.default_rng(7), 50, 2, [0.5, 0.0])
    assert sums(read_ensemble(proto), rows.T).tolist() == runtime(proto, rows).tolist()


def damaged(regressor, **changed):
    """Two trees of three nodes each, with some entries overwritten: name -> {position: value}."""
    proto = regressor([STUMP, ((0, "GT", 1.0), [3.0], [4.0])], 1)
    for attribute in proto.graph.node[0].attribute:
        for position, value in changed.get(attribute.name, {}).items():
            attribute.ints[position] = value
    return proto


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"nodes_truenodeids": {3: 9}},
            "tree 1, node 0 refers to node 9 of tree 1, which does not",
        ),
        ({"nodes_truenodeids": {3: 2}}, "tree 1, node 1 is no child of any node"),
        ({"nodes_truenodeids": {3: 0}}, "tree 1, node 0 comes first, but is no root"),
        ({"nodes_featureids": {0: 5}}, "tree 0, node 0 compares column 5 of 1"),
        ({"nodes_featureids": {0: -1}}, "tree 0, node 0 compares column -1 of 1"),
        ({"nodes_nodeids": {5: 1}}, "tree 1, node 1 occurs twice"),
        ({"target_ids": {0: 1}}, "tree 0, node 1 has a weight for target 1 of 1"),
        ({"target_nodeids": {0: 8}}, "refers to node 8 of tree 0, which does not exist"),
    ],
)
def test_damaged_trees_are_refused_by_tree_and_node(regressor, changed, reason) -> None:
    assert reason in reason_of(damaged(regressor, **changed))


def test_a_cycle_is_refused(regressor) -> None:
    tree = ((0, "LEQ", 0.0), [1.0], ((0, "LEQ", 1.0), ((0, "LEQ", 2.0), [2.0], [3.0]), [4.0]))
    proto = regressor([tree], 1)
    nodes = {a.name: a for a in proto.graph.node[0].attribute}
    # Node 0 leads to its leaf and to leaf 6; node 2 and node 3 lead to each other.
    nodes["nodes_falsenodeids"].ints[0] = 6
    nodes["nodes_falsenodeids"].ints[2] = 3
    nodes["nodes_truenodeids"].ints[2] = 4
    nodes["nodes_truenodeids"].ints[3] = 2
    assert "is part of a cycle" in reason_of(proto)


def test_a_model_without_trees_is_refused(model) -> None:
    proto = model([helper.make_node("Identity", ["X"], ["y"])], 1, ["y"])
    assert read_ensemble(proto) == Refusal("the model has no trees")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [("Abs", None, "computes Abs before its trees"), (None, "Exp", "computes Exp after its trees")],
)
def test_other_operators_are_refused_by_name(regressor, model, before, after, reason) -> None:
    tree = regressor([STUMP], 1).graph.node[0]
    nodes = [tree]
    if before:
        tree.input[0] = "t"
        nodes = [helper.make_node(before, ["X"], ["t"]), tree]
    if after:
        nodes.append(helper.make_node(after, ["y"], ["z"]))
    assert reason in reason_of(model(nodes, 1, ["z" if after else "y"]))


@pytest.mark.parametrize(
    ("bends", "feeds", "reason"),
    [
        (False, False, "adds linear functions of features to its trees"),
        (True, False, "computes Relu beside its trees"),
        (False, True, "computes linear functions of features before its trees"),
        (True, True, "computes Relu before its trees"),
    ],
)
def test_what_stands_beside_trees_is_not_said_to_come_before(
    regressor, model, bends: bool, feeds: bool, reason: str
) -> None:
    """A linear model, or a network, votes with trees; or the trees take what it says."""
    (tree,) = regressor([STUMP], 1).graph.node
    line = helper.make_node(
        "LinearRegressor", ["X"], ["line"], domain=ML, coefficients=[2.0], intercepts=[1.0]
    )
    bent = helper.make_node("Relu" if bends else "Identity", ["line"], ["other"])
    nodes = [line, bent, tree, helper.make_node("Add", ["y", "other"], ["z"])]
    if feeds:
        tree.input[0] = "other"
    assert reason in reason_of(model(nodes, 1, ["z"]))
