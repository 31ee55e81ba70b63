"""A 10-64-64-1 network as ONNX: the fastest kind of model, where overhead shows most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTHS = (10, 64, 64, 1)


def network(seed: int = 0, widths: Sequence[int] = WIDTHS, activation: str = "Relu") -> bytes:
    """Build a network with random weights: Gemm and an activation, float32."""
    rng = np.random.default_rng(seed)
    nodes, weights, tensor = [], [], "input"
    for layer, (width, height) in enumerate(pairwise(widths)):
        matrix = rng.normal(size=(width, height)) / np.sqrt(width)
        bias = rng.normal(size=height) / 10
        weights += [
            numpy_helper.from_array(matrix.astype(np.float32), f"w{layer}"),
            numpy_helper.from_array(bias.astype(np.float32), f"b{layer}"),
        ]
        nodes.append(helper.make_node("Gemm", [tensor, f"w{layer}", f"b{layer}"], [f"g{layer}"]))
        tensor = f"g{layer}"
        if height > 1:
            nodes.append(helper.make_node(activation, [tensor], [f"r{layer}"]))
            tensor = f"r{layer}"
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [None, widths[0]])],
        [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [None, 1])],
        weights,
    )
    opset = [helper.make_opsetid("", 17)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=9)
    content: bytes = model.SerializeToString()
    return content
