"""Files that are slow, wide or tall, for the journeys of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS = ("size", "weight", "age", "height")
KNOWN_COUNT = 100_000
NEIGHBOUR_COUNT = 15
WIDTH = 500
TREE_COUNT = 60


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


def write_wide_and_tall(folder: Path) -> None:
    """Write trees of 500 columns with 400 rows, and trees of four with 1,000,000 rows."""
    random = np.random.default_rng(1)
    genes = [f"gene{number:03}" for number in range(WIDTH)]
    for name, columns, row_count in (("genes", genes, 400), ("tall", COLUMNS, 1_000_000)):
        onnx.save(trees(random, len(columns)), folder / f"{name}.onnx")
        rows = random.normal(size=(row_count, len(columns)))
        np.savetxt(folder / f"{name}.csv", rows, "%.2f", ",", header=",".join(columns), comments="")


def trees(random: np.random.Generator, width: int) -> onnx.ModelProto:
    """Trees of three splits each, which all columns feed by their position."""
    splits, leaves = range(3), range(3, 7)
    nodes = [(tree, node) for tree in range(TREE_COUNT) for node in (*splits, *leaves)]
    ends = [(tree, node) for tree, node in nodes if node in leaves]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["rows"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[tree for tree, _ in nodes],
        nodes_nodeids=[node for _, node in nodes],
        nodes_featureids=[(7 * tree + 3 * node) % width for tree, node in nodes],
        nodes_values=random.normal(size=len(nodes)).tolist(),
        nodes_modes=["LEAF" if node in leaves else "BRANCH_LEQ" for _, node in nodes],
        nodes_truenodeids=[0 if node in leaves else 2 * node + 1 for _, node in nodes],
        nodes_falsenodeids=[0 if node in leaves else 2 * node + 2 for _, node in nodes],
        target_treeids=[tree for tree, _ in ends],
        target_nodeids=[node for _, node in ends],
        target_ids=[0] * len(ends),
        target_weights=random.normal(size=len(ends)).tolist(),
    )
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
