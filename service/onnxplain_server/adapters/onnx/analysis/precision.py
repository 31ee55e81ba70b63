"""Precision of a model's tensors: rounding by the coarsest float type on the way to each."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto, NodeProto, TensorProto, shape_inference

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.large_values import NO_VALUES
from onnxplain_server.adapters.onnx.packing import without_lists
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import subgraphs

FLOAT32 = 2.0**-24

_ROUNDING: Mapping[int, float] = {
    TensorProto.DOUBLE: 2.0**-53,
    TensorProto.FLOAT: FLOAT32,
    TensorProto.FLOAT16: 2.0**-11,
    TensorProto.BFLOAT16: 2.0**-8,
}
_DISCRETE = {TensorProto.BOOL, TensorProto.STRING} | {
    getattr(TensorProto, f"{sign}INT{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64)
}
_MOVING = {
    "ArrayFeatureExtractor",
    "Cast",
    "Concat",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
}
"""Operators that only move values: on features, they add no rounding noise."""


def roundings(proto: ModelProto, values: Mapping[str, Array] = NO_VALUES) -> Mapping[str, float]:
    """Propagate rounding through a graph from its inputs.

    Returns
    -------
    mapping of tensor name to float
        Relative error of a single rounding: 2^-24 after any computation in float32, even if the
        result is float64. 0 for other types. Tensors of unknown type count as float32.
    """
    types = element_types(proto)
    graph = Graph(proto, values)
    rounding = {value.name: 0.0 for value in graph.inputs}
    moved = set(rounding)
    for node in proto.graph.node:
        sources = [name for name in node.input if name in rounding]
        if node.op_type in _MOVING and all(name in moved for name in sources) and sources:
            moved.update(node.output)
            rounding.update((name, 0.0) for name in node.output)
            continue
        before = max((rounding[name] for name in sources), default=0.0)
        for name in node.output:
            rounding[name] = _after(node, types.get(name), before)
    return rounding


def element_types(proto: ModelProto) -> Mapping[str, int]:
    """Infer the element types of tensors, as far as possible."""
    inferred = shape_inference.infer_shapes(without_lists(proto)).graph
    return {
        value.name: value.type.tensor_type.elem_type
        for value in (*inferred.input, *inferred.value_info, *inferred.output)
        if value.type.tensor_type.elem_type
    }


def _after(node: NodeProto, element_type: int | None, before: float) -> float:
    """Return the rounding of a node's output from that of its inputs."""
    if any(True for _ in subgraphs(node)):
        return max(before, FLOAT32)  # computations in subgraphs are not analysed
    if element_type in _DISCRETE:
        return 0.0
    own = FLOAT32 if element_type is None else _ROUNDING.get(element_type, 2.0**-8)
    return max(before, own)
