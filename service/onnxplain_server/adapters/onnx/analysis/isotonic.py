"""Isotonic calibration, which a converter wrote as steps, as lines between its points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import ML


def interpolated(model: ModelProto) -> ModelProto | None:
    """Return a copy that interpolates where this model looks the nearest point up.

    skl2onnx writes a calibration curve as `y[argmin(|x - points|)]`, where scikit-learn draws lines
    between the points. None where the main graph has no such nodes.
    """
    lookups = _Lookups(model)
    found = {id(node): curve for node in model.graph.node if (curve := lookups.curve(node))}
    if not found:
        return None
    nodes: list[NodeProto] = []
    repaired = ModelProto()
    repaired.CopyFrom(model)
    for number, node in enumerate(model.graph.node):
        curve = found.get(id(node))
        if curve is None:
            nodes.append(node)
            continue
        constants, lines = _lines(f"interpolated_{number}", curve, node.output[0])
        repaired.graph.initializer.extend(
            numpy_helper.from_array(values, name) for name, values in constants.items()
        )
        nodes.extend(lines)
    del repaired.graph.node[:]
    repaired.graph.node.extend(nodes)
    return repaired


class _Curve:
    """Calibration curve: its points, ascending, and the tensor that is looked up."""

    def __init__(self, tensor: str, x: Array, y: Array) -> None:
        self.tensor = tensor
        self.x = x
        self.y = y


class _Lookups:
    """Finds ArrayFeatureExtractor(y, ArgMin(Abs(Sub(tensor, x)))), with constant x and y."""

    def __init__(self, model: ModelProto) -> None:
        graph = model.graph
        self._producers = {name: node for node in graph.node for name in node.output}
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}

    def curve(self, node: NodeProto) -> _Curve | None:
        if (node.op_type, node.domain) != ("ArrayFeatureExtractor", ML) or len(node.input) != 2:
            return None
        y = self._constant(node.input[0])
        subtraction = self._behind(node.input[1], ("ArgMin", "Abs", "Sub"))
        if y is None or subtraction is None or len(subtraction.input) != 2:
            return None
        x = self._constant(subtraction.input[1])
        if x is None or len(x) != len(y) or len(x) < 2 or not (np.diff(x) > 0).all():
            return None
        return _Curve(subtraction.input[0], x, y)

    def _behind(self, tensor: str, operators: Sequence[str]) -> NodeProto | None:
        """Return the node at the end of a chain of operators, from the last one back."""
        node = None
        for operator in operators:
            node = self._producers.get(tensor)
            if node is None or node.op_type != operator or node.domain not in {"", "ai.onnx"}:
                return None
            tensor = node.input[0]
        return node

    def _constant(self, tensor: str) -> Array | None:
        if tensor not in self._tensors:
            return None
        values = numpy_helper.to_array(self._tensors[tensor])
        is_curve = values.dtype in {np.dtype(np.float32), np.dtype(np.float64)}
        return values.reshape(-1) if is_curve else None


def _lines(name: str, curve: _Curve, output: str) -> tuple[dict[str, Array], tuple[NodeProto, ...]]:
    """Return constants and nodes of y0 + sum of slopes times the way along each line: (n, 1)."""
    steps = np.diff(curve.x)
    slopes = np.diff(curve.y.astype(np.float64)) / np.diff(curve.x.astype(np.float64))
    kind = curve.x.dtype
    constants = {
        f"{name}_start": curve.x[:-1],
        f"{name}_zero": np.zeros(1, kind),
        f"{name}_length": steps,
        f"{name}_slope": slopes.astype(kind)[:, np.newaxis],
        f"{name}_first": curve.y[:1].astype(kind),
    }
    chain = ("Sub", "start"), ("Max", "zero"), ("Min", "length"), ("MatMul", "slope")
    nodes, tensor = [], curve.tensor
    for operator, constant in chain:
        result = f"{name}_{operator}"
        nodes.append(helper.make_node(operator, [tensor, f"{name}_{constant}"], [result]))
        tensor = result
    nodes.append(helper.make_node("Add", [tensor, f"{name}_first"], [output]))
    return constants, tuple(nodes)
