"""Additive engine beside the black box and bare onnxruntime, and the overview of wide trees.

Seconds are of processor time in one process.

Processor time, because other work on the machine does not change it much.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from google.protobuf.json_format import ParseDict
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from sklearn.ensemble import RandomForestRegressor

from bench.shared import ensembles
from bench.shared.null_host import NullHost

ML = "ai.onnx.ml"
_WORDS, _NUMBERS, _ROWS = 9, 7, 13_564
_WIDE, _WIDE_ROWS = 5_000, 300
_CLASSES = 10


class Case(NamedTuple):
    """A model, and rows for it."""

    name: str
    model: bytes
    columns: Mapping[str, Array]


class Question(NamedTuple):
    """A request, and whether the black box answers it in reasonable time."""

    name: str
    request: Mapping[str, Any]
    is_for_both: bool = True


def saved(nodes: list[NodeProto], inputs: list[ValueInfoProto], **constants: Array) -> bytes:
    """Write a model whose last node gives the answer."""
    answer = nodes[-1].output[-1]
    graph = helper.make_graph(
        nodes,
        "additive",
        inputs,
        [helper.make_tensor_value_info(answer, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


# Long: a graph, node by node.
def pipeline(classes: int) -> Case:
    """One-hot columns of words beside scaled numbers, and a logistic model of them."""
    rng = np.random.default_rng(0)
    words = [f"word{j}" for j in range(_WORDS)]
    numbers = [f"number{j}" for j in range(_NUMBERS)]
    categories = [[f"c{k}" for k in range(2 + j)] for j in range(_WORDS)]
    inputs = [helper.make_tensor_value_info(w, TensorProto.STRING, [None, 1]) for w in words]
    inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, 1]) for n in numbers]
    width = sum(map(len, categories)) + _NUMBERS
    nodes = [
        helper.make_node("OneHotEncoder", [w], [f"{w}_hot"], domain=ML, cats_strings=own, zeros=1)
        for w, own in zip(words, categories, strict=True)
    ]
    nodes += [
        helper.make_node("Concat", [f"{w}_hot" for w in words], ["hot"], axis=2),
        helper.make_node("Reshape", ["hot", "shape"], ["flat"]),
        helper.make_node("Concat", numbers, ["joined"], axis=1),
        helper.make_node(
            "Scaler", ["joined"], ["scaled"], domain=ML, offset=[0.1] * 7, scale=[0.9] * 7
        ),
        helper.make_node("Concat", ["flat", "scaled"], ["prepared"], axis=1),
    ]
    weights = rng.normal(size=(1 if classes == 2 else classes, width))
    weights = np.concatenate([-weights, weights]) if classes == 2 else weights
    nodes.append(
        helper.make_node(
            "LinearClassifier",
            ["prepared"],
            ["label", "probabilities"],
            domain=ML,
            classlabels_ints=list(range(classes)),
            coefficients=weights.ravel().tolist(),
            intercepts=[0.0] * classes,
            post_transform="LOGISTIC" if classes == 2 else "SOFTMAX",
        )
    )
    shape = np.array([-1, width - _NUMBERS])
    columns: dict[str, Array] = {
        w: np.array(own, dtype=object)[rng.integers(len(own), size=_ROWS)]
        for w, own in zip(words, categories, strict=True)
    }
    columns |= {n: rng.normal(size=_ROWS).astype(np.float32) for n in numbers}
    return Case(f"{classes} classes, 16 columns", saved(nodes, inputs, shape=shape), columns)


def wide() -> Case:
    """A logistic regression of many columns of which a fifth matters."""
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(_WIDE, 1)) * (rng.random((_WIDE, 1)) < 0.2) / 20).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["X", "weights"], ["score"]),
        helper.make_node("Sigmoid", ["score"], ["probability"]),
    ]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, _WIDE])]
    rows = rng.normal(size=(_WIDE_ROWS, _WIDE)).astype(np.float32)
    columns = {f"x{j}": rows[:, j] for j in range(_WIDE)}
    return Case(
        f"{_WIDE} columns, {_WIDE_ROWS} rows", saved(nodes, inputs, weights=weights), columns
    )


def wide_forest() -> Case:
    """Trees grown full on few rows of many columns, and a target."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(_WIDE_ROWS, _WIDE)).astype(np.float32)
    target = (rows[:, :20] @ rng.normal(size=20) + rng.normal(size=_WIDE_ROWS) / 2 > 0).astype(
        float
    )
    fitted = RandomForestRegressor(200, max_features="sqrt", random_state=0).fit(rows, target)
    model = ensembles.to_onnx(fitted).SerializeToString()
    columns = {f"x{j}": rows[:, j] for j in range(_WIDE)} | {"y": target}
    return Case(f"200 trees, {_WIDE} columns, {_WIDE_ROWS} rows", model, columns)


