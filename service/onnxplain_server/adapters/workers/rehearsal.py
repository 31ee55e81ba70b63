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
    """Every method, on trees and on another model, with one output and several, with weights."""
    models = [model.SerializeToString() for model in (_trees(1), _trees(2), _negation())]
    for model, weight, method in product(models, ("", "w"), methods()):
        yield ExplainRequest(
            model=Model(content=model),
            table=Table(csv=_CSV),
            feature_columns=_FEATURES,
            weight_column=weight,
            target_column="t",
            output_indices=[0],
            methods=[method],
        ).SerializeToString()


def methods() -> Iterator[MethodOptions]:
    """Every method of the contract: as `_OPTIONS` has it, or else with its defaults."""
    for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields:
        for options in _OPTIONS.get(field.name, ({},)):
            yield ParseDict({field.name: options}, MethodOptions())


def _trees(target_count: int) -> ModelProto:
    """Full trees whose ways to a leaf split on all three columns, some twice."""
    trees, inner, count = range(_TREE_COUNT), 2**_LEVELS - 1, 2 ** (_LEVELS + 1) - 1
    leaves = range(inner, count)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["y"],
        domain=_ML,
        nodes_treeids=[tree for tree in trees for _ in range(count)],
        nodes_nodeids=[*range(count)] * _TREE_COUNT,
        nodes_featureids=[(i + tree) % len(_FEATURES) for tree in trees for i in range(count)],
        nodes_modes=(["BRANCH_LEQ"] * inner + ["LEAF"] * len(leaves)) * _TREE_COUNT,
        nodes_values=[float(7 * i % 50) + tree for tree in trees for i in range(count)],
        nodes_truenodeids=[2 * i + 1 if i < inner else 0 for i in range(count)] * _TREE_COUNT,
        nodes_falsenodeids=[2 * i + 2 if i < inner else 0 for i in range(count)] * _TREE_COUNT,
        target_treeids=[tree for tree in trees for _ in leaves],
        target_nodeids=[*leaves] * _TREE_COUNT,
        target_ids=[i % target_count for i in leaves] * _TREE_COUNT,
        target_weights=[float(i % 9) for i in leaves] * _TREE_COUNT,
        n_targets=target_count,
    )
    return _model(node, target_count)


def _negation() -> ModelProto:
    return _model(helper.make_node("Neg", ["X"], ["y"]), len(_FEATURES))


def _model(node: NodeProto, width: int) -> ModelProto:
    graph = helper.make_graph(
        [node],
        "rehearsal",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", len(_FEATURES)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
