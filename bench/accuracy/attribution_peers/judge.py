"""Shapley values and interactions by brute force, from the worths of all coalitions.

Interventional worths are the trained model's own predictions of mixed rows. Path-dependent worths
are read from the trees of the exported model, by the definition in docs/methods/attributions.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, helper

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[Any]
Predict = Callable[[Rows], Vector]


def coalitions(count: int) -> npt.NDArray[np.bool_]:
    """Return the members of all coalitions: (2^count, count); bit j of the index is player j."""
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(bool)


def interventional(
    predict: Predict, row: Rows, background: Rows, members: npt.NDArray[np.bool_]
) -> Vector:
    """Return the worth of coalitions, by predicting: (n_coalitions,).

    `members` (n_coalitions, n_columns) tells the columns that take the row's own values.
    """
    mixed = np.where(members[:, None, :], row, background)
    worths = predict(mixed.reshape(-1, len(row)))
    return np.asarray(worths.reshape(len(members), -1).mean(axis=1, dtype=np.float64))


def shapley(worths: Vector, count: int) -> Vector:
    """Return the players' Shapley values: (count,)."""
    index = np.arange(2**count)
    sizes = coalitions(count).sum(axis=1)
    share = np.array([factorial(s) * factorial(count - s - 1) for s in range(count)])
    values = np.empty(count)
    for j in range(count):
        without = index[index >> j & 1 == 0]
        gains = worths[without | 1 << j] - worths[without]
        values[j] = share[sizes[without]] / factorial(count) @ gains
    return values


def interactions(worths: Vector, count: int) -> Vector:
    """Return the Shapley interactions of pairs, in ascending order: (n_pairs,)."""
    index = np.arange(2**count)
    sizes = coalitions(count).sum(axis=1)
    share = np.array([factorial(s) * factorial(count - s - 2) for s in range(count - 1)])
    values = []
    for j, k in combinations(range(count), 2):
        first, second = 1 << j, 1 << k
        without = index[index & (first | second) == 0]
        gains = worths[without | first | second] + worths[without]
        gains -= worths[without | first] + worths[without | second]
        values.append(share[sizes[without]] / factorial(count - 1) @ gains)
    return np.array(values)


@dataclass(frozen=True)
class Trees:
    """Nodes of an exported ensemble, with the rows of the background counted by descent."""

    nodes: dict[tuple[int, int], dict[str, Any]]
    leaves: dict[tuple[int, int], float]
    background: Rows

    @classmethod
    def read(cls, model: ModelProto, background: Rows) -> Trees:
        """Read the one tree ensemble of a model; its last output, as the sum of leaves."""
        (node,) = (each for each in model.graph.node if each.op_type.startswith("TreeEnsemble"))
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        names = [name for name in given if name.startswith("nodes_")]
        nodes = {
            (tree, place): {name[6:]: given[name][k] for name in names if len(given[name])}
            for k, (tree, place) in enumerate(
                zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True)
            )
        }
        kind = "class" if "class_ids" in given else "target"
        columns = [given[f"{kind}_{name}"] for name in ("treeids", "nodeids", "ids", "weights")]
        last = max(columns[2])
        scale = 1 / len(set(columns[0])) if given.get("aggregate_function") == b"AVERAGE" else 1.0
        leaves = {
            (tree, place): weight * scale
            for tree, place, output, weight in zip(*columns, strict=True)
            if output == last
        }
        return cls(nodes, leaves, background.astype(np.float32))

    def worths(self, row: Rows, members: npt.NDArray[np.bool_]) -> Vector:
        """Return the path-dependent worth of coalitions, less the model's constant."""
        reach = np.arange(len(self.background))
        trees = {tree for tree, _ in self.nodes}
        own = row.astype(np.float32)
        return sum((self._worth((tree, 0), reach, own, members) for tree in trees), np.zeros(1))

    def _worth(
        self, at: tuple[int, int], reach: Rows, row: Rows, members: npt.NDArray[np.bool_]
    ) -> Vector:
        if self.nodes[at]["modes"] == b"LEAF":
            return np.full(len(members), self.leaves.get(at, 0.0))
        split = self._split(at)
        goes = self._goes(split, self.background[reach])
        share = goes.mean() if len(reach) else 0.5
        ends = (split[0]["truenodeids"], split[-1]["falsenodeids"])
        ways = [
            self._worth((at[0], end), reach[goes == is_true], row, members)
            for end, is_true in zip(ends, (True, False), strict=True)
        ]
        own = ways[0] if self._goes(split, row[None])[0] else ways[1]
        both = share * ways[0] + (1 - share) * ways[1]
        return np.where(members[:, split[0]["featureids"]], own, both)

    def _split(self, at: tuple[int, int]) -> list[dict[str, Any]]:
        """Return the nodes of a split: several that lead to one child are a set of categories."""
        split = [self.nodes[at]]
        while split[-1]["modes"] == b"BRANCH_EQ":
            following = self.nodes[at[0], split[-1]["falsenodeids"]]
            alike = ("modes", "featureids", "truenodeids")
            if any(following[name] != split[0][name] for name in alike):
                break
            split.append(following)
        return split

    @staticmethod
    def _goes(split: list[dict[str, Any]], rows: Rows) -> npt.NDArray[np.bool_]:
        """Tell which rows go the way of truth at any node of a split."""
        compare = {b"BRANCH_LEQ": np.less_equal, b"BRANCH_LT": np.less, b"BRANCH_EQ": np.equal,
                   b"BRANCH_GT": np.greater, b"BRANCH_GTE": np.greater_equal}  # fmt: skip
        goes = np.zeros(len(rows), dtype=bool)
        for node in split:
            values = rows[:, node["featureids"]]
            goes |= compare[node["modes"]](values, np.float32(node["values"]))
            goes |= np.isnan(values) & bool(node.get("missing_value_tracks_true", 0))
        return goes
