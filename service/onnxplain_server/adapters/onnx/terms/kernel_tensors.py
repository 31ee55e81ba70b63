"""Kernel tensors: products of functions of one feature each, forwards through a graph.

Each column s of such a tensor is a sum of products factor · exp(-Σ_q scale_q (u_q - z_sq)²), where
the u_q are columns of tensors whose values are each computed from one feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto
from onnx.numpy_helper import to_array

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.terms.feature_sets import SEVERAL, is_single
from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.trees.reading.onnx_nodes import Attributes, attribute, subgraphs

_MOST_PRODUCTS = 8
"""Products of which a column is a sum, and factors of each, beyond which none is followed."""


class Distances(NamedTuple):
    """Scaled squared distances of a tensor's rows from centers: (n_rows, n_centers).

    Attributes
    ----------
    tensor : str
        Of values of single features.
    centers : (n_centers, n_values)
    scale : float
    is_turned : bool
        Whether rows are the second axis.
    """

    tensor: str
    centers: Matrix
    scale: float
    is_turned: bool


class KernelProduct(NamedTuple):
    """Constant times the exponential of minus a sum of distances; a constant without distances."""

    factor: float
    distances: tuple[Distances, ...]


@dataclass(eq=False)
class KernelTensors:
    """Tensors that are made of distances, in the order in which a graph computes them.

    Attributes
    ----------
    graph : Graph
    dependence : dict of tensor name to integers
        Of the tensors before; see `read_dependence`.
    kernels : dict of tensor name to tuple of KernelProduct
        Sums of products.
    """

    graph: Graph
    dependence: dict[str, Array] = field(default_factory=dict)
    kernels: dict[str, tuple[KernelProduct, ...]] = field(default_factory=dict)
    _distances: dict[str, Distances] = field(default_factory=dict)
    _uniform: dict[str, float] = field(default_factory=dict)
    _sizes: set[str] = field(default_factory=set)

    def follow(self, node: NodeProto) -> None:
        """Follow a node, and note the dependence of its result where that is known."""
        if node.op_type == "SVMClassifier" and node.input[0] in self.dependence:
            if len(Attributes(node).texts("classlabels_strings", "classlabels_ints")) == 2:
                self.dependence[node.output[1]] = np.full((2,), SEVERAL)
            return
        self._follow_sizes(node)
        found = self._distances_of(node)
        if found is not None:
            self._distances[node.output[-1]] = found
            return
        products = [own for own in self._products_of(node) if own.factor]
        widths = {len(own.centers) for each in products for own in each.distances}
        lengths = [len(each.distances) for each in products]
        if len(widths) == 1 and max(len(lengths), *lengths) <= _MOST_PRODUCTS:
            self.kernels[node.output[0]] = tuple(products)
            self.dependence[node.output[0]] = np.full(tuple(widths), SEVERAL)

    def _constant(self, tensor: str) -> Array | None:
        """Return a constant, also one that is computed of two by a quotient."""
        values = self.graph.constant(tensor)
        node = self.graph.producer(tensor)
        if values is not None or node is None or node.op_type not in {"Div", "Mul"}:
            return values
        both = [self.graph.constant(name) for name in node.input]
        if len(both) != 2 or both[0] is None or both[1] is None:
            return None
        return np.asarray(both[0] / both[1] if node.op_type == "Div" else both[0] * both[1])

    def _number(self, tensor: str) -> float | None:
        """Return the number that all values of a tensor are."""
        if tensor in self._uniform:
            return self._uniform[tensor]
        values = self.graph.constant(tensor)
        if values is None or values.size != 1 or values.dtype.kind not in "fiu":
            return None
        return float(values.reshape(()))

    def _follow_sizes(self, node: NodeProto) -> None:
        """Follow numbers of rows, and tensors of one number that are as long as the rows."""
        names, result = [name for name in node.input if name], node.output[0]
        are_sizes = all(n in self._sizes or self.graph.constant(n) is not None for n in names)
        match node.op_type:
            case "Shape":
                self._sizes.add(result)
            case "Gather" | "Concat" if are_sizes:
                self._sizes.add(result)
            case "ConstantOfShape" if are_sizes:
                self._uniform[result] = _filling(attribute(node, "value"))
            case "Transpose" | "MatMul" | "Add" | "Sub" | "Mul":
                number = self._uniform_result(node.op_type, names)
                if number is not None:
                    self._uniform[result] = number
            case _:
                pass

    def _uniform_result(self, operator: str, names: Sequence[str]) -> float | None:
        """Return the number that all values of a result are; None where they differ."""
        numbers = [self._number(name) for name in names]
        first, last = numbers[0], numbers[-1]
        is_known = any(name in self._uniform for name in names)
        if not is_known or first is None or last is None:
            return None
        if operator == "MatMul":  # of zeros
            return None if first or last else 0.0
        changed = {"Transpose": first, "Add": first + last, "Sub": first - last}
        return changed.get(operator, first * last)

    def _distances_of(self, node: NodeProto) -> Distances | None:
        """Return the distances that a node computes, or scales."""
        if node.op_type == "Scan":
            return self._from(*node.input) if _is_loop_of_distances(node) else None
        own = next((self._distances[n] for n in node.input if n in self._distances), None)
        return None if own is None else self._changed(node, own)

    def _changed(self, node: NodeProto, own: Distances) -> Distances | None:
        """Return what a node makes of distances."""
        match node.op_type:
            case "Transpose" if attribute(node, "perm", [1, 0]) == [1, 0]:
                return own._replace(is_turned=not own.is_turned)
            case "Neg":
                return own._replace(scale=-own.scale)
            case "Mul" | "Div":
                return self._scaled(node, own)
            case "Identity":
                return own
            case _:
                return None

    def _scaled(self, node: NodeProto, own: Distances) -> Distances | None:
        first, second = node.input
        factor = self._number(second if first in self._distances else first)
        if factor is None or (node.op_type == "Div" and (second in self._distances or not factor)):
            return None
        scale = own.scale * factor if node.op_type == "Mul" else own.scale / factor
        return own._replace(scale=scale)

    def _from(self, rows: str, centers: str) -> Distances | None:
        values, features = self._constant(centers), self.dependence.get(rows)
        if values is None or features is None or values.ndim != 2 or values.dtype.kind != "f":
            return None
        if features.shape != values.shape[1:] or not is_single(features):
            return None
        return Distances(rows, values.astype(np.float64), 1.0, is_turned=True)

    def _products_of(self, node: NodeProto) -> tuple[KernelProduct, ...]:
        """Return the products of which the columns of a result are sums; () if it is none."""
        if node.op_type == "Exp" and node.input[0] in self._distances:
            own = self._distances[node.input[0]]
            is_kernel = not own.is_turned and own.scale <= 0
            product_of_one = KernelProduct(1.0, (own._replace(scale=-own.scale),))
            return (product_of_one,) if is_kernel else ()
        parts = [self._as_products(n) for n in node.input]
        if not any(n in self.kernels for n in node.input) or not all(parts):
            return ()
        match node.op_type:
            case "Identity" | "Add" | "Sum":
                return tuple(own for part in parts for own in part)
            case "Mul":
                return tuple(_times(one, two) for one, two in product(*parts))
            case _:
                return ()

    def _as_products(self, tensor: str) -> tuple[KernelProduct, ...]:
        if tensor in self.kernels:
            return self.kernels[tensor]
        number = self._number(tensor)
        return () if number is None else (KernelProduct(number, ()),)


def _is_loop_of_distances(node: NodeProto) -> bool:
    """Return whether a Scan computes squared distances, as skl2onnx writes `cdist`.

    Its state are the rows, which each turn takes one center from, squares and adds up.
    """
    graphs = list(subgraphs(node))
    listed = {content.name for content in node.attribute}
    if listed != {"body", "num_scan_inputs"} or attribute(node, "num_scan_inputs") != 1:
        return False
    body = graphs[0]
    if not len(node.input) == len(body.input) == len(body.output) == 2:
        return False
    inner = Graph(ModelProto(graph=body))
    state, center = (value.name for value in body.input)
    kept, total = (_behind_identity(inner, value.name) for value in body.output)
    reduction = inner.producer(total)
    if kept != state or reduction is None or reduction.op_type != "ReduceSumSquare":
        return False
    axes = attribute(reduction, "axes")
    if axes is None and len(reduction.input) > 1:
        axes = inner.constant(reduction.input[1])
    away = inner.producer(reduction.input[0])
    is_kept = bool(attribute(reduction, "keepdims", 1))
    is_along_row = axes is not None and list(axes) == [1] and not is_kept
    return (
        is_along_row
        and away is not None
        and away.op_type == "Sub"
        and set(away.input) == {state, center}
    )


def _times(one: KernelProduct, other: KernelProduct) -> KernelProduct:
    return KernelProduct(one.factor * other.factor, one.distances + other.distances)


def _filling(value: TensorProto | None) -> float:
    """Return the number that ConstantOfShape fills a tensor with."""
    return 0.0 if value is None else float(to_array(value).reshape(-1)[0])


def _behind_identity(graph: Graph, tensor: str) -> str:
    """Return the tensor that a tensor is a copy of."""
    node = graph.producer(tensor)
    while node is not None and node.op_type == "Identity":
        tensor = node.input[0]
        node = graph.producer(tensor)
    return tensor


def without_aligned_constants(model: ModelProto) -> ModelProto:
    """Return a copy in which constants of one number have one axis, where that changes no answer.

    skl2onnx adds a constant of shape (1, 1) to a number for each row, which makes one row of them,
    and turns it by a Reshape to (-1, 1).
    """
    changed = ModelProto()
    changed.CopyFrom(model)
    ones = {own.name: own for own in changed.graph.initializer if list(own.dims) == [1, 1]}
    turns = {own.name for own in changed.graph.initializer if _is_column(own)}
    readers: dict[str, list[NodeProto]] = {}
    for node in changed.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    results = {value.name for value in changed.graph.output}
    for name, constant in ones.items():
        added = readers.get(name, [])
        if name not in results and all(_is_turned(node, readers, results, turns) for node in added):
            constant.dims[:] = [1]
    return changed


def _is_turned(
    node: NodeProto, readers: Mapping[str, Sequence[NodeProto]], results: set[str], turns: set[str]
) -> bool:
    """Return whether the result of a sum is only turned to a column."""
    (result, *_) = node.output
    following = readers.get(result, [])
    return (
        node.op_type in {"Add", "Sub", "Mul", "Div"}
        and result not in results
        and all(own.op_type == "Reshape" and own.input[1] in turns for own in following)
    )


def _is_column(tensor: TensorProto) -> bool:
    """Return whether a shape is that of a column."""
    is_short = list(tensor.dims) == [2] and tensor.data_type == TensorProto.INT64
    return is_short and to_array(tensor).tolist() == [-1, 1]
