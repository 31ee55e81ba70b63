"""Trees made by hand, engines on them, and effects by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxplain_server.core.interfaces import ComputationHost, Host
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.kernels import summing
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble


@pytest.fixture(scope="session")
def nowhere() -> ComputationHost:
    return Host()


@pytest.fixture
def ledger(nowhere: ComputationHost) -> Ledger:
    return Ledger(nowhere)


class Tree:
    """Collects the nodes of trees: a leaf is a list of weights, a node (test, true, false).

    A test is (column, mode, threshold) or (column, mode, threshold, missing is true).
    With `shared`, what is the same object within a tree becomes one node with several parents.
    """

    def __init__(self, trees, *, shared: bool = False) -> None:
        names = ("tree", "id", "column", "mode", "threshold", "true", "false", "missing")
        self.nodes: dict[str, list[Any]] = {name: [] for name in names}
        self.leaves: list[Any] = []
        for number, tree in enumerate(trees):
            self._counter = 0
            self._known: dict[int, int] | None = {} if shared else None
            self._add(number, tree)

    def _add(self, number, tree):
        if self._known is not None and id(tree) in self._known:
            return self._known[id(tree)]
        own, self._counter = self._counter, self._counter + 1
        if self._known is not None:
            self._known[id(tree)] = own
        place = len(self.nodes["id"])
        for column in self.nodes.values():
            column.append(0)
        if isinstance(tree, list):
            self._set(place, tree=number, id=own, mode="LEAF")
            self.leaves += [(number, own, target, weight) for target, weight in enumerate(tree)]
            return own
        (column, mode, threshold, *missing), true, false = tree
        self._set(place, tree=number, id=own, column=column, mode=mode, threshold=threshold)
        self._set(place, missing=int(bool(missing and missing[0])))
        self._set(place, true=self._add(number, true), false=self._add(number, false))
        return own

    def _set(self, place, **values) -> None:
        for name, value in values.items():
            self.nodes[name][place] = value

    def attributes(self, prefix="target"):
        tree, node, target, weight = (list(column) for column in zip(*self.leaves, strict=True))
        names = {
            "nodes_treeids": "tree",
            "nodes_nodeids": "id",
            "nodes_featureids": "column",
            "nodes_truenodeids": "true",
            "nodes_falsenodeids": "false",
            "nodes_missing_value_tracks_true": "missing",
        }
        modes = [m if m == "LEAF" else f"BRANCH_{m}" for m in self.nodes["mode"]]
        return {
            **{name: self.nodes[own] for name, own in names.items()},
            "nodes_modes": modes,
            "nodes_values": [float(value) for value in self.nodes["threshold"]],
            f"{prefix}_treeids": tree,
            f"{prefix}_nodeids": node,
            f"{prefix}_ids": target,
            f"{prefix}_weights": [float(value) for value in weight],
        }


def model_of(nodes, width: int, outputs, input_type: int = TensorProto.FLOAT, constants=()):
    graph = helper.make_graph(
        nodes,
        "trees",
        [helper.make_tensor_value_info("X", input_type, [None, width])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in outputs],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.fixture
def regressor():
    """Make a TreeEnsembleRegressor of nested trees: trees, width -> ModelProto."""

    def make(trees, width, *, shared: bool = False, **attributes):
        nodes = Tree(trees, shared=shared)
        targets = 1 + max(target for *_, target, _ in nodes.leaves)
        node = helper.make_node(
            "TreeEnsembleRegressor",
            ["X"],
            ["y"],
            domain="ai.onnx.ml",
            **{"n_targets": targets, **nodes.attributes(), **attributes},
        )
        return model_of([node], width, ["y"])

    return make


@pytest.fixture
def collected():
    """The attributes of nested trees: trees, prefix -> dict."""
    return lambda trees, prefix="target", *, shared=False: Tree(trees, shared=shared).attributes(
        prefix
    )


@pytest.fixture
def model():
    """A model of given nodes."""
    return model_of


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def engine(threads, ledger: Ledger):
    """Bind an ensemble to rows: model or ensemble, rows, weights -> Exact."""

    def bind(of, rows, weights=None, pool=threads):
        ensemble = of if isinstance(of, Ensemble) else read_ensemble(of)
        assert isinstance(ensemble, Ensemble)
        dtypes = tuple(axis.dtype for axis in ensemble.axes)
        names = tuple(f"x{j}" for j in range(len(dtypes)))
        features = Features(names, tuple(np.asarray(rows, dtype=float).T), dtypes, "X")
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
        background = merge(features, weights, np.arange(len(rows)))
        count = len(ensemble.offset)
        outputs = tuple(f"y{k}" for k in range(count))
        leaves = Leaves(ensemble)
        return Exact(ensemble, leaves, background, outputs, np.arange(count), ledger, pool)

    return bind


class Brute:
    """Effects by their definitions: slow, obvious, shared with no one.

    Trees are nested as in `Tree`; a row goes down by comparing float32 values.
    """

    def __init__(self, trees, rows, weights=None) -> None:
        self.trees = trees
        self.rows = np.asarray(rows, dtype=np.float32)
        self.weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)

    def predict(self, rows):
        return np.array([sum(np.array(self.descend(t, row)) for t in self.trees) for row in rows])

    def descend(self, tree, row):
        while not isinstance(tree, list):
            (column, mode, threshold, *missing), true, false = tree
            x, t = row[column], np.float32(threshold)
            holds = {
                "LEQ": x <= t,
                "LT": x < t,
                "GTE": x >= t,
                "GT": x > t,
                "EQ": x == t,
                "NEQ": x != t,
            }[mode]
            tree = true if holds or (np.isnan(x) and missing and missing[0]) else false
        # Weights are written as float32.
        return np.array(tree, np.float32).astype(np.float64)

    def partial_dependence(self, features, points):
        """Average over the rows with some features at points: (n_points, n_outputs)."""
        effect = []
        for point in points:
            hybrid = self.rows.copy()
            hybrid[:, list(features)] = point
            effect.append(np.average(self.predict(hybrid), axis=0, weights=self.weights))
        return np.array(effect)


@pytest.fixture
def brute():
    return Brute


@pytest.fixture
def sums(threads, ledger):
    """What the view predicts for rows, given by columns: view, columns -> (n, n_outputs)."""
    pool = BlockPool(threads, ledger)

    def predict(view, columns):
        codes = np.stack([view.codes(j, column) for j, column in enumerate(columns)])
        return summing.sum_leaves(view, codes, pool) @ view.matrix.T + view.offset

    return predict
