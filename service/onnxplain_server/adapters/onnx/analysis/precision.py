"""Rounding of a model's tensors: the coarsest float type that is computed in on the way."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto, NodeProto, TensorProto, shape_inference

from onnxplain_server.adapters.onnx.analysis.graph import Graph
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
_MOVERS = {
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
"""Of single features, these give values that only the feature itself decides: no noise."""


def roundings(proto: ModelProto) -> Mapping[str, float]:
    """Follow a graph from its inputs.

    Returns
    -------
    mapping of tensor name to float
        Relative error of a single rounding: 2^-24 where any float32 was computed on the way, even
        if what comes of it is float64. 0 for what is no float. What a tensor's type does not tell
        counts as float32.
    """
    kinds = _kinds(proto)
    graph = Graph(proto)
    found = {value.name: 0.0 for value in graph.inputs}
    moved = set(found)
    for node in proto.graph.node:
        taken = [name for name in node.input if name in found]
        if node.op_type in _MOVERS and all(name in moved for name in taken) and taken:
            moved.update(node.output)
            found.update((name, 0.0) for name in node.output)
            continue
        before = max((found[name] for name in taken), default=0.0)
        for name in node.output:
            found[name] = _after(node, kinds.get(name), before)
    return found


def _kinds(proto: ModelProto) -> Mapping[str, int]:
    """Element types of tensors, as far as they are known."""
    inferred = shape_inference.infer_shapes(proto).graph
    return {
        value.name: value.type.tensor_type.elem_type
        for value in (*inferred.input, *inferred.value_info, *inferred.output)
        if value.type.tensor_type.elem_type
    }


def _after(node: NodeProto, kind: int | None, before: float) -> float:
    """Rounding of a node's output, given that of its inputs."""
    if any(True for _ in subgraphs(node)):
        return max(before, FLOAT32)  # what is computed inside is not read
    if kind in _DISCRETE:
        return 0.0
    own = FLOAT32 if kind is None else _ROUNDING.get(kind, 2.0**-8)
    return max(before, own)
