"""Whether a model is an affine map of its features."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, TensorProto

from onnxplain_server.trees.reading.onnx_nodes import post_transform

_MOVING = frozenset(
    {
        *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Gather", "Concat"),
        *("ArrayFeatureExtractor", "FeatureVectorizer"),
    }
)
_ADDING = frozenset({"Add", "Sub", "Sum", "Neg", "Scaler"})
_MULTIPLYING = frozenset({"Mul", "Div", "MatMul", "Gemm"})
_LINEAR = frozenset({"LinearRegressor", "LinearClassifier"})
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})


def is_affine(model: ModelProto) -> bool:
    """Tell from the operators, of which none may multiply what varies with what varies."""
    fixed = {tensor.name for tensor in model.graph.initializer} | {""}
    varies = False
    for node in model.graph.node:
        if node.op_type == "Constant" or set(node.input) <= fixed:
            fixed.update(node.output)
        elif not _keeps_affine(node, fixed):
            return False
        else:
            varies = True
    return varies


def _keeps_affine(node: NodeProto, fixed: set[str]) -> bool:
    if node.op_type in _LINEAR:
        return post_transform(node) == "NONE" and node.output[-1] != ""
    if node.op_type in _MULTIPLYING:
        varying = [name for name in node.input if name not in fixed]
        return len(varying) == 1 and not (node.op_type == "Div" and node.input[0] in fixed)
    if node.op_type == "Cast":
        return any(a.name == "to" and a.i in _FLOATS for a in node.attribute)
    return node.op_type in _MOVING | _ADDING
