"""Table of operators that work row by row: what each result of a row takes of the row's values.

A tensor is an array with a number for each value of a row: the shape of the tensor without its
first axis, the rows. Moving operators rearrange such arrays, whatever the numbers stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from onnxplain_server.adapters.onnx.terms.feature_sets import together
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator, row_axis
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import ML, Attributes, column_count

Move: TypeAlias = Callable[[RowOperator, list[Array]], list[Array]]
"""Rearranges the arrays of those inputs that are no constants."""


def _same(_operator: RowOperator, inputs: list[Array]) -> list[Array]:
    return inputs[:1]


def _reshape(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    (values,) = inputs
    shape = [int(size) for size in operator.constant(1).reshape(-1)]
    full = (-1, *values.shape)
    if operator.value("allowzero", 0) or not shape or shape[0] not in {-1, 0}:
        raise ValueError("its Reshape moves values between rows")
    sizes = [full[i] if size == 0 else size for i, size in enumerate(shape)][1:]
    if shape[0] == -1 and (min(sizes, default=0) < 0 or np.prod(sizes) != values.size):
        raise ValueError("its Reshape moves values between rows")
    return [values.reshape(sizes)]


def _flatten(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    if operator.value("axis", 1) != 1:
        raise ValueError("its Flatten moves values between rows")
    return [inputs[0].reshape(-1)]


def _squeeze(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    (values,) = inputs
    axes = operator.integers("axes", 1)
    return [np.squeeze(values, tuple(row_axis(axis, values.ndim) for axis in axes))]


def _unsqueeze(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    (values,) = inputs
    axes = operator.integers("axes", 1)
    return [np.expand_dims(values, tuple(row_axis(a, values.ndim + len(axes)) for a in axes))]


def _transpose(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    order = operator.integers("perm", 1)
    if order[0] != 0:
        raise ValueError("its Transpose moves rows")
    return [np.transpose(inputs[0], [axis - 1 for axis in order[1:]])]


def _concat(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    if len(inputs) < len(operator.node.input):
        raise ValueError(f"its {operator.node.op_type} joins rows with a constant")
    return [np.concatenate(inputs, operator.axis(inputs[0].ndim, 1))]


def _join(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    return _concat(operator, [values.reshape(-1) for values in inputs])


def _gather(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    """Handle columns at constant positions, and constants that are looked up by a feature."""
    (values,) = inputs
    table = operator.graph.constant(operator.node.input[0])
    if table is None:
        positions = operator.constant(1).astype(np.intp)
        return [np.take(values, positions, operator.axis(values.ndim))]
    if operator.value("axis", 0) != 0:
        raise ValueError("its Gather looks columns up by a feature")
    shape = (*values.shape, *table.shape[1:])
    return [np.broadcast_to(values.reshape(*values.shape, *[1] * (table.ndim - 1)), shape)]


def _gather_nd(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    """Handle constants that are looked up by positions, of one feature or of several."""
    (positions,) = inputs
    table = operator.constant(0)
    count = positions.shape[-1] if positions.ndim else 0
    if not count or operator.value("batch_dims", 0):
        raise ValueError("its GatherND looks values up across rows")
    found, rest = together(positions, (positions.ndim - 1,)), table.shape[count:]
    return [np.broadcast_to(found.reshape(found.shape + (1,) * len(rest)), found.shape + rest)]


def _extract(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    return [np.take(inputs[0], operator.constant(1).astype(np.intp).reshape(-1), -1)]


def _slice(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    (values,) = inputs
    starts, ends = operator.integers("starts", 1), operator.integers("ends", 2)
    names = operator.node.input
    axes = tuple(range(len(starts)))
    if operator.value("axes") is not None or (len(names) > 3 and names[3]):
        axes = operator.integers("axes", 3)
    steps = (1,) * len(starts)
    if len(names) > 4 and names[4]:
        steps = operator.integers("steps", 4)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise ValueError("its Slice goes backwards")
        own = [slice(None)] * values.ndim
        own[row_axis(axis, values.ndim)] = slice(start, end, step)
        values = values[tuple(own)]
    return [values]


def _split(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    (values,) = inputs
    axis = operator.axis(values.ndim)
    count = len(operator.node.output)
    has_sizes = operator.value("split") is not None or len(operator.node.input) > 1
    if not has_sizes:
        if values.shape[axis] % count:
            raise ValueError("its Split is uneven")
        return np.split(values, count, axis)
    ends = np.cumsum(operator.integers("split", 1))
    return np.split(values, ends[:-1], axis)


def _one_hot_encoder(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    listed = Attributes(operator.node)
    count = len(listed.texts("cats_strings", "cats_int64s"))
    return [np.repeat(inputs[0][..., np.newaxis], count, -1)]


MOVES: Mapping[tuple[str, str], Move] = {
    ("", "Identity"): _same,
    ("", "Reshape"): _reshape,
    ("", "Flatten"): _flatten,
    ("", "Squeeze"): _squeeze,
    ("", "Unsqueeze"): _unsqueeze,
    ("", "Transpose"): _transpose,
    ("", "Concat"): _concat,
    ("", "Slice"): _slice,
    ("", "Split"): _split,
    (ML, "ArrayFeatureExtractor"): _extract,
    (ML, "FeatureVectorizer"): _join,
}
"""Operators that only move values of a row."""


def _normalized(operator: RowOperator, inputs: list[Array]) -> list[Array]:
    if operator.value("training_mode", 0) or len(operator.node.output) > 1:
        raise ValueError("its BatchNormalization takes the mean over rows")
    return inputs[:1]


SPREADS: Mapping[tuple[str, str], Move] = {
    ("", "BatchNormalization"): _normalized,
    ("", "Gather"): _gather,
    ("", "GatherND"): _gather_nd,
    (ML, "OneHotEncoder"): _one_hot_encoder,
}
"""Operators that make one value, or several, of one value of a row, or of few."""


def move_of(operator: RowOperator) -> Move | None:
    """Return how an operator moves values of a row; None if it does something else with them."""
    if operator.name == ("", "Gather") and operator.graph.constant(operator.node.input[0]) is None:
        return _gather
    return MOVES.get(operator.name)


_ONE_BY_ONE = (
    *("Cast", "Neg", "Abs", "Relu", "Exp", "Log", "Sqrt", "Sigmoid", "Tanh", "Floor", "Ceil"),
    *("Round", "Sign", "Reciprocal", "Erf", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu"),
    *("HardSigmoid", "HardSwish", "ThresholdedRelu", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "IsNaN", "IsInf", "Not", "Clip", "Gelu", "Mish"),
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Mean", "Sum", "Where", "Equal"),
    *("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "PRelu"),
)
_ONE_BY_ONE_ML = ("Scaler", "Imputer", "Binarizer", "LabelEncoder", "CategoryMapper")
ONE_BY_ONE = frozenset(
    [*(("", name) for name in _ONE_BY_ONE), *((ML, name) for name in _ONE_BY_ONE_ML)]
)
"""Operators on values at the same place, also with constants, and with numbers for each column."""

REDUCING = frozenset(
    ("", f"Reduce{name}")
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp")
) | {("", "ReduceSumSquare")}
"""Operators that make one value of all along some axes of a row."""


POSITIONS = frozenset({("", "ArgMax"), ("", "ArgMin")})
"""Operators that make one position of all values along an axis of a row."""


def reduced_axes(operator: RowOperator, rank: int) -> tuple[int, ...]:
    """Return the axes of a row along which an operator reduces.

    Raises
    ------
    ValueError
        Where it reduces rows too, or all axes.
    """
    if operator.name in POSITIONS:
        return (operator.axis(rank),)
    axes = tuple(row_axis(axis, rank) for axis in operator.integers("axes", 1))
    if not axes:
        raise ValueError("an operator works across rows")
    return axes


Widths: TypeAlias = Callable[[RowOperator, int], Sequence[tuple[int, ...]]]
"""Shapes of a row of each output, by the number of columns."""


def _classes(operator: RowOperator, _width: int) -> Sequence[tuple[int, ...]]:
    """Return one label, and a score for each class."""
    labels = Attributes(operator.node).texts("classlabels_strings", "classlabels_ints")
    labels = labels or Attributes(operator.node).texts("classlabels_int64s")
    return [(), (len(labels),)]


def _targets(operator: RowOperator, _width: int) -> Sequence[tuple[int, ...]]:
    return [(column_count(operator.node),)]


def _as_wide(_operator: RowOperator, width: int) -> Sequence[tuple[int, ...]]:
    return [(width,)]


def _product(operator: RowOperator, _width: int) -> Sequence[tuple[int, ...]]:
    matrix = operator.constant(1)
    if matrix.ndim == 1 and operator.node.op_type == "MatMul":
        return [()]
    if matrix.ndim != 2:
        raise ValueError(f"its {operator.node.op_type} is no product with a matrix")
    is_turned = bool(operator.value("transB", 0))
    if operator.value("transA", 0):
        raise ValueError("its Gemm works across rows")
    return [(matrix.shape[0 if is_turned else 1],)]


def _along_row(operator: RowOperator, width: int) -> Sequence[tuple[int, ...]]:
    operator.axis(1, -1)
    return [(width,)]


WHOLE_ROWS: Mapping[tuple[str, str], Widths] = {
    ("", "MatMul"): _product,
    ("", "Gemm"): _product,
    ("", "Softmax"): _along_row,
    ("", "LogSoftmax"): _along_row,
    (ML, "LinearRegressor"): _targets,
    (ML, "LinearClassifier"): _classes,
    (ML, "TreeEnsembleRegressor"): _targets,
    (ML, "TreeEnsemble"): _targets,
    (ML, "TreeEnsembleClassifier"): _classes,
    (ML, "SVMRegressor"): lambda _operator, _width: [(1,)],
    (ML, "Normalizer"): _as_wide,
}
"""Operators of which each result takes all columns of a row, at least with a coefficient of 0:
0 times a value that is missing or infinite is no number."""
