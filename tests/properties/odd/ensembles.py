"""Tree ensembles that no exporter writes but ONNX allows, drawn by a seed, with rows to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
_LINKS = ["NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
_MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
_MEMBER = 6
_THRESHOLDS = np.array([0.0, -0.0, 1e-45, 0.1, 0.5, 1, 2, 3, 4, 5, 31, 32, 33, 59, -1, -2.5, 1e30])
_WEIGHTS = np.array([0.0, 0.25, 0.5, 0.5, 1.0, 1.5, -0.25, -0.5, -1.0, 3.0])
_SETS: list[list[float]] = [
    [1, 2],
    [0, 3, 30],
    [0.5, 2, 2],
    [4],
    [31, 1],
    [-1, 4],
    [59, 0, 100],
    [*range(1, 40, 3), 59],
    [*range(0, 64, 2)],
]
_ODD = np.array([np.nan, np.inf, -np.inf, -0.5, 0.75, 1.5, 3.4, 30.5, 59.5, 59.0, -1.25, 7.0, 1e10])
_TYPES = {
    "float": (TensorProto.FLOAT, np.float32),
    "double": (TensorProto.DOUBLE, np.float64),
    "int64": (TensorProto.INT64, np.int64),
    "int32": (TensorProto.INT32, np.int32),
}
_Leaf = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Node:
    """A test and its two branches, or a leaf with weights of targets."""

    column: int = 0
    mode: int = 0
    threshold: float = 0.0
    is_missing_true: bool = False
    members: tuple[float, ...] = ()
    true: Node | None = None
    false: Node | None = None
    weights: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Odd:
    """A model, what it is made of, and rows that reach its special cases.

    Attributes
    ----------
    model : ModelProto
    rows : (n_rows, n_features)
        In the model's type.
    told : str
        Operator, type and attributes that are not lists of nodes.
    """

    model: ModelProto
    rows: np.ndarray[Any, Any]
    told: str


class _Draw:
    """Draws one model."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.operator = self.pick("TreeEnsembleRegressor", "TreeEnsembleClassifier", "TreeEnsemble")
        types = ["float", "float", "double"]
        types += ["int64", "int32"] if self.operator == "TreeEnsembleClassifier" else []
        self.type = self.pick(*types)
        self.width = int(self.rng.integers(1, 4))
        self.count = int(self.pick(1, 2, 2, 2, 3))
        self.fullness = self.pick(1.0, 1.0, 0.8, 0.5)
        """Chance that a leaf has a weight for a target."""
        self.used = self.targets()
        self.sign = self.pick(0, 0, 1)
        self.columns_are_sets = self.rng.random() < 0.3

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def targets(self) -> list[int]:
        """Return the targets that leaves may have weights for."""
        if self.count > 1 and self.rng.random() < 0.3:
            return [int(self.rng.integers(self.count))]
        return [*range(self.count)]

    def tree(self, depth: int) -> Node:
        if not depth or self.rng.random() < 0.15:
            return self.leaf()
        mode, threshold, members = self.test()
        node = Node(
            column=int(self.rng.integers(self.width)),
            mode=mode,
            threshold=threshold,
            is_missing_true=bool(self.rng.random() < 0.3),
            members=tuple(members),
            true=self.tree(depth - 1),
            false=self.tree(depth - 1),
        )
        return self.chained(node) if mode in {4, _MEMBER} and self.rng.random() < 0.5 else node

    def chained(self, node: Node) -> Node:
        """Put a node behind another test, with a true branch that is the same or looks so."""
        mode = self.pick(4, _MEMBER) if self.operator == "TreeEnsemble" else 4
        members = self.pick(*_SETS) if mode == _MEMBER else []
        threshold = float(self.rng.integers(0, 6))
        missing = node.is_missing_true if self.rng.random() < 0.8 else not node.is_missing_true
        true = node.true if self.rng.random() < 0.5 else self.lookalike(node.true)
        return Node(node.column, mode, threshold, missing, tuple(members), true, node)

    def lookalike(self, node: Node | None) -> Node | None:
        """Copy a leaf with its first weight, for another target."""
        if node is None or node.true or not node.weights:
            return node
        (_, weight), *others = node.weights
        return replace(node, weights=((self.pick(*self.used), weight), *others))

    def test(self) -> tuple[int, float, list[float]]:
        if self.operator == "TreeEnsemble" and (self.columns_are_sets or self.rng.random() < 0.2):
            return _MEMBER, 0.0, self.pick(*_SETS)
        if self.rng.random() < 0.3:
            return 4, float(self.rng.integers(0, 6)), []
        return int(self.rng.integers(6)), float(self.pick(*_THRESHOLDS)), []

    def leaf(self) -> Node:
        weights: _Leaf = []
        for target in self.used:
            if self.rng.random() < self.fullness:
                weights.append((target, self.weight()))
            if weights and self.rng.random() < 0.03:
                weights.append((target, self.weight()))
        if self.operator == "TreeEnsemble":  # which has one weight for each leaf
            weights = [(self.pick(*self.used), self.weight())]
        return Node(weights=tuple(weights), threshold=self.pick(0.0, 0.0, 0.0, 7.0))

    def weight(self) -> float:
        weight = float(self.pick(*_WEIGHTS))
        return abs(weight) if self.sign else weight

    def rows(self, trees: list[Node]) -> np.ndarray[Any, Any]:
        """Draw each column by itself from values at, beside and between those that tests know."""
        dtype = _TYPES[self.type][1]
        known: list[float] = [0.0, 1.0, 2.0]
        stack = [*trees]
        while stack:
            node = stack.pop()
            known += [node.threshold, *node.members]
            stack += [child for child in (node.true, node.false) if child is not None]
        values = np.array(known)
        if np.issubdtype(dtype, np.integer):
            pool = np.concatenate([values, values - 1, values + 1]).clip(-(2**30), 2**30)
        else:
            near = values.astype(dtype)
            low, high = (np.nextafter(near, np.array(end, dtype)) for end in (-np.inf, np.inf))
            pool = np.concatenate([near, low, high, _ODD.astype(dtype)])
        return self.rng.choice(pool, (60, self.width)).astype(dtype)


