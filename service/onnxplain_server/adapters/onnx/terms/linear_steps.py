"""Linear operators: how coefficients of an output pass on to the inputs, and what constants add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.precision import FLOAT32
from onnxplain_server.adapters.onnx.terms.dependence import constant_shape
from onnxplain_server.adapters.onnx.terms.operators import move_of, reduced_axes
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.onnx_nodes import ML, Attributes, column_count, link_name


@dataclass(eq=False)
class Coefficients:
    """Coefficients of affine functions for the values of a tensor's rows.

    Attributes
    ----------
    signed, absolute : (n_results, *shape of a row)
        The coefficients, and sums of products of absolute coefficients on all ways, of which the
        rounding error of the sum is a multiple.
    """

    signed: Array
    absolute: Array

    def __add__(self, other: Coefficients) -> Coefficients:
        return Coefficients(self.signed + other.signed, self.absolute + other.absolute)

    def map(self, function: Callable[[Array], Array]) -> Coefficients:
        """Apply a function that is linear with coefficients of 0 and 1."""
        return Coefficients(function(self.signed), function(self.absolute))


@dataclass(eq=False)
class AffineSum:
    """Affine functions of tensors.

    Attributes
    ----------
    parts : dict of tensor name to Coefficients
    offset, absolute_offset : (n_results,)
    addition_count : int
        Bound of the additions and multiplications on any way from a part to a result.
    rounding : float
        Relative error of a factor that the runtime rounds to float32 whatever the model's type.
    """

    parts: dict[str, Coefficients]
    offset: Vector
    absolute_offset: Vector
    addition_count: int = 0
    rounding: float = 0.0

    def start_again(self) -> AffineSum:
        """Return functions of no tensor that are 0."""
        return AffineSum({}, np.zeros_like(self.offset), np.zeros_like(self.offset))

    def add(self, other: AffineSum) -> None:
        """Add what constants give."""
        self.offset += other.offset
        self.absolute_offset += other.absolute_offset
        self.addition_count += other.addition_count
        self.rounding = max(self.rounding, other.rounding)


Passed: TypeAlias = list[tuple[str, Coefficients]]
"""Coefficients for inputs."""

Step: TypeAlias = Callable[[RowOperator, Mapping[str, Array], Coefficients, AffineSum], "Passed"]
"""Passes coefficients of an output on to the inputs, and adds what constants give."""


def moved_back(
    operator: RowOperator, dependence: Mapping[str, Array], output: int, own: Coefficients
) -> Passed:
    """Give each coefficient to the place that its value came from."""
    move = move_of(operator)
    assert move is not None  # noqa: S101 - by the caller
    names = [name for name in operator.node.input if name in dependence]
    sizes = [dependence[name].size for name in names]
    ends = np.cumsum(sizes)
    places = [
        np.arange(end - size, end).reshape(dependence[name].shape)
        for name, size, end in zip(names, sizes, ends, strict=True)
    ]
    came_from = move(operator, places)[output].reshape(-1)

    def back(values: Array) -> Array:
        total = np.zeros((int(ends[-1]), len(values)))
        np.add.at(total, came_from, values.reshape(len(values), -1).T)
        return np.ascontiguousarray(total.T)

    total = own.map(back)
    return [
        (name, _part(total, slice(end - size, end), dependence[name].shape))
        for name, size, end in zip(names, sizes, ends, strict=True)
    ]


def _part(total: Coefficients, places: slice, shape: tuple[int, ...]) -> Coefficients:
    return total.map(lambda values: values[:, places].reshape(len(values), *shape))


def _added(signs: Callable[[int, int], float]) -> Step:
    """Handle sums of tensors and constants, with factors by position and number of inputs."""

    def step(
        operator: RowOperator, dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
    ) -> Passed:
        names = list(operator.node.input)
        found.addition_count += len(names)
        passed = []
        for i, name in enumerate(names):
            factor = signs(i, len(names))
            scaled = Coefficients(factor * own.signed, abs(factor) * own.absolute)
            if name in dependence:
                shape = dependence[name].shape
                passed.append((name, scaled.map(partial(_unbroadcast, shape=shape))))
            else:
                _add_constant(scaled, operator.constant(i), found)
        return passed

    return step


def _unbroadcast(values: Array, shape: tuple[int, ...]) -> Array:
    """Add up coefficients of values that were repeated: (n, *shape of a row)."""
    if values.ndim - 1 != len(shape):
        raise ValueError("an operator aligns rows with columns")
    axes = tuple(i + 1 for i, size in enumerate(shape) if size != values.shape[i + 1])
    total: Array = values.sum(axes, keepdims=True)
    return total


def _add_constant(own: Coefficients, constant: Array, found: AffineSum) -> None:
    rank = own.signed.ndim - 1
    row = constant.reshape(constant_shape(constant, rank)).astype(np.float64)
    axes = tuple(range(1, rank + 1))
    found.offset += (own.signed * row).sum(axes)
    found.absolute_offset += (own.absolute * np.abs(row)).sum(axes)


def _scaled_by(power: int) -> Step:
    """Handle products with a constant, and quotients by one."""

    def step(
        operator: RowOperator, dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
    ) -> Passed:
        is_varying = [name in dependence for name in operator.node.input]
        if is_varying == [False, True] and power > 0:
            varying, constant = operator.node.input[1], operator.constant(0)
        elif is_varying == [True, False]:
            varying, constant = operator.node.input[0], operator.constant(1)
        else:
            raise ValueError(f"its {operator.node.op_type} combines two tensors of features")
        found.addition_count += 1
        if constant.size == 1 and constant.dtype != np.float32:
            found.rounding = FLOAT32  # the runtime makes it an attribute of a product beside it
        rank = own.signed.ndim - 1
        factors = constant.reshape(constant_shape(constant, rank)).astype(np.float64) ** power
        if not np.isfinite(factors).all():
            raise ValueError(f"its {operator.node.op_type} has a factor that is not finite")
        shape = dependence[varying].shape
        scaled = Coefficients(own.signed * factors, own.absolute * np.abs(factors))
        return [(varying, scaled.map(lambda values: _unbroadcast(values, shape)))]

    return step


def _scaler(
    operator: RowOperator, _dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    attributes = Attributes(operator.node)
    offset, scale = attributes.numbers("offset"), attributes.numbers("scale")
    scaled = Coefficients(own.signed * scale, own.absolute * np.abs(scale))
    _add_constant(scaled, -offset, found)
    found.addition_count += 2
    return [(operator.node.input[0], scaled)]


def _reduced(
    operator: RowOperator, dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    name = operator.node.input[0]
    shape = dependence[name].shape
    axes = reduced_axes(operator, len(shape))
    count = int(np.prod([shape[axis] for axis in axes]))
    found.addition_count += count
    factor = 1 / count if operator.node.op_type == "ReduceMean" else 1.0

    def back(values: Array) -> Array:
        kept = values
        if not operator.value("keepdims", 1):
            kept = np.expand_dims(values, tuple(axis + 1 for axis in axes))
        return np.broadcast_to(factor * kept, (len(values), *shape))

    return [(name, own.map(back))]


def _product(
    operator: RowOperator, _dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    """Handle MatMul and Gemm by a constant matrix."""
    matrix = operator.constant(1).astype(np.float64)
    alpha, beta = (float(str(operator.value(name, 1.0))) for name in ("alpha", "beta"))
    matrix = alpha * (matrix.T if operator.value("transB", 0) else matrix)
    if len(operator.node.input) > 2 and operator.node.input[2]:
        _add_constant(own, beta * operator.constant(2).astype(np.float64), found)
    return _by_matrix(operator, own, matrix, found)


def _regressor(
    operator: RowOperator, _dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    if link_name(operator.node) != "NONE":
        raise ValueError(f"its LinearRegressor goes through {link_name(operator.node)}")
    attributes, count = Attributes(operator.node), column_count(operator.node)
    intercepts = attributes.numbers("intercepts")
    if len(intercepts) == count:  # the runtime ignores intercepts of another number
        _add_constant(own, intercepts, found)
    matrix = attributes.numbers("coefficients").reshape(count, -1).T
    return _by_matrix(operator, own, matrix, found)


def _classifier(
    operator: RowOperator, _dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    matrix, intercepts = linear_scores(operator.node)
    if link_name(operator.node) != "NONE" or len(intercepts) != own.signed.shape[-1]:
        raise ValueError("its LinearClassifier gives other scores than its sums")
    _add_constant(own, intercepts, found)
    return _by_matrix(operator, own, matrix.T, found)


def linear_scores(node: NodeProto) -> tuple[Matrix, Vector]:
    """Return coefficients, (n_scores, n_columns), and intercepts of a LinearClassifier."""
    attributes = Attributes(node)
    intercepts = attributes.numbers("intercepts")
    return attributes.numbers("coefficients").reshape(len(intercepts), -1), intercepts


def _by_matrix(
    operator: RowOperator, own: Coefficients, matrix: Matrix, found: AffineSum
) -> Passed:
    """Pass coefficients on through columns · matrix, (n_columns, n_results)."""
    if not np.isfinite(matrix).all():
        raise ValueError(f"its {operator.node.op_type} has a coefficient that is not finite")
    found.addition_count += len(matrix) + 1
    if matrix.ndim == 1:  # of rows of one number, which has no axis
        matrix, own = matrix[:, np.newaxis], own.map(lambda values: values[:, np.newaxis])
    passed = Coefficients(own.signed @ matrix.T, own.absolute @ np.abs(matrix).T)
    return [(operator.node.input[0], passed)]


def _passed(
    operator: RowOperator, _dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    """Handle a cast to float or double: the type of the output is one."""
    found.addition_count += 1
    return [(operator.node.input[0], own)]


STEPS: Mapping[tuple[str, str], Step] = {
    ("", "Add"): _added(lambda _i, _count: 1.0),
    ("", "Sum"): _added(lambda _i, _count: 1.0),
    ("", "Mean"): _added(lambda _i, count: 1 / count),
    ("", "Sub"): _added(lambda i, _count: -1.0 if i else 1.0),
    ("", "Neg"): _added(lambda _i, _count: -1.0),
    ("", "Mul"): _scaled_by(1),
    ("", "Div"): _scaled_by(-1),
    ("", "Cast"): _passed,
    ("", "ReduceSum"): _reduced,
    ("", "ReduceMean"): _reduced,
    ("", "MatMul"): _product,
    ("", "Gemm"): _product,
    (ML, "Scaler"): _scaler,
    (ML, "LinearRegressor"): _regressor,
    (ML, "LinearClassifier"): _classifier,
}
"""Operators that are linear, and how coefficients pass them."""
