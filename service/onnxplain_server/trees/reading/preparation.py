"""Operators that prepare features one by one, before any tree, value by value as the runtime."""

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
"""Categories that are numbers are compared as whole numbers."""


def scaler(node: NodeProto, taken: FeatureColumns) -> FeatureColumns:
    """Shift and scale: (x − offset) · scale, in float32 unless x is double."""
    attributes = Attributes(node)
    width = len(taken.columns)
    offsets = _one_each(attributes.numbers("offset"), width, node)
    scales = _one_each(attributes.numbers("scale"), width, node)
    return _each(taken, [_scaled(o, s) for o, s in zip(offsets, scales, strict=True)])


def imputer(node: NodeProto, taken: FeatureColumns) -> FeatureColumns:
    """Replace missing values."""
    attributes = Attributes(node)
    values = attributes.numbers("imputed_value_floats")
    if not len(values) or not np.isnan(attributes.value("replaced_value_float", 0.0)):
        raise RefusedError("the model replaces values that are not missing before its trees")
    filled = _one_each(values, len(taken.columns), node)
    return _each(taken, [_filled(value) for value in filled])


def cast(node: NodeProto, taken: FeatureColumns) -> FeatureColumns:
    """Convert to another type of number."""
    kind = Attributes(node).value("to", TensorProto.FLOAT)
    dtype = tensor_dtype_to_np_dtype(kind)
    if kind in {TensorProto.STRING, TensorProto.BOOL} or dtype.kind not in "fiu":
        raise RefusedError("the model converts features to text or truth values before its trees")
    step = Step(lambda x: _saturated(x, dtype), 1, "Cast")
    return _each(taken, [step] * len(taken.columns))


def one_hot(node: NodeProto, taken: FeatureColumns) -> FeatureColumns:
    """One column per category of each column, 1 where it has that category."""
    attributes = Attributes(node)
    categories = _keys(attributes, ("cats_strings", "cats_int64s"))
    strict = not attributes.value("zeros", 1)
    hot = np.eye(len(categories), dtype=np.float32)
    whole = taken if categories.dtype == object else _each(taken, [_WHOLE] * len(taken.columns))
    return FeatureColumns(
        tuple(
            lookup(column, categories, row, np.float32(0), strict=strict)
            for column in whole.columns
            for row in hot
        )
    )


def label_encoder(node: NodeProto, taken: FeatureColumns) -> FeatureColumns:
    """Replace values by others, from a list."""
    attributes = Attributes(node)
    keys = _keys(attributes, ("keys_strings", "keys_int64s", "keys_floats"))
    values = _keys(attributes, ("values_floats", "values_int64s", "values_strings"))
    if len(keys) != len(values) or not len(keys):
        raise RefusedError("the model has a LabelEncoder without lists of keys and values")
    default = _default(attributes, values)
    return FeatureColumns(tuple(lookup(column, keys, values, default) for column in taken.columns))


def with_constant(
    op_type: str, taken: FeatureColumns, constant: Array, *, first: bool
) -> FeatureColumns:
    """Add, subtract, multiply or divide by a constant; `first` where the constant comes first."""
    width = len(taken.columns)
    if constant.dtype.kind not in "fiu" or constant.size not in {1, width}:
        raise RefusedError(f"the model computes {op_type} before its trees")
    flat = np.broadcast_to(constant.reshape(-1), (width,))
    return _each(taken, [_arithmetic(op_type, value, first=first) for value in flat])


PREPARING: Mapping[str, Prepare] = {
    "Scaler": scaler,
    "Imputer": imputer,
    "Cast": cast,
    "OneHotEncoder": one_hot,
    "LabelEncoder": label_encoder,
}
"""Operators of columns, by name."""


def _arithmetic(op_type: str, value: Any, *, first: bool) -> Step:
    """One of the four operations with a constant, in the column's type."""
    operation = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op_type]
    sign = 1
    if op_type in {"Mul", "Div"}:
        # A column times 0 is constant but for infinities; one over x rises and falls.
        sign = 0 if op_type == "Div" and first else int(np.sign(value))
    elif op_type == "Sub" and first:
        sign = -1
    if not np.isfinite(value):
        sign = 0
    if first:
        return Step(lambda x: operation(value, x).astype(x.dtype), sign, op_type)
    return Step(lambda x: operation(x, value).astype(x.dtype), sign, op_type)


def _saturated(values: Array, dtype: DType) -> Array:
    """Convert; what an integer type cannot hold, and is undefined then, becomes its last value."""
    if dtype.kind == "f" or values.dtype.kind != "f":
        return values.astype(dtype)
    info = np.iinfo(dtype)
    high = np.nextafter(values.dtype.type(info.max), values.dtype.type(0))
    return values.clip(info.min, high).astype(dtype)


def _each(taken: FeatureColumns, steps: Sequence[Step]) -> FeatureColumns:
    _refuse_text(taken, steps)
    pairs = zip(taken.columns, steps, strict=True)
    return FeatureColumns(tuple(column.then(step) for column, step in pairs))


def _refuse_text(taken: FeatureColumns, steps: Sequence[Step]) -> None:
    for column, step in zip(taken.columns, steps, strict=True):
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
    """Return the first of these lists that is there, as text, int64 or float32."""
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