def request_of(case: Case, question: Mapping[str, Any], engine: str) -> bytes:
    asked = ExplainRequest(plots=False)
    ParseDict({**question, "engine": engine}, asked)
    asked.model.content = case.model
    asked.table.columns.columns.extend(
        Column(name=name, strings=own.tolist())
        if own.dtype == object
        else Column(name=name, numbers=own.astype(float))
        for name, own in case.columns.items()
    )
    return asked.SerializeToString()


def timed(runner: InProcess, request: bytes) -> tuple[float, ExplainResponse]:
    """Return processor seconds, and the answer."""
    start = time.process_time()
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()).content
    return time.process_time() - start, ExplainResponse.FromString(reply)


def bare(case: Case) -> float:
    """Return processor seconds of onnxruntime for a row of the table."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(case.model, options)
    names = [each.name for each in session.get_inputs()]
    feeds: dict[str, Array] = {"X": np.stack(list(case.columns.values()), axis=1)}
    if names != ["X"]:
        shapes = {each.name: (-1, *each.shape[1:]) for each in session.get_inputs()}
        feeds = {name: case.columns[name].reshape(shapes[name]) for name in names}
    session.run(None, feeds)
    start = time.process_time()
    session.run(None, feeds)
    return (time.process_time() - start) / len(next(iter(feeds.values())))


def questions(case: Case) -> Iterator[Question]:
    pairs = {"interactions": {"pairwise_feature_count": 16}}
    if len(case.columns) < _WIDE:
        curves = {"methods": [{"partial_dependence": {}}], "row_count": _ROWS}
        yield Question("curves, all rows", curves)
        yield Question("H², 500 rows", {"methods": [pairs], "row_count": 500})
        margin = {"methods": [pairs], "scale": "MARGIN"}
        yield Question("H² of the margin, all rows", margin, is_for_both=False)
        if "2 classes" in case.name:  # pairs of rows behind a softmax
            yield Question("H², all rows", {"methods": [pairs]}, is_for_both=False)
        return
    yield Question("curves", {"methods": [{"partial_dependence": {}}]})
    yield Question("overall H²", {"methods": [{"interactions": {}}]}, is_for_both=False)
    yield Question("overview", {})


def main() -> None:
    runner = InProcess(threads=2)
    print("| Model | Question | ADDITIVE, s | BLACK_BOX, s | Ratio | onnxruntime alone, s |")
    print("|---|---|---:|---:|---:|---:|")
    for case in (pipeline(2), pipeline(_CLASSES), wide()):
        row_seconds = bare(case)
        timed(runner, request_of(case, {"methods": [{"firm": {}}]}, "ADDITIVE"))  # loads the model
        for question in questions(case):
            ours, _ = timed(runner, request_of(case, question.request, "ADDITIVE"))
            line = f"| {case.name} | {question.name} | {ours:.2f} |"
            if not question.is_for_both:
                print(f"{line} | | |", flush=True)
                continue
            theirs, other = timed(runner, request_of(case, question.request, "BLACK_BOX"))
            alone = row_seconds * other.receipt.predicted_row_count
            print(f"{line} {theirs:.2f} | {theirs / ours:.1f} | {alone:.2f} |", flush=True)
    forest = wide_forest()
    overview, _ = timed(runner, request_of(forest, {"target_column": "y"}, "TREES"))
    print(f"| {forest.name} | overview with a target, by TREES | {overview:.2f} | | | |")
    runner.close()


if __name__ == "__main__":
    main()
