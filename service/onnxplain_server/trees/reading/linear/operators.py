"""Linear operators: their matrices, applied to feature columns or scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading import column_moves
from onnxplain_server.trees.reading.onnx_nodes import Attributes, column_count, link_name
from onnxplain_server.trees.reading.refusal import RefusedError

LINEAR = frozenset({"LinearRegressor", "Gemm", "MatMul"})


class LinearMap(NamedTuple):
    """Linear operator on a row: matrix · columns + offset.

    Attributes
    ----------
    matrix : (n_results, n_columns)
    offset : (n_results,)
    """

    matrix: Matrix
    offset: Vector


def read_linear(node: NodeProto, inputs: column_moves.Inputs, width: int) -> LinearMap:
    """Read a linear operator whose first input has `width` columns.

    Raises
    ------
    RefusedError
        Where it combines rows, or two inputs that both depend on the features.
    """
    read = _regressor(node, width) if node.op_type == "LinearRegressor" else _product(node, inputs)
    if read.matrix.shape[1] != width or not all(np.isfinite(part).all() for part in read):
        raise RefusedError(f"its {node.op_type} does not fit the {width} columns that it takes")
    return read


def _regressor(node: NodeProto, width: int) -> LinearMap:
    attributes, count = Attributes(node), column_count(node)
    link, coefficients = link_name(node), attributes.numbers("coefficients")
    if link != "NONE":
        raise RefusedError(f"its LinearRegressor goes through {link}")
    if count < 1 or len(coefficients) != count * width:
        raise RefusedError(f"its LinearRegressor has {len(coefficients)} coefficients")
    intercepts = attributes.numbers("intercepts")
    # The runtime ignores intercepts of another number.
    offset = intercepts if len(intercepts) == count else np.zeros(count)
    return LinearMap(coefficients.reshape(count, width), offset)


def _product(node: NodeProto, inputs: column_moves.Inputs) -> LinearMap:
    """Read MatMul or Gemm of a table with a constant matrix."""
    attributes, matrix = Attributes(node), column_moves.constant(node, inputs, 1)
    if isinstance(inputs[0], np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise RefusedError(f"its {node.op_type} is no product of columns with a matrix of numbers")
    matrix = matrix.astype(np.float64)
    if node.op_type == "MatMul":
        return LinearMap(matrix.T, np.zeros(matrix.shape[1]))
    if attributes.value("transA", 0):
        raise RefusedError("its Gemm combines rows")
    matrix = matrix if attributes.value("transB", 0) else matrix.T
    has_offset = len(inputs) > 2 and inputs[2] is not None
    offset = column_moves.constant(node, inputs, 2) if has_offset else np.zeros(1)
    scaled = attributes.value("beta", 1.0) * _one_row(offset, len(matrix))
    return LinearMap(attributes.value("alpha", 1.0) * matrix, scaled)


def _one_row(offset: Array, count: int) -> Vector:
    if offset.size not in {1, count} or any(size > 1 for size in offset.shape[:-1]):
        raise RefusedError("its Gemm adds other numbers to each row")
    row: Vector = np.broadcast_to(offset.astype(np.float64).reshape(-1), (count,))
    return row
