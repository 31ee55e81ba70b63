"""Slow models as ONNX: nearest neighbours and a Gaussian process, which compare with many rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_TRAINING_ROWS, _NEIGHBOURS = 2_000, 5


def nearest_neighbours(width: int, training_rows: int = _TRAINING_ROWS) -> bytes:
    """Build the mean target of the nearest training rows."""
    tail = [
        helper.make_node("TopK", ["distance", "count"], ["_", "nearest"], axis=1, largest=0),
        helper.make_node("Gather", ["target", "nearest"], ["near"]),
        helper.make_node("ReduceMean", ["near"], ["mean"], axes=[1], keepdims=1),
    ]
    count = numpy_helper.from_array(np.array([_NEIGHBOURS]), "count")
    return _of_distances(width, training_rows, tail, "mean", [count])


def gaussian_process(width: int, training_rows: int = _TRAINING_ROWS) -> bytes:
    """Build a sum of kernels around the training rows."""
    tail = [
        helper.make_node("Mul", ["distance", "scale"], ["scaled"]),
        helper.make_node("Exp", ["scaled"], ["kernel"]),
        helper.make_node("MatMul", ["kernel", "column"], ["sum"]),
    ]
    random = np.random.default_rng(2)
    column = random.normal(size=(training_rows, 1)).astype(np.float32)
    scale = np.array([-0.5 / width], np.float32)
    more = [numpy_helper.from_array(column, "column"), numpy_helper.from_array(scale, "scale")]
    return _of_distances(width, training_rows, tail, "sum", more)


def _of_distances(
    width: int, training_rows: int, tail: list[NodeProto], output: str, more: list[TensorProto]
) -> bytes:
    """Build squared distances to the training rows, and what is made of them."""
    rows = np.random.default_rng(1).normal(size=(training_rows, width)).astype(np.float32)
    head = [
        helper.make_node("MatMul", ["X", "minus_twice"], ["product"]),
        helper.make_node("Mul", ["X", "X"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "axis"], ["own"], keepdims=1),
        helper.make_node("Add", ["product", "lengths"], ["part"]),
        helper.make_node("Add", ["part", "own"], ["distance"]),
    ]
    values: dict[str, npt.NDArray[np.generic]] = {
        "minus_twice": -2 * rows.T,
        "lengths": (rows**2).sum(axis=1)[None],
        "axis": np.array([1]),
        "target": np.sin(rows[:, 0] * rows[:, 1]) + rows[:, 2],
    }
    weights = [numpy_helper.from_array(np.ascontiguousarray(v), n) for n, v in values.items()]
    graph = helper.make_graph(
        [*head, *tail],
        "distances",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None, 1])],
        [*weights, *more],
    )
    opset = [helper.make_opsetid("", 17)]
    model: ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=9)
    content: bytes = model.SerializeToString()
    return content