def draw(seed: int) -> Odd:
    """Draw a model and rows."""
    drawn = _Draw(seed)
    trees = [drawn.tree(int(drawn.pick(1, 2, 3))) for _ in range(int(drawn.pick(1, 2, 2, 4)))]
    options = _options(drawn)
    if drawn.operator == "TreeEnsemble":
        attributes = _numbered(drawn, trees)
        options["post_transform"] = _LINKS[1:].index(options["post_transform"])
        options["aggregate_function"] = ["AVERAGE", "SUM", "MIN", "MAX"].index(
            options["aggregate_function"]
        )
    else:
        attributes = _named(drawn, trees)
    follower = drawn.pick(*5 * [""], "Exp", "Affine") if "Classifier" not in drawn.operator else ""
    told = f"{drawn.operator} of {drawn.type}, {drawn.count} columns {drawn.used} {follower}"
    told += f" { ({k: v for k, v in options.items() if not k.startswith('class')}) }"
    model = _model(drawn, attributes | options, follower)
    return Odd(model, drawn.rows(trees), told)


def _options(drawn: _Draw) -> dict[str, Any]:
    """Draw the attributes beside the trees."""
    options: dict[str, Any] = {"post_transform": drawn.pick(*_LINKS)}
    base = [float(drawn.pick(*_WEIGHTS)) for _ in range(drawn.count)]
    if drawn.operator == "TreeEnsembleClassifier":
        labels = [f"class {k}" for k in range(drawn.count)]
        is_text = drawn.rng.random() < 0.5
        names = "classlabels_strings" if is_text else "classlabels_int64s"
        options[names] = labels if is_text else [*range(drawn.count)]
        base = base[: int(drawn.pick(1, drawn.count))] if drawn.count <= 2 else base
    else:
        options |= {"n_targets": drawn.count}
        options["aggregate_function"] = drawn.pick("SUM", "SUM", "SUM", "AVERAGE", "MIN", "MAX")
    if drawn.operator != "TreeEnsemble" and drawn.rng.random() < 0.6:
        if drawn.type == "double" and drawn.rng.random() < 0.7:
            options["base_values_as_tensor"] = numpy_helper.from_array(np.array(base))
        else:
            options["base_values"] = base
    return options


