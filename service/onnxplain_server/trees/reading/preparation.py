"""Preparation operators: scaling, imputing, casting and encoding of features before the trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import Attributes
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tensor_columns import DType, Step, lookup
from onnxplain_server.trees.reading.tensors import FeatureColumns

Prepare = Callable[[NodeProto, FeatureColumns], FeatureColumns]

_WHOLE = Step(lambda x: _saturated(x, np.dtype(np.int64)), 1, "OneHotEncoder")
"""Numeric categories are compared as integers."""


def scaler(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:
    """Shift and scale: (x − offset) · scale, in float32 unless x is double."""
    attributes = Attributes(node)
    width = len(operand.columns)
    offsets = _one_each(attributes.numbers("offset"), width, node)
    scales = _one_each(attributes.numbers("scale"), width, node)
    return _each(operand, [_scaled(o, s) for o, s in zip(offsets, scales, strict=True)])


def imputer(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:
    """Replace missing values."""
    attributes = Attributes(node)
    values = attributes.numbers("imputed_value_floats")
    if not len(values) or not np.isnan(attributes.value("replaced_value_float", 0.0)):
        raise RefusedError("the model replaces values that are not missing before its trees")
    filled = _one_each(values, len(operand.columns), node)
    return _each(operand, [_filled(value) for value in filled])


def cast(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:
    """Convert to another numeric type."""
    kind = Attributes(node).value("to", TensorProto.FLOAT)
    dtype = tensor_dtype_to_np_dtype(kind)
    if kind in {TensorProto.STRING, TensorProto.BOOL} or dtype.kind not in "fiu":
        raise RefusedError("the model converts features to text or truth values before its trees")
    step = Step(lambda x: _saturated(x, dtype), 1, "Cast")
    return _each(operand, [step] * len(operand.columns))


def floor(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:  # noqa: ARG001 - has none
    """Round down to whole numbers."""
    return _each(operand, [Step(np.floor, 1, "Floor")] * len(operand.columns))


def one_hot(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:
    """Encode each column as one indicator column per category."""
    attributes = Attributes(node)
    categories = _keys(attributes, ("cats_strings", "cats_int64s"))
    strict = not attributes.value("zeros", 1)
    hot = np.eye(len(categories), dtype=np.float32)
    integers = (
        operand if categories.dtype == object else _each(operand, [_WHOLE] * len(operand.columns))
    )
    return FeatureColumns(
        tuple(
            lookup(column, categories, row, np.float32(0), strict=strict)
            for column in integers.columns
            for row in hot
        )
    )


def label_encoder(node: NodeProto, operand: FeatureColumns) -> FeatureColumns:
    """Replace values by a table of keys and values."""
    attributes = Attributes(node)
    keys = _keys(attributes, ("keys_strings", "keys_int64s", "keys_floats"))
    values = _keys(attributes, ("values_floats", "values_int64s", "values_strings"))
    if len(keys) != len(values) or not len(keys):
        raise RefusedError("the model has a LabelEncoder without lists of keys and values")
    default = _default(attributes, values)
    return FeatureColumns(
        tuple(lookup(column, keys, values, default) for column in operand.columns)
    )


def with_constant(
    op_type: str, operand: FeatureColumns, constant: Array, *, first: bool
) -> FeatureColumns:
    """Add, subtract, multiply or divide by a constant; `first` where the constant comes first."""
    width = len(operand.columns)
    if constant.dtype.kind not in "fiu" or constant.size not in {1, width}:
        raise RefusedError(f"the model computes {op_type} before its trees")
    flat = np.broadcast_to(constant.reshape(-1), (width,))
    return _each(operand, [_arithmetic(op_type, value, first=first) for value in flat])


PREPARING: Mapping[str, Prepare] = {
    "Scaler": scaler,
    "Imputer": imputer,
    "Cast": cast,
    "Floor": floor,
    "OneHotEncoder": one_hot,
    "LabelEncoder": label_encoder,
}
"""Functions that prepare columns, by operator."""


def _arithmetic(op_type: str, value: Any, *, first: bool) -> Step:
    """Return an operation with a constant, in the column's type, as a step."""
    operation = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op_type]
    sign = 1
    if op_type in {"Mul", "Div"}:
        # x times 0 is constant but for infinities; 1 / x is not monotone.
        sign = 0 if op_type == "Div" and first else int(np.sign(value))
    elif op_type == "Sub" and first:
        sign = -1
    if not np.isfinite(value):
        sign = 0
    if first:
        return Step(lambda x: operation(value, x).astype(x.dtype), sign, op_type)
    return Step(lambda x: operation(x, value).astype(x.dtype), sign, op_type)


def _saturated(values: Array, dtype: DType) -> Array:
    """Convert; values outside an integer type, for which ONNX is undefined, saturate."""
    if dtype.kind == "f" or values.dtype.kind != "f":
        return values.astype(dtype)
    info = np.iinfo(dtype)
    high = np.nextafter(values.dtype.type(info.max), values.dtype.type(0))
    return values.clip(info.min, high).astype(dtype)


def _each(operand: FeatureColumns, steps: Sequence[Step]) -> FeatureColumns:
    _refuse_text(operand, steps)
    pairs = zip(operand.columns, steps, strict=True)
    return FeatureColumns(tuple(column.then(step) for column, step in pairs))


def _refuse_text(operand: FeatureColumns, steps: Sequence[Step]) -> None:
    for column, step in zip(operand.columns, steps, strict=True):
        if column.is_text:
            raise RefusedError(f"the model computes {step.name} on text before its trees")


def _scaled(offset: float, scale: float) -> Step:
    low, factor = np.float32(offset), np.float32(scale)

    def apply(values: Array) -> Array:
        exact = values if values.dtype == np.float64 else values.astype(np.float32)
        return ((exact - low) * factor).astype(np.float32)

    return Step(apply, int(np.sign(factor)), "Scaler")


def _filled(value: float) -> Step:
    return Step(lambda x: np.where(np.isnan(x), np.float32(value), x).astype(x.dtype), 1, "Imputer")


def _one_each(values: Array, width: int, node: NodeProto) -> Array:
    if len(values) not in {1, width}:
        raise RefusedError(f"its {node.op_type} has {len(values)} numbers for {width} columns")
    return np.broadcast_to(values, (width,))


def _keys(attributes: Attributes, names: Sequence[str]) -> Array:
    """Return the first of these lists that exists, as text, int64 or float32."""
    for name in names:
        values = attributes.value(name)
        if values is None or not len(values):
            continue
        if name.endswith("strings"):
            return np.array(values, dtype=object)
        return np.array(values, dtype=np.int64 if name.endswith("int64s") else np.float32)
    return np.array([], dtype=np.float32)


def _default(attributes: Attributes, values: Array) -> Any:
    if values.dtype == object:
        return attributes.value("default_string", "_Unused")
    if values.dtype == np.int64:
        return attributes.value("default_int64", -1)
    return attributes.value("default_float", -0.0)
