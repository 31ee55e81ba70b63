"""Rare categories that share a column, as OneHotEncoder(min_frequency=...) is exported."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.trees.reading.ensemble import read_ensemble
from onnxplain_server.trees.reading.refusal import Refusal

ML = "ai.onnx.ml"
CITIES = ["b", "a", "d", "c"]
TREES = [
    ((0, "GT", 0.5), [1.0], ((3, "LEQ", 0.1), [2.0], [4.0])),
    ((2, "GT", 0.5), [8.0], ((1, "LT", 0.5), [16.0], [32.0])),
]


def pipeline(regressor, split, reduced="rare", *, axis=1, keepdims=1):
    """A text column, one-hot encoded, whose last two categories share a column, and a number."""
    sizes = {"sizes": np.array([2, 2]), "axis": np.array([axis])}
    tree = regressor(TREES, 4).graph.node[0]
    nodes = [
        helper.make_node("OneHotEncoder", ["city"], ["hot"], domain=ML, cats_strings=CITIES),
        helper.make_node("Reshape", ["hot", "shape"], ["flat"]),
        split,
        helper.make_node("Concat", ["rare", "size"], ["both"], axis=1),
        helper.make_node("ReduceSum", [reduced, "axis"], ["other"], keepdims=keepdims),
        helper.make_node("Concat", ["known", "other", "size"], ["X"], axis=1),
        tree,
    ]
    inputs = [
        helper.make_tensor_value_info("city", TensorProto.STRING, [None, 1]),
        helper.make_tensor_value_info("size", TensorProto.FLOAT, [None, 1]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])]
    constants = {"shape": np.array([-1, 4]), **sizes}
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


BY_SIZES = helper.make_node("Split", ["flat", "sizes"], ["known", "rare"], axis=1)
EQUAL = helper.make_node("Split", ["flat"], ["known", "rare"], axis=1, num_outputs=2)


@pytest.mark.parametrize("split", [BY_SIZES, EQUAL], ids=["by sizes", "in equal parts"])
def test_rare_categories_are_one_column_of_their_feature(regressor, sums, split) -> None:
    proto = pipeline(regressor, split)
    city = np.array(["a", "b", "c", "d", "", "e"] * 2, dtype=object)
    size = np.array([0.0] * 6 + [1.0] * 6, dtype=np.float32)
    session = onnxruntime.InferenceSession(proto.SerializeToString())

    (expected,) = session.run(None, {"city": city[:, None], "size": size[:, None]})

    view = read_ensemble(proto)
    assert not isinstance(view, Refusal)
    assert sums(view, [city, size]).tolist() == expected.tolist()
    assert len({*expected[:4, 0]}) == 3  # c and d alike, and unlike a and b


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"reduced": "size"}, "adds features before its trees"),
        ({"reduced": "both"}, "adds features before its trees"),
        ({"axis": 0}, "adds rows"),
        ({"keepdims": 0}, "adds rows"),
    ],
)
def test_other_sums_are_refused(regressor, options, reason: str) -> None:
    view = read_ensemble(pipeline(regressor, BY_SIZES, **options))

    assert isinstance(view, Refusal)
    assert reason in view.reason