def _named(drawn: _Draw, trees: list[Node]) -> dict[str, Any]:
    """Write the trees as a TreeEnsembleRegressor or -Classifier has them."""
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    nodes: dict[str, list[Any]] = {name: [] for name in (*names, "missing")}
    weights: list[tuple[int, int, int, float]] = []

    def add(node: Node, tree: int, numbers: dict[int, int]) -> int:
        if id(node) in numbers:
            return numbers[id(node)]
        own = numbers[id(node)] = len(numbers)
        place = len(nodes["nodeids"])
        mode = f"BRANCH_{_MODES[node.mode]}" if node.true else "LEAF"
        missing = int(node.is_missing_true)
        row = (tree, own, node.column, mode, node.threshold, 0, 0, missing)
        for column, value in zip(nodes.values(), row, strict=True):
            column.append(value)
        weights.extend((tree, own, target, weight) for target, weight in node.weights)
        if node.true and node.false:
            nodes["truenodeids"][place] = add(node.true, tree, numbers)
            nodes["falsenodeids"][place] = add(node.false, tree, numbers)
        return own

    for number, tree in enumerate(trees):
        add(tree, number, {})
    weights = weights or [(0, nodes["modes"].index("LEAF"), 0, 1.0)]
    stem = "class" if drawn.operator == "TreeEnsembleClassifier" else "target"
    own = [list(column) for column in zip(*weights, strict=True)]
    attributes: dict[str, Any] = {
        f"nodes_{name}": nodes[name] for name in names if name != "values"
    }
    attributes |= {f"{stem}_{name}": own[i] for i, name in enumerate(("treeids", "nodeids", "ids"))}
    if drawn.rng.random() < 0.7:
        attributes["nodes_missing_value_tracks_true"] = nodes["missing"]
    is_tensor = drawn.type == "double" and drawn.rng.random() < 0.7
    for name, values in (("nodes_values", nodes["values"]), (f"{stem}_weights", own[3])):
        if is_tensor:
            attributes[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values))
        else:
            attributes[name] = [float(value) for value in values]
    return attributes


def _numbered(drawn: _Draw, trees: list[Node]) -> dict[str, Any]:
    """Write the trees as a TreeEnsemble of ai.onnx.ml 5 has them."""
    dtype = _TYPES[drawn.type][1]
    inner: list[Node] = []
    children: list[list[tuple[int, int]]] = []
    leaves: list[tuple[int, float]] = []

    def add(node: Node) -> tuple[int, int]:
        """Add a node, and return its number and whether it is a leaf."""
        if not (node.true and node.false):
            leaves.append(node.weights[0])
            return len(leaves) - 1, 1
        own = len(inner)
        inner.append(node)
        children.append([])
        children[own] = [add(node.true), add(node.false)]
        if not node.true.true and not own and drawn.rng.random() < 0.1:
            children[own][1] = children[own][0]  # one leaf for both branches
        return own, 0

    roots = []
    for tree in trees:
        root = tree if tree.true else Node(true=tree, false=drawn.leaf())
        roots.append(add(root)[0])
    members = [[*node.members, np.nan] for node in inner if node.mode == _MEMBER]
    tensors = {
        "nodes_modes": np.array([node.mode for node in inner], np.uint8),
        "nodes_splits": np.array([node.threshold for node in inner], dtype),
        "leaf_weights": np.array([weight for _, weight in leaves], dtype),
    }
    if members:
        tensors["membership_values"] = np.concatenate(members).astype(dtype)
    attributes: dict[str, Any] = {
        "tree_roots": roots,
        "nodes_featureids": [node.column for node in inner],
        "leaf_targetids": [target for target, _ in leaves],
    }
    for side, name in enumerate(("true", "false")):
        attributes[f"nodes_{name}nodeids"] = [pair[side][0] for pair in children]
        attributes[f"nodes_{name}leafs"] = [pair[side][1] for pair in children]
    if drawn.rng.random() < 0.7:
        missing = [int(node.is_missing_true) for node in inner]
        attributes["nodes_missing_value_tracks_true"] = missing
    return attributes | {name: numpy_helper.from_array(a) for name, a in tensors.items()}


def _model(drawn: _Draw, attributes: dict[str, Any], follower: str) -> ModelProto:
    is_classifier = drawn.operator == "TreeEnsembleClassifier"
    outputs = ["label", "y"] if is_classifier else ["y"]
    last = drawn.operator == "TreeEnsemble" and drawn.type == "double"
    score = TensorProto.DOUBLE if last else TensorProto.FLOAT
    nodes = [helper.make_node(drawn.operator, ["X"], outputs, domain=ML, **attributes)]
    constants = []
    if follower:
        dtype = np.float64 if last else np.float32
        nodes[0].output[0] = "sum"
        made = {
            "Exp": [helper.make_node("Exp", ["sum"], ["y"])],
            "Affine": [
                helper.make_node("Mul", ["sum", "half"], ["product"]),
                helper.make_node("Add", ["product", "half"], ["y"]),
            ],
        }
        nodes += made[follower]
        constants = [numpy_helper.from_array(np.array([0.5], dtype), "half")]
    label = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
    typed = [helper.make_tensor_value_info("y", score, [None, None])]
    if is_classifier:
        typed.insert(0, helper.make_tensor_value_info("label", label, [None]))
    graph = helper.make_graph(
        nodes,
        "odd",
        [helper.make_tensor_value_info("X", _TYPES[drawn.type][0], [None, drawn.width])],
        typed,
        constants,
    )
    version = 5 if drawn.operator == "TreeEnsemble" else 3
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
