"""Small requests by which a zygote loads and compiles all that answers need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any

from google.protobuf.json_format import ParseDict
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

_ML = "ai.onnx.ml"
_FEATURES = ("a", "b", "c")
_ROW_COUNT, _TREE_COUNT, _LEVELS = 300, 12, 5
_CSV = b"a,b,c,w,t\n" + b"".join(
    b"%d,%d,%d,%d,%d\n" % (i % 53, 7 * i % 59, i * i % 47, 1 + i % 2, i % 2)
    for i in range(_ROW_COUNT)
)

_OPTIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "interactions": ({"threewayFeatureCount": 3}, {"quantileBinCount": 3}),
    "partial_dependence": ({"gridSize": 3}, {"features": [{"names": _FEATURES[:2]}]}),
    "individual_conditional_expectation": ({"features": ["a"]},),
    "feature_vectors": (
        {"source": "MODEL", "rowIndices": [0, 1]},
        {"source": "SURROGATE", "sentenceCount": 100, "depth": 8},
        {"source": "LABELS", "sentenceCount": 100, "depth": 8},
    ),
}
"""Options by which a method reaches all of its code, in canonical JSON."""


class Nowhere:
    """Surroundings that want nothing and keep nothing."""

    subject = ""

    def advance(self, done: float, planned: float) -> None:
        """See `Host.advance`."""

    def alone(self, _name: str) -> AbstractContextManager[bool]:
        """See `Host.alone`."""
        return nullcontext(True)

    def recall(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """See `Host.recall`."""
        return [None] * len(names)

    def remember(self, entries: Mapping[str, bytes]) -> None:
        """See `Host.remember`."""


def requests() -> Iterator[bytes]:
    """Every method, with weights, on trees, on links of trees and on another model.

    Some are refused: not every method suits every model.
    """
    models = [model.SerializeToString() for model in _models()]
    for model, method in product(models, methods()):
        yield ExplainRequest(
            model=Model(content=model),
            table=Table(csv=_CSV),
            feature_columns=_FEATURES,
            weight_column="w",
            target_column="t",
            output_indices=[0],
            methods=[method],
        ).SerializeToString()


def _models() -> Iterator[ModelProto]:
    yield _trees(1)
    yield _trees(2)
    yield _classifier(2, "LOGISTIC")
    yield _classifier(3, "SOFTMAX")
    yield _negation()


def methods() -> Iterator[MethodOptions]:
    """Every method of the contract: as `_OPTIONS` has it, or else with its defaults."""
    for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields:
        for options in _OPTIONS.get(field.name, ({},)):
            yield ParseDict({field.name: options}, MethodOptions())


def _trees(target_count: int) -> ModelProto:
    """Sums over trees."""
    targets = _leaves("target", target_count)
    node = helper.make_node(
        "TreeEnsembleRegressor", ["X"], ["y"], domain=_ML, n_targets=target_count, **targets
    )
    return _model(node, {"y": (TensorProto.FLOAT, target_count)})


def _classifier(class_count: int, link: str) -> ModelProto:
    """Sums over trees, and a link."""
    # Of two classes, only the second one has a sum.
    leaves = _leaves("class", 1 if class_count == 2 else class_count)
    if class_count == 2:
        leaves["class_ids"] = [1] * len(leaves["class_ids"])
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "y"],
        domain=_ML,
        classlabels_int64s=[*range(class_count)],
        post_transform=link,
        **leaves,
    )
    outputs = {"label": (TensorProto.INT64, 1), "y": (TensorProto.FLOAT, class_count)}
    return _model(node, outputs)


def _leaves(of: str, count: int) -> dict[str, Any]:
    """Attributes of full trees whose ways to a leaf split on all three columns, some twice."""
    trees, inner, size = range(_TREE_COUNT), 2**_LEVELS - 1, 2 ** (_LEVELS + 1) - 1
    leaves = range(inner, size)
    return {
        "nodes_treeids": [tree for tree in trees for _ in range(size)],
        "nodes_nodeids": [*range(size)] * _TREE_COUNT,
        "nodes_featureids": [(i + tree) % len(_FEATURES) for tree in trees for i in range(size)],
        "nodes_modes": (["BRANCH_LEQ"] * inner + ["LEAF"] * len(leaves)) * _TREE_COUNT,
        "nodes_values": [float(7 * i % 50) + tree for tree in trees for i in range(size)],
        "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for i in range(size)] * _TREE_COUNT,
        "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for i in range(size)] * _TREE_COUNT,
        f"{of}_treeids": [tree for tree in trees for _ in leaves],
        f"{of}_nodeids": [*leaves] * _TREE_COUNT,
        f"{of}_ids": [i % count for i in leaves] * _TREE_COUNT,
        f"{of}_weights": [float(i % 9) / 9 for i in leaves] * _TREE_COUNT,
    }


def _negation() -> ModelProto:
    node = helper.make_node("Neg", ["X"], ["y"])
    return _model(node, {"y": (TensorProto.FLOAT, len(_FEATURES))})


def _model(node: NodeProto, outputs: Mapping[str, tuple[int, int]]) -> ModelProto:
    graph = helper.make_graph(
        [node],
        "rehearsal",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", len(_FEATURES)])],
        [
            helper.make_tensor_value_info(name, kind, ["n"] if name == "label" else ["n", width])
            for name, (kind, width) in outputs.items()
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
