"""Graphs built with onnx.helper, for what other exporters write; answers by numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Fixture = tuple[str, ModelProto, pd.DataFrame, dict[str, Any]]
Array = npt.NDArray[Any]
OPSET = 17
COLUMNS = [f"x{number}" for number in range(10)]


def fixtures() -> Iterator[Fixture]:
    yield network("network_float", np.float32)
    yield network("network_double", np.float64)
    yield batch_of_one("batch_of_one", "y")
    yield batch_of_one("batch_of_one_inside", "reshaped")
    yield half()
    yield two_outputs()
    yield flat_columns()


def network(name: str, dtype: type[np.floating[Any]]) -> Fixture:
    """The network 10-64-64-1 with ReLU."""
    generator = np.random.default_rng(1)
    sizes = (10, 64, 64, 1)
    shapes = list(pairwise(sizes))
    weights = [(generator.normal(size=s) / np.sqrt(s[0])).astype(dtype) for s in shapes]
    biases = [(generator.normal(size=s[1]) / 4).astype(dtype) for s in shapes]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = build(
        [
            helper.make_node("Gemm", ["X", "w0", "b0"], ["g0"]),
            helper.make_node("Relu", ["g0"], ["r0"]),
            helper.make_node("Gemm", ["r0", "w1", "b1"], ["g1"]),
            helper.make_node("Relu", ["g1"], ["r1"]),
            helper.make_node("Gemm", ["r1", "w2", "b2"], ["y"]),
        ],
        [helper.make_tensor_value_info("X", kind, ["rows", 10])],
        [helper.make_tensor_value_info("y", kind, ["rows", 1])],
        {f"w{k}": w for k, w in enumerate(weights)} | {f"b{k}": b for k, b in enumerate(biases)},
    )
    rows = normal(10)
    hidden = rows.to_numpy().astype(np.float64)
    for weight, bias in zip(weights[:2], biases[:2], strict=True):
        hidden = np.maximum(hidden @ weight + bias, 0)
    return name, model, rows, answers(["y"], hidden @ weights[2] + biases[2])


def batch_of_one(name: str, output: str) -> Fixture:
    """Declared for one row; inside, a reshape may pin that too."""
    weight = np.arange(1, 5, dtype=np.float32).reshape(4, 1)
    nodes = [helper.make_node("MatMul", ["X", "w"], ["y"])]
    if output == "reshaped":
        nodes.append(helper.make_node("Reshape", ["y", "one"], ["reshaped"]))
    model = build(
        nodes,
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, 1])],
        {"w": weight, "one": np.array([1, 1])},
    )
    rows = normal(4)
    return name, model, rows, answers([output], rows.to_numpy() @ weight)


def half() -> Fixture:
    """An output of 16 bits, and a declared shape that is wrong."""
    model = build(
        [helper.make_node("Cast", ["X"], ["y"], to=TensorProto.FLOAT16)],
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 7])],
        {},
    )
    rows = normal(2)
    return "half", model, rows, answers(["y_0", "y_1"], rows.to_numpy().astype(np.float16))


def two_outputs() -> Fixture:
    """A vector and a matrix, the matrix of double type, and a weight listed as an input."""
    weight = np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]], np.float32)
    model = build(
        [
            helper.make_node("ReduceSum", ["X", "last"], ["total"], keepdims=0),
            helper.make_node("MatMul", ["X", "w"], ["product"]),
            helper.make_node("Cast", ["product"], ["pair"], to=TensorProto.DOUBLE),
        ],
        [
            helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", 3]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 2]),
        ],
        [
            helper.make_tensor_value_info("total", TensorProto.FLOAT, ["rows"]),
            helper.make_tensor_value_info("pair", TensorProto.DOUBLE, ["rows", 2]),
        ],
        {"w": weight, "last": np.array([1])},
    )
    rows = normal(3)
    X = rows.to_numpy()
    response = np.column_stack([X.sum(axis=1), X @ weight])
    return "two_outputs", model, rows, answers(["total", "pair_0", "pair_1"], response)


def flat_columns() -> Fixture:
    """One input per column: a vector of int64, a column of bool, a column of double."""
    model = build(
        [
            helper.make_node("Reshape", ["age", "column"], ["age_column"]),
            helper.make_node("Cast", ["age_column"], ["age_double"], to=TensorProto.DOUBLE),
            helper.make_node("Where", ["is_new", "income", "age_double"], ["score"]),
        ],
        [
            helper.make_tensor_value_info("age", TensorProto.INT64, ["rows"]),
            helper.make_tensor_value_info("is_new", TensorProto.BOOL, ["rows", 1]),
            helper.make_tensor_value_info("income", TensorProto.DOUBLE, ["rows", 1]),
        ],
        [helper.make_tensor_value_info("score", TensorProto.DOUBLE, ["rows", 1])],
        {"column": np.array([-1, 1])},
    )
    generator = np.random.default_rng(1)
    rows = pd.DataFrame(
        {
            "age": generator.integers(18, 99, size=40),
            "is_new": generator.integers(2, size=40) == 1,
            "income": generator.integers(1000, 9000, size=40) / 8,
        }
    )
    return (
        "flat_columns",
        model,
        rows,
        answers(["score"], rows["income"].where(rows["is_new"], rows["age"])),
    )


def build(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: dict[str, Array],
) -> ModelProto:
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="onnx.helper")


def answers(names: list[str], response) -> dict[str, Any]:
    return {"output_names": names, "response": response, "margin": None}


def normal(column_count: int) -> pd.DataFrame:
    values = np.random.default_rng(2).normal(size=(40, column_count)).round(3)
    return pd.DataFrame(values.astype(np.float32), columns=COLUMNS[:column_count])
