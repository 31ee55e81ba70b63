"""Warm-up requests: small ones that make a zygote load and compile all that answers need."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any, NamedTuple

from google.protobuf.json_format import ParseDict
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnxplain.v1.attributions_pb2 import AttributionsOptions
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    DescribeTableRequest,
    ExplainRequest,
    MethodOptions,
    PredictRequest,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table

from onnxplain_server.explain.registry import preparation
from onnxplain_server.methods.registry import METHODS

_ML = "ai.onnx.ml"
FEATURES = ("a", "b", "c")
_ROW_COUNT, _TREE_COUNT, _LEVELS = 300, 12, 5
_LONG_PATH = 10
_SURROGATE_ROWS, _SURROGATE_PREDICTIONS = 30, 600
_CSV = b"a,b,c,w,t\n" + b"".join(
    b"%d,%d,%d,%d,%d\n" % (i % 53, 7 * i % 59, i * i % 47, 1 + i % 2, i % 2)
    for i in range(_ROW_COUNT)
)


class NullHost:
    """`RequestHost` without deadline and without cache."""

    model_key = ""
    caller_key = ""

    def advance(self, done: float, planned: float) -> None:
        """Do nothing: nobody cancels a warm-up."""

    def count_processor(self, seconds: float) -> None:
        """Forget it."""

    def publish(self, part: bytes) -> None:
        """Drop it."""

    def write_table(self, parts: Iterable[bytes]) -> None:
        """Have it made, and drop it."""
        deque(parts, maxlen=0)

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Never wait."""
        return nullcontext(True)

    def cache_get(
        self,
        names: Sequence[str],
        byte_limit: float = math.inf,  # noqa: ARG002 - of the protocol
    ) -> Sequence[bytes | None]:
        """Return None for each name."""
        return [None] * len(names)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Drop the entries."""


def requests() -> Iterator[bytes]:
    """Yield requests for every method, with weights, on trees, linked trees and another model.

    The first one asks for a table of rows.
    """
    given = models()
    rows = MethodOptions(attributions=AttributionsOptions(explained_row_count=1))
    yield _request(given[0], rows, "file:///rows.parquet")
    asked = [*product(given, _methods(once=False)), *product(given[:1], _methods(once=True))]
    for model, method in asked:
        yield _request(model, method)
    yield _estimated(given[-1])


def _estimated(model: ModelProto) -> bytes:
    """Return a request for the engine that fits a surrogate, on few rows."""
    request = ExplainRequest(
        model=Model(content=model.SerializeToString()),
        table=Table(csv=_CSV),
        feature_columns=FEATURES,
        output_indices=[0],
        methods=[MethodOptions(interactions=InteractionsOptions())],
        engine=ExplainRequest.SURROGATE,
        row_count=_SURROGATE_ROWS,
        budget_predicted_row_count=_SURROGATE_PREDICTIONS,
    )
    return bytes(request.SerializeToString())


def _request(model: ModelProto, method: MethodOptions, result_uri: str = "") -> bytes:
    request = ExplainRequest(
        model=Model(content=model.SerializeToString()),
        table=Table(csv=_CSV),
        feature_columns=FEATURES,
        weight_column="w",
        target_column="t",
        output_indices=[0],
        methods=[method],
        result_uri=result_uri,
    )
    return bytes(request.SerializeToString())


def prediction() -> bytes:
    """Return a request for predictions."""
    model = Model(content=_negation().SerializeToString())
    request = PredictRequest(model=model, table=Table(csv=_CSV), feature_columns=FEATURES)
    return bytes(request.SerializeToString())


def model_check() -> bytes:
    """Return a request whose expected predictions differ, on trees, which tries each cause."""
    model = Model(content=regressor(1).SerializeToString())
    csv = b"a,b,c,e\n1,2,3,1\n4,5,6,0\n7,8,9,5\n"
    request = CheckModelRequest(
        model=model,
        table=Table(csv=csv),
        feature_columns=FEATURES,
        expected_prediction_columns=["e"],
    )
    return bytes(request.SerializeToString())


def table_description() -> bytes:
    """Return a request about a table, with the rows nearest to one."""
    model = Model(content=_negation().SerializeToString())
    near = Columns(columns=[Column(name="a", numbers=[1]), Column(name="s", strings=["x"])])
    table = Table(csv=b"a,b,c,s\n1,2,3,x\n4,5,6,y\n")
    request = DescribeTableRequest(model=model, table=table, target_column="s", near=near)
    return bytes(request.SerializeToString())


def models() -> Sequence[ModelProto]:
    """Build trees, linked trees and another model, of columns a, b and c."""
    return (regressor(1), regressor(2), _classifier(1), _classifier(3), _negation())


def methods() -> Iterator[MethodOptions]:
    """Yield the options by which every method of the contract is warmed up."""
    yield from _methods(once=False)
    yield from _methods(once=True)


def _methods(*, once: bool) -> Iterator[MethodOptions]:
    """Yield those of methods that are asked on each kind of model, or on one."""
    for name, method in METHODS.items():
        own = preparation(method)
        if own.is_warm_after_one is once:
            yield from (ParseDict({name: options}, MethodOptions()) for options in own.warm_up)


def regressor(target_count: int) -> ModelProto:
    """Build a sum over trees of columns a, b and c."""
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["y"],
        domain=_ML,
        n_targets=target_count,
        **_trees("target", target_count),
    )
    return _model(node, target_count)


def _classifier(score_count: int) -> ModelProto:
    """Build a boosted classifier: the logistic function of a sum, or the softmax of several."""
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "y"],
        domain=_ML,
        post_transform="LOGISTIC" if score_count == 1 else "SOFTMAX",
        classlabels_int64s=[*range(max(2, score_count))],
        **_trees("class", score_count),
    )
    return _model(node, max(2, score_count))


def _trees(prefix: str, target_count: int) -> Mapping[str, Any]:
    """Write trees as attributes of their node."""
    trees = [*(_full_tree(tree) for tree in range(_TREE_COUNT)), _chain()]
    nodes = [(t, i, node) for t, tree in enumerate(trees) for i, node in enumerate(tree)]
    leaves = [(t, i) for t, i, node in nodes if node.is_leaf]
    return {
        "nodes_treeids": [t for t, _, _ in nodes],
        "nodes_nodeids": [i for _, i, _ in nodes],
        "nodes_featureids": [node.feature for *_, node in nodes],
        "nodes_modes": ["LEAF" if node.is_leaf else "BRANCH_LEQ" for *_, node in nodes],
        "nodes_values": [node.threshold for *_, node in nodes],
        "nodes_truenodeids": [node.true for *_, node in nodes],
        "nodes_falsenodeids": [node.false for *_, node in nodes],
        f"{prefix}_treeids": [t for t, _ in leaves],
        f"{prefix}_nodeids": [i for _, i in leaves],
        f"{prefix}_ids": [i % target_count for _, i in leaves],
        f"{prefix}_weights": [float(i % 9) / 50 for _, i in leaves],
    }


class _Split(NamedTuple):
    """Node of a tree: its branches are those of numbers up to the threshold, and of others."""

    feature: int = 0
    threshold: float = 0.0
    true: int = 0
    false: int = 0

    @property
    def is_leaf(self) -> bool:
        return self.true == 0


def _full_tree(number: int) -> list[_Split]:
    """Build a full tree whose paths split on all three columns, some twice; most without the last.

    A column that few trees test is permuted by a kernel of its own.
    """
    inner = range(2**_LEVELS - 1)
    width = len(FEATURES) if number < _TREE_COUNT // 3 else len(FEATURES) - 1
    splits = [
        _Split((i + number) % width, float(7 * i % 50) + number, 2 * i + 1, 2 * i + 2)
        for i in inner
    ]
    return [*splits, *[_Split()] * (len(inner) + 1)]


def _chain() -> list[_Split]:
    """Build a tree with a path that is longer than those that the engine groups."""
    splits = [
        (_Split(i % len(FEATURES), 4.0 * i, 2 * i + 1, 2 * i + 2), _Split())
        for i in range(_LONG_PATH)
    ]
    return [*(node for pair in splits for node in pair), _Split()]


def _negation() -> ModelProto:
    return _model(helper.make_node("Neg", ["X"], ["y"]), len(FEATURES))


def _model(node: NodeProto, width: int) -> ModelProto:
    labels = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n"])
        for name in node.output
        if name == "label"
    ]
    graph = helper.make_graph(
        [node],
        "rehearsal",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", len(FEATURES)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width]), *labels],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
