"""Swarm: batched search against a literal Algorithm 1, and the exact search on many rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.swarm_pb2 import SwarmOptions, SwarmResult
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from sklearn.datasets import load_wine, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from bench.shared.ensembles import rounded_down
from bench.shared.null_host import NullHost

_PARTICLES, _ITERATIONS = 10, 10
_MANY_ROWS = 100_000


def classifier(fitted: Any) -> bytes:
    """Write a forest, or boosted trees, of scikit-learn: a column of scores for each class."""
    trees: list[tuple[Any, int | None]]
    if isinstance(fitted, RandomForestClassifier):
        trees = [(tree.tree_, None) for tree in fitted.estimators_]
        factor = 1 / len(trees)
    else:
        trees = [(tree.tree_, k) for row in fitted.estimators_ for k, tree in enumerate(row)]
        factor = fitted.learning_rate
    count, width = len(fitted.classes_), fitted.n_features_in_
    fields: dict[str, Any] = {}
    for number, (tree, k) in enumerate(trees):
        for name, values in _attributes(tree, number, k, factor, count):
            fields.setdefault(name, []).extend(values)
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["scores"], domain="ai.onnx.ml", n_targets=count, **fields
    )
    graph = helper.make_graph(
        [node],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, count])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return bytes(model.SerializeToString())


def _attributes(tree: Any, number: int, k: int | None, factor: float, count: int) -> Any:
    """Give the attributes of one tree; its leaves give to class k, or to each class its share."""
    leaf = tree.children_left < 0
    leaves = np.flatnonzero(leaf)
    targets = range(count) if k is None else [k]
    weights = factor * tree.value[leaves, 0, : len(targets)]
    yield "nodes_treeids", [number] * tree.node_count
    yield "nodes_nodeids", list(range(tree.node_count))
    yield "nodes_featureids", np.where(leaf, 0, tree.feature).tolist()
    yield "nodes_values", rounded_down(np.where(leaf, 0, tree.threshold)).tolist()
    yield "nodes_modes", np.where(leaf, "LEAF", "BRANCH_LEQ").tolist()
    yield "nodes_truenodeids", np.where(leaf, 0, tree.children_left).tolist()
    yield "nodes_falsenodeids", np.where(leaf, 0, tree.children_right).tolist()
    yield "target_treeids", [number] * weights.size
    yield "target_nodeids", np.repeat(leaves, len(targets)).tolist()
    yield "target_ids", list(targets) * len(leaves)
    yield "target_weights", weights.ravel().tolist()


def explain(
    model: bytes, rows: Matrix, classes: Array, engine: Any = None, **options: Any
) -> SwarmResult:
    columns = [Column(name=f"f{j}", numbers=column) for j, column in enumerate(rows.T)]
    columns.append(Column(name="y", numbers=classes))
    request = ExplainRequest(
        model=Model(content=model),
        table=Table(columns=Columns(columns=columns)),
        target_column="y",
        methods=[MethodOptions(swarm=SwarmOptions(**options))],
        plots=False,
        engine=engine,
    )
    runner = InProcess(2)
    try:
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost()
        ).content
    finally:
        runner.close()
    return ExplainResponse.FromString(answer).explanations[0].swarm


class Literal:
    """Algorithm 1 followed literally, for one feature of one class.

    Every comparison of two positions evaluates h for both, each time for the whole table.
    """

    def __init__(self, predict: Any, rows: Matrix, classes: Array, k: int, feature: int) -> None:
        self._predict, self._rows, self._classes = predict, rows.astype(np.float32), classes
        self._own, self._feature = classes == k, feature
        self.evaluated = 0

    def harm(self, weight: float) -> float:
        self.evaluated += 1
        moved = self._rows.copy()
        moved[self._own, self._feature] *= np.float32(weight)
        right = self._predict({"x": moved}).argmax(axis=1) == self._classes
        return abs(1 - float(right.mean()))

    def better(self, a: float, b: float) -> bool:
        if self.harm(a) > self.harm(b):
            return True
        is_equal = self.harm(a) != 0 and self.harm(a) == self.harm(b)
        return is_equal and abs(1 - a) < abs(1 - b)

    def fly(self, random: np.random.Generator) -> None:
        x, best = np.ones(_PARTICLES), np.ones(_PARTICLES)
        velocity = random.uniform(-1, 1, _PARTICLES)
        for _ in range(_ITERATIONS):
            for p in range(_PARTICLES):
                if self.better(x[p], best[p]):
                    best[p] = x[p]
                g = p
                for q in ((p - 1) % _PARTICLES, (p + 1) % _PARTICLES):
                    if self.better(best[q], best[g]):
                        g = q
                pull = random.uniform(0, 2.05, 2)
                moved = pull[0] * (best[p] - x[p]) + pull[1] * (best[g] - x[p])
                velocity[p] = np.clip(0.729 * (velocity[p] + moved), -1, 1)
                x[p] = np.clip(x[p] + velocity[p], 0, 10)


def literally(model: bytes, rows: Matrix, classes: Array, features: int) -> int:
    """Fly for some features of each class: the number of predictions of the whole table."""
    predict, random, evaluated = load(model).predict, np.random.default_rng(0), 0
    for k in np.unique(classes):
        for feature in range(features):
            swarm = Literal(predict, rows, classes, k, feature)
            swarm.fly(random)
            evaluated += swarm.evaluated
    return evaluated


def main() -> None:
    wine = load_wine()
    forest = RandomForestClassifier(100, random_state=0).fit(wine.data, wine.target)
    model = classifier(forest)
    _compare(model, wine.data, wine.target)
    x, y = make_classification(_MANY_ROWS, 20, n_informative=12, n_classes=3, random_state=0)
    _many(x, y)


def _compare(model: bytes, rows: Matrix, classes: Array) -> None:
    features, few = rows.shape[1], 2
    start = time.perf_counter()
    calls = literally(model, rows, classes, few)
    literal = (time.perf_counter() - start) * features / few
    print(f"Wine, 100 trees, {_PARTICLES} particles, {_ITERATIONS} iterations, all features:")
    print(f"  literally: {literal:.1f} s (timed on {few} of {features} features, {calls:,} calls)")
    published: Any = {"search": "PUBLISHED", "particle_count": _PARTICLES,
                      "iteration_count": _ITERATIONS}  # fmt: skip
    for name, engine, options in (
        ("published search, all weights predicted", ExplainRequest.BLACK_BOX, published),
        ("published search, weights looked up in the trees", None, published),
        ("exact search", None, {}),
    ):
        explain(model, rows[::4], classes[::4], engine, **options)
        start = time.perf_counter()
        explain(model, rows, classes, engine, **options)
        seconds = time.perf_counter() - start
        print(f"  {name}: {seconds:.2f} s, {literal / seconds:.0f} times as fast (wanted: 50)")


def _many(x: Matrix, y: Array) -> None:
    boosted = GradientBoostingClassifier(n_estimators=100, random_state=0).fit(x[:5_000], y[:5_000])
    model = classifier(boosted)
    explain(model, x[:500], y[:500])
    start, before = time.perf_counter(), time.process_time()
    explain(model, x, y)
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    print(f"{_MANY_ROWS:,} rows, 20 features, 3 classes, 100 rounds of boosting, exact:")
    print(f"  {seconds:.1f} s, {busy:.1f} s of processor time (wanted: under 30 on two cores)")


if __name__ == "__main__":
    main()
