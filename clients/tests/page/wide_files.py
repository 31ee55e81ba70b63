"""A model of many numbers, and a table of rows for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_ROWS = 400
_PAIRS = 12
"""So many neighbours interact."""


def write(folder: Path, feature_count: int) -> None:
    """Write `wide.onnx` and `wide.csv`, whose last column is the target."""
    names = [f"measurement_{k:03d}" for k in range(feature_count)]
    onnx.save(model(feature_count), folder / "wide.onnx")
    random = np.random.default_rng(0)
    rows = random.normal(size=(_ROWS, feature_count)).astype(np.float32)
    target = rows.sum(axis=1) + random.normal(size=_ROWS)
    head = ",".join([*names, "target"])
    table = np.column_stack([rows, target])
    np.savetxt(folder / "wide.csv", table, "%.4f", ",", header=head, comments="")


def model(feature_count: int) -> onnx.ModelProto:
    """A sum of all numbers and of products of neighbours."""
    random = np.random.default_rng(1)
    weights = random.normal(size=(feature_count, 1)).astype(np.float32)
    left = np.arange(0, 2 * _PAIRS, 2, dtype=np.int64)
    constants = [
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(left, "left"),
        numpy_helper.from_array(left + 1, "right"),
        numpy_helper.from_array(np.ones((_PAIRS, 1), np.float32), "ones"),
    ]
    nodes = [
        helper.make_node("MatMul", ["rows", "weights"], ["sum"]),
        helper.make_node("Gather", ["rows", "left"], ["first"], axis=1),
        helper.make_node("Gather", ["rows", "right"], ["second"], axis=1),
        helper.make_node("Mul", ["first", "second"], ["products"]),
        helper.make_node("MatMul", ["products", "ones"], ["product"]),
        helper.make_node("Add", ["sum", "product"], ["prediction"]),
    ]
    graph = helper.make_graph(
        nodes,
        "wide",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, feature_count])],
        [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, [None, 1])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
