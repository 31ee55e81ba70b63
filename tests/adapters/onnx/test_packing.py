"""Packed lists of trees: the same model, in the bytes of the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.onnx.packing import pack, serialize
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.trees.reading.onnx_nodes import ML, Attributes

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.onnx"))
FEATURES, MODES = [0, 0, 0], [b"BRANCH_LEQ", b"LEAF", b"LEAF"]


def stump(**changes: Any):
    lists: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": FEATURES,
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": MODES,
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **(lists | changes)
    )
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in ("x", "y")
    ]
    graph = helper.make_graph([node], "stump", values[:1], values[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def attribute(model, name):
    return next(content for content in model.graph.node[0].attribute if content.name == name)


def copied(model):
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_runtime_gets_the_model_of_the_file(path):
    model = ModelProto.FromString(path.read_bytes())

    assert ModelProto.FromString(serialize(pack(copied(model)))) == model


def test_a_list_is_read_as_before_it_was_packed():
    plain, packed = (Attributes(model.graph.node[0]) for model in (stump(), pack(stump())))

    for attributes in (plain, packed):
        assert attributes.integers("nodes_nodeids").tolist() == [0, 1, 2]
        assert attributes.numbers("target_weights").tolist() == [1.0, 2.0]
        assert attributes.array("nodes_values").tolist() == [0.5, 0.0, 0.0]
        assert attributes.codes("nodes_modes", {b"LEAF": 1}, 0).tolist() == [0, 1, 1]
        assert attributes.value("nodes_modes") == ["BRANCH_LEQ", "LEAF", "LEAF"]


def test_a_packed_model_is_as_large_as_its_file():
    count = 10_000
    model = stump(nodes_hitrates=np.ones(count).tolist(), nodes_modes=MODES[2:] * count)

    assert pack(copied(model)).ByteSize() < 1.01 * model.ByteSize() + 1_000


def test_a_renamed_list_is_written_with_its_new_name():
    packed = pack(stump())
    attribute(packed, "target_ids").name = "class_ids"

    written = ModelProto.FromString(serialize(packed))

    assert list(attribute(written, "class_ids").ints) == [0, 0]


def test_a_list_that_a_file_hides_in_another_field_is_not_read():
    """The runtime reads `ints`; a file could put another list where packed ones are."""
    model = stump()
    other = helper.make_attribute("nodes_nodeids", [7, 8, 9]).SerializeToString()
    attribute(model, "nodes_nodeids").s = other

    packed = pack(model)

    assert Attributes(packed.graph.node[0]).integers("nodes_nodeids").tolist() == [0, 1, 2]
    assert list(attribute(ModelProto.FromString(serialize(packed)), "nodes_nodeids").ints) == [
        *(0, 1, 2)
    ]


def test_trees_in_a_subgraph_are_read_from_their_lists_only():
    inner, outer = stump(), stump()
    other = helper.make_attribute("nodes_nodeids", [7, 8, 9]).SerializeToString()
    attribute(inner, "nodes_nodeids").s = other
    branch = helper.make_node("If", ["x"], ["z"], then_branch=inner.graph, else_branch=outer.graph)
    model = helper.make_model(helper.make_graph([branch], "g", outer.graph.input, []))

    (then,) = (c.g for c in pack(model).graph.node[0].attribute if c.name == "then_branch")

    assert Attributes(then.node[0]).integers("nodes_nodeids").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nodes_nodeids": [0, 1, 1]}, "two nodes have the same number"),
        ({"nodes_nodeids": [0, 1]}, "nodes_nodeids has 2 values instead of 3"),
        ({"nodes_modes": [b"BRANCH_LEQ", b"LEAF", b"X"]}, "unknown mode"),
        ({"nodes_modes": [b"LEAF"]}, "nodes_modes has 1 values instead of 3"),
        ({"nodes_falsenodeids": [5, 0, 0]}, "names node 5, which its tree does not have"),
        ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
        ({"nodes_featureids": [-1, 0, 0]}, "nodes_featureids holds -1"),
        ({"nodes_values": [float("nan"), 0.0, 0.0]}, "a threshold is NaN"),
        ({"target_nodeids": [0, 2]}, "target_nodeids names a node that is no leaf"),
        ({"target_ids": [0, 1]}, "target_ids holds 1"),
    ],
)
def test_packed_trees_are_checked(changes, reason):
    with pytest.raises(ExplainError, match=reason):
        load(stump(**changes).SerializeToString())


def test_a_list_of_texts_in_place_of_numbers_is_refused():
    model = stump(nodes_nodeids=[b"0", b"1", b"2"])

    with pytest.raises(ExplainError, match="nodes_nodeids is no list of numbers"):
        load(model.SerializeToString())
