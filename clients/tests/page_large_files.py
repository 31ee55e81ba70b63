"""Files that are slow, wide or tall, for the journeys of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS = ("size", "weight", "age", "height")
KNOWN_COUNT = 100_000
NEIGHBOUR_COUNT = 15


def write_neighbours(folder: Path) -> None:
    """Write a model that compares each row with 100,000 others, and a table of 2,000 rows."""
    random = np.random.default_rng(0)
    known = random.normal(size=(KNOWN_COUNT, len(COLUMNS))).astype(np.float32)
    onnx.save(neighbours(known, np.sin(known.sum(1))), folder / "neighbours.onnx")
    rows = random.normal(size=(2_000, len(COLUMNS)))
    header = ",".join(COLUMNS)
    np.savetxt(folder / "neighbours.csv", rows, "%.3f", ",", header=header, comments="")


def neighbours(known: np.ndarray, values: np.ndarray) -> onnx.ModelProto:
    """Mean of the values of the nearest known rows; an input for each column."""
    constants = {
        "twice": -2 * known.T,
        "squares": (known**2).sum(1, keepdims=True).T,
        "values": values.astype(np.float32),
        "count": np.array([NEIGHBOUR_COUNT]),
    }
    nodes = [
        helper.make_node("Concat", [*COLUMNS], ["rows"], axis=1),
        helper.make_node("MatMul", ["rows", "twice"], ["products"]),
        # But for the square of the row itself, which orders nothing.
        helper.make_node("Add", ["products", "squares"], ["distances"]),
        helper.make_node("TopK", ["distances", "count"], ["_", "nearest"], axis=1, largest=0),
        helper.make_node("Gather", ["values", "nearest"], ["found"]),
        helper.make_node("ReduceMean", ["found"], ["mean"], axes=[1], keepdims=1),
    ]
    graph = helper.make_graph(
        nodes,
        "neighbours",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in COLUMNS],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(np.ascontiguousarray(v), name) for name, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
