"""Hybrid rows made of the parts of first layers beside whole rows, by processor time.

Both engines predict the same rows in one process: the black box by the caller's choice predicts
whole rows. Processor time, because other work on the machine does not change it much.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.arrays import Array

from bench.speed.additive import ML, Case, bare, request_of, timed

_ADULT = Path(__file__).parents[2] / "data" / "adult.csv.gz"
_ROWS = 4_000
_REPEATS = 3
"""Of each measurement, of which the shortest counts."""
_ANY = "ENGINE_UNSPECIFIED"
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "curves, 2,000 rows": {"methods": [{"partial_dependence": {}}], "row_count": 2_000},
    "H², 500 rows": {"methods": [{"interactions": {"pairwise_feature_count": 5}}]},
}


class Network:
    """Dense layers behind columns, of random weights."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.constants: list[TensorProto] = []

    def add(self, operator: str, inputs: Sequence[str], domain: str = "", **own: Any) -> str:
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **own))
        return output

    def constant(self, values: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def column(self, name: str, kind: int, width: int = 1) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, [None, width]))
        return name

    def dense(self, tensor: str, sizes: Sequence[int]) -> bytes:
        """Add layers, and return the model."""
        for before, after in pairwise(sizes):
            weights = self.rng.normal(size=(before, after)) / np.sqrt(before)
            bias = self.constant(self.rng.normal(size=after).astype(np.float32))
            layer = self.constant(weights.astype(np.float32))
            tensor = self.add("Gemm", [tensor, layer, bias])
            tensor = self.add("Sigmoid" if after == 1 else "Relu", [tensor])
        output = helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", self.inputs, [output], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(model.SerializeToString())


def adult() -> dict[str, Array]:
    """Read the features of adult: texts, and numbers as float32."""
    with gzip.open(_ADULT, "rt", newline="") as file:
        head, *rows = csv.reader(file)
    columns: dict[str, Array] = {}
    for name, *values in zip(head, *rows[:_ROWS], strict=True):
        try:
            columns[name] = np.array(values, np.float32)
        except ValueError:
            columns[name] = np.array(values, object)
    columns.popitem()  # the target is last
    return columns


def behind_one_hots(hidden: Sequence[int]) -> Case:
    """Texts as one-hot columns beside scaled numbers."""
    columns, network = adult(), Network()
    texts = [name for name, own in columns.items() if own.dtype == object]
    numbers = [name for name in columns if name not in texts]
    parts, width = [], len(numbers)
    for name in texts:
        known = sorted(set(columns[name]))
        source = network.column(name, TensorProto.STRING)
        hot = network.add("OneHotEncoder", [source], ML, cats_strings=known, zeros=1)
        shape = network.constant(np.array([-1, len(known)]))
        parts.append(network.add("Reshape", [hot, shape]))
        width += len(known)
    sources = [network.column(name, TensorProto.FLOAT) for name in numbers]
    joined = network.add("Concat", sources, axis=1)
    scale = [1 / float(columns[name].std() or 1) for name in numbers]
    offset = [float(columns[name].mean()) for name in numbers]
    parts.append(network.add("Scaler", [joined], ML, offset=offset, scale=scale))
    tensor = network.add("Concat", parts, axis=1)
    model = network.dense(tensor, [width, *hidden, 1])
    return Case(f"adult, one-hots, {width}-{'-'.join(map(str, hidden))}-1", model, columns)


def behind_embeddings(hidden: Sequence[int], count: int = 8, size: int = 16) -> Case:
    """Codes that are looked up in tables beside numbers."""
    network = Network()
    codes = {f"code{j}": network.rng.integers(0, 50, _ROWS) for j in range(count)}
    parts = []
    for name in codes:
        table = network.constant(network.rng.normal(size=(50, size)).astype(np.float32))
        looked_up = network.add("Gather", [table, network.column(name, TensorProto.INT64)])
        shape = network.constant(np.array([-1, size]))
        parts.append(network.add("Reshape", [looked_up, shape]))
    numbers = {f"x{j}": network.rng.normal(size=_ROWS).astype(np.float32) for j in range(6)}
    parts += [network.column(name, TensorProto.FLOAT) for name in numbers]
    tensor, width = network.add("Concat", parts, axis=1), count * size + len(numbers)
    model = network.dense(tensor, [width, *hidden, 1])
    sizes = "-".join(map(str, hidden))
    return Case(f"{count} embeddings, {width}-{sizes}-1", model, {**codes, **numbers})


def dense_alone(width: int, hidden: Sequence[int]) -> Case:
    """Numbers alone."""
    network = Network()
    model = network.dense(network.column("X", TensorProto.FLOAT, width), [width, *hidden, 1])
    columns = {f"x{j}": network.rng.normal(size=_ROWS).astype(np.float32) for j in range(width)}
    return Case(f"numbers, {width}-{'-'.join(map(str, hidden))}-1", model, columns)


def cases() -> Iterator[Case]:
    yield behind_one_hots((64, 32))
    yield behind_one_hots((128, 64))
    yield behind_one_hots((256, 128))
    yield behind_embeddings((64, 32))
    for width, hidden in ((10, (32,)), (10, (64, 32)), (20, (512, 512)), (30, (64, 64))):
        yield dense_alone(width, hidden)
    yield dense_alone(100, (64, 32))


def shortest(runner: InProcess, request: bytes) -> tuple[float, ExplainResponse]:
    """Return the least processor seconds of some runs, and an answer."""
    timed(runner, request)  # loads the model, and learns the size of calls
    return min((timed(runner, request) for _ in range(_REPEATS)), key=lambda run: run[0])


def compare(measured: Iterable[Case], questions: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line for each model and question: how it is answered, and processor seconds."""
    runner = InProcess(threads=2)
    print("| Model | Question | Way | Default, s | Whole rows, s | Ratio | onnxruntime, s |")
    print("|---|---|---|---:|---:|---:|---:|")
    for case in measured:
        row_seconds = bare(case)
        for name, question in questions.items():
            ours, answer = shortest(runner, request_of(case, question, _ANY))
            theirs, other = shortest(runner, request_of(case, question, "BLACK_BOX"))
            alone = row_seconds * other.receipt.predicted_row_count
            times = f"{ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} | {alone:.2f}"
            print(f"| {case.name} | {name} | {_way(answer)} | {times} |", flush=True)
    runner.close()


def _way(answer: ExplainResponse) -> str:
    if "first layers" in answer.receipt.engine_reason:
        return "first layers"
    return ExplainRequest.Engine.Name(answer.receipt.engine)


def main() -> None:
    compare(cases(), QUESTIONS)


if __name__ == "__main__":
    main()
