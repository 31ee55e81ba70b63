"""Small models of odd tables: a graph of ONNX over named columns, numbers or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from odd.columns import Column, Rng
from odd.ensembles import ML
from onnx import NodeProto, TensorProto, helper, numpy_helper

_TYPES = {"float": (TensorProto.FLOAT, np.float32), "double": (TensorProto.DOUBLE, np.float64)}


@dataclass(frozen=True, eq=False)
class Body:
    """A model.

    Attributes
    ----------
    content : bytes
    features : tuple of str
        Its columns, in the order of its inputs.
    type : str
        "float" or "double".
    is_matrix : bool
        Whether one input takes all of them.
    told : str
    """

    content: bytes
    features: tuple[str, ...]
    type: str
    is_matrix: bool
    told: str


class _Graph:
    """Nodes and constants of a graph under construction, on the matrix "rows"."""

    def __init__(self, rng: Rng, columns: Mapping[str, Column], kind: str) -> None:
        self.rng = rng
        self.columns = columns
        self.type, self.dtype = _TYPES[kind]
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.outputs = ["y"]

    def add(self, operator: str, taken: Sequence[str], made: str = "", **attributes: Any) -> str:
        name = made or f"t{len(self.nodes)}"
        domain = ML if operator in {"LabelEncoder", "TreeEnsembleRegressor"} else ""
        self.nodes.append(helper.make_node(operator, taken, [name], domain=domain, **attributes))
        return name

    def constant(self, value: Any, dtype: Any = None) -> str:
        name = f"k{len(self.constants)}"
        array = np.array(value, dtype or self.dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def column(self, place: int) -> str:
        return self.add("Gather", ["rows", self.constant([place], np.int64)], axis=1)

    def linear(self, scale: float = 1.0, width: int = 1) -> str:
        count = len(self.columns)
        weights = self.rng.choice([0.0, 1.0, -2.0, 0.5, 1e-3], size=(count, width)) * scale
        product = self.add("MatMul", ["rows", self.constant(weights)])
        return self.add("Add", [product, self.constant(np.full(width, 0.25 * scale))])

    def product(self) -> str:
        first, second = self.column(0), self.column(len(self.columns) - 1)
        return self.add("Add", [self.add("Mul", [first, second]), self.linear()])

    def clipped(self) -> str:
        return self.add("Tanh", [self.product()])

    def huge(self) -> str:
        return self.linear(1e160 if self.dtype == np.float64 else 1e30)

    def steps(self) -> str:
        """Return a sum of steps, which takes any number; trees by other operators."""
        texts = []
        for place in range(len(self.columns)):
            above = self.add("Less", [self.constant([self.threshold(place)]), self.column(place)])
            ones = [self.constant([float(self.rng.integers(-3, 4))]), self.constant([0.0])]
            texts.append(self.add("Where", [above, *ones]))
        return self.add("Sum", texts)

    def threshold(self, place: int) -> float:
        """Return a number among those of a column, or beside them."""
        truth = [*self.columns.values()][place].truth
        numbers = np.zeros(1) if truth.dtype == object else truth[np.isfinite(truth)]
        chosen = float(self.rng.choice(numbers)) if numbers.size else 0.0
        with np.errstate(over="ignore"):
            return chosen if np.isfinite(np.array(chosen, self.dtype)) else 0.0

    def same(self) -> str:
        """Return 7 for all rows."""
        never = self.add("Less", [self.column(0), self.column(0)])
        zero = self.add("Cast", [never], to=self.type)
        return self.add("Add", [zero, self.constant([7.0])])

    def classes(self) -> str:
        return self.add("Softmax", [self.linear(width=2)])

    def trees(self) -> str:
        """Return a sum of trees of depth 2, of which some do not use all columns."""
        nodes: dict[str, list[Any]] = {name: [] for name in _NODES}
        leaves: list[tuple[int, int, float]] = []
        for tree in range(3):
            for node in range(7):
                is_leaf = node > 2
                place = int(self.rng.integers(len(self.columns)))
                row = (
                    tree, node, 0 if is_leaf else place, "LEAF" if is_leaf else "BRANCH_LEQ",
                    0.0 if is_leaf else self.threshold(place),
                    0 if is_leaf else 2 * node + 1, 0 if is_leaf else 2 * node + 2,
                    int(self.rng.integers(2)),
                )  # fmt: skip
                for name, value in zip(_NODES, row, strict=True):
                    nodes[name].append(value)
                if is_leaf:
                    leaves.append((tree, node, float(self.rng.integers(-4, 5)) / 2))
        return self.add("TreeEnsembleRegressor", ["rows"], **self.attributes(nodes, leaves))

    def attributes(
        self, nodes: dict[str, list[Any]], leaves: list[tuple[int, int, float]]
    ) -> dict[str, Any]:
        """Write trees, of double by tensors."""
        trees, numbers, weights = (list(column) for column in zip(*leaves, strict=True))
        found: dict[str, Any] = {f"nodes_{n}": v for n, v in nodes.items() if n != "values"}
        found |= {"target_treeids": trees, "target_nodeids": numbers, "n_targets": 1}
        found["target_ids"] = [0] * len(trees)
        for name, values in (("nodes_values", nodes["values"]), ("target_weights", weights)):
            if self.dtype == np.float64:
                found[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values))
            else:
                found[name] = values
        return found


_NODES = (
    "treeids", "nodeids", "featureids", "modes", "values",
    "truenodeids", "falsenodeids", "missing_value_tracks_true",
)  # fmt: skip
_MOST = float(np.finfo(np.float32).max)
_KINDS = (
    "linear", "linear", "product", "clipped", "huge", "steps", "same", "classes", "trees",
    "steps", "trees", "trees", "two",
)  # fmt: skip


def draw_body(rng: Rng, columns: Mapping[str, Column]) -> Body:
    """Draw a model over columns."""
    kind, element = _choose(rng, columns)
    graph = _Graph(rng, columns, element)
    is_matrix = not any(c.is_text for c in columns.values()) and rng.random() < 0.8
    inputs = _inputs(graph, columns, is_matrix=is_matrix)
    output = _TYPES["float"][0] if kind == "trees" else graph.type
    stem = "y" if is_matrix else "answer"
    if kind == "two":
        first, second = graph.linear(width=2), graph.steps()
        outputs = [(stem, first, output), (f"{stem}_0", second, output)]
    else:
        outputs = [(stem, getattr(graph, kind)(), output)]
    for name, made, _ in outputs:
        graph.add("Identity", [made], name)
    told = [helper.make_tensor_value_info(name, own, [None, None]) for name, _, own in outputs]
    made_graph = helper.make_graph(graph.nodes, "odd", inputs, told, graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    model = helper.make_model(made_graph, opset_imports=opsets, ir_version=8)
    content = model.SerializeToString()
    assert isinstance(content, bytes)
    return Body(content, tuple(columns), element, is_matrix, f"{kind} of {element}")


def _choose(rng: Rng, columns: Mapping[str, Column]) -> tuple[str, str]:
    """Choose the kind and the type, mostly ones that take the values."""
    numbers = [c.truth for c in columns.values() if not c.is_text and c.kind != "date"]
    values = np.concatenate([np.zeros(1), *numbers])
    is_odd, is_large = (
        not np.isfinite(values).all(),
        np.abs(values[np.isfinite(values)]).max() > _MOST,
    )
    kinds = ("steps", "trees") if is_odd and rng.random() < 0.85 else _KINDS
    types = ("double",) if is_large and rng.random() < 0.85 else ("float", "float", "double")
    return str(rng.choice(kinds)), str(rng.choice(types))


def _inputs(graph: _Graph, columns: Mapping[str, Column], *, is_matrix: bool) -> list[Any]:
    """Make the inputs, one matrix or a column each, and the matrix "rows" of them."""
    if is_matrix:
        graph.add("Identity", ["X"], "rows")
        return [helper.make_tensor_value_info("X", graph.type, [None, len(columns)])]
    parts = []
    for name, column in columns.items():
        part = name
        if column.is_text:
            part = graph.add("LabelEncoder", [name], **_codes(column))
            part = graph.add("Cast", [part], to=graph.type)
        parts.append(part)
    graph.add("Concat", parts, "rows", axis=1)
    types = [TensorProto.STRING if c.is_text else graph.type for c in columns.values()]
    return [
        helper.make_tensor_value_info(name, own, [None, 1])
        for name, own in zip(columns, types, strict=True)
    ]


def _codes(column: Column) -> dict[str, Any]:
    texts = sorted({text for text in column.truth.tolist() if text}) or ["none"]
    values = [float(k) for k in range(1, len(texts) + 1)]
    return {"keys_strings": texts, "values_floats": values, "default_float": -1.0}
