"""Lengths of attribute lists that must have one value, or one per column.

onnxruntime accepts other lengths silently, and reads out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnx import ModelProto, NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import quote_name
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import attribute, nodes_within

_PER_COLUMN = {
    "Imputer": ("imputed_value_floats", "imputed_value_int64s"),
    "Scaler": ("offset", "scale"),
}

_CONTROL_COUNTS = {"If": 1, "Loop": 2}


def check_widths(model: ModelProto) -> None:
    """Check against the declared width of the model's input, where a node reads it.

    Raises
    ------
    ExplainError
        INVALID_MODEL with both numbers.
    """
    widths = declared_widths(model)
    for node in nodes_within(model.graph):
        width = widths.get(node.input[0]) if node.input else None
        for name in _PER_COLUMN.get(node.op_type, ()) if width else ():
            values: Sequence[object] = attribute(node, name, ())
            if len(values) not in (0, 1, width):
                raise inconsistent_node(
                    node, f"{name} has {len(values)} values for {width} columns"
                )


def check_controls(model: ModelProto) -> None:
    """Refuse If and Loop nodes whose constant count or condition is not a single value.

    onnxruntime crashes on an empty one.
    """
    sizes = {tensor.name: math.prod(tensor.dims) for tensor in model.graph.initializer}
    for node in nodes_within(model.graph):
        for name in node.input[: _CONTROL_COUNTS.get(node.op_type, 0)]:
            if sizes.get(name, 1) != 1:
                raise inconsistent_node(
                    node, f"the input {quote_name(name)} holds {sizes[name]} values instead of 1"
                )


def declared_widths(model: ModelProto) -> dict[str, int]:
    """Return the number of columns of each input matrix that declares it."""
    shapes = {value.name: value.type.tensor_type.shape.dim for value in model.graph.input}
    return {
        name: dims[1].dim_value
        for name, dims in shapes.items()
        if len(dims) == 2 and dims[1].dim_value > 0
    }


def inconsistent_node(node: NodeProto, reason: str) -> ExplainError:
    """Build the error INVALID_MODEL for an inconsistent node."""
    name = f" {quote_name(node.name)}" if node.name else ""
    message = f"The model is broken: in its {node.op_type}{name}, {reason}."
    return ExplainError(Reason.INVALID_MODEL, message, "model")
