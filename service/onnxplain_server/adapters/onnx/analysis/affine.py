"""Affine models: detects an affine map of the features from the operators."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, TensorProto

from onnxplain_server.trees.reading.onnx_nodes import link_name

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
    """Check that no operator multiplies two tensors that both depend on the features."""
    constants = {tensor.name for tensor in model.graph.initializer} | {""}
    has_features = False
    for node in model.graph.node:
        if node.op_type == "Constant" or set(node.input) <= constants:
            constants.update(node.output)
        elif not _keeps_affine(node, constants):
            return False
        else:
            has_features = True
    return has_features


def _keeps_affine(node: NodeProto, constants: set[str]) -> bool:
    if node.op_type in _LINEAR:
        return link_name(node) == "NONE" and node.output[-1] != ""
    if node.op_type in _MULTIPLYING:
        varying = [name for name in node.input if name not in constants]
        return len(varying) == 1 and not (node.op_type == "Div" and node.input[0] in constants)
    if node.op_type == "Cast":
        return any(a.name == "to" and a.i in _FLOATS for a in node.attribute)
    return node.op_type in _MOVING | _ADDING
