"""Gain of first layers: whether hybrid rows made of parts cost less, by counts and no clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, TensorProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.row_work import row_seconds
from onnxplain_server.core.arrays import Array

_TEXT = 80e-9
"""Seconds that the runtime takes to read a text."""
_ELEMENT, _PRODUCT = 0.2e-9, 0.04e-9
"""Seconds of a value of a tensor, and of a product with its sum, in a large call."""
_PUT = 0.3e-9
"""Seconds of a value that is put together of two parts."""
_LEAST_SHARE = 0.05
"""Of the seconds of the rest, by a count that is some times too high: what is saved is then a tenth
at least."""


def pays(
    graph: Graph, dependence: Mapping[str, Array], sizes: Mapping[str, int], rest: ModelProto
) -> bool:
    """Return whether rows made of parts take less time than whole ones.

    Parameters
    ----------
    graph : Graph
        Of the model.
    dependence : mapping of tensor name to integers
        See `read_dependence`.
    sizes : mapping of tensor name to int
        Values of a row of each tensor of the frontier.
    rest : ModelProto
        What follows these.
    """
    saved = _front_seconds(graph, dependence, graph.cut(sizes)) - _PUT * sum(sizes.values())
    return saved > _LEAST_SHARE * row_seconds(rest, is_batched=True)


def _front_seconds(graph: Graph, dependence: Mapping[str, Array], front: ModelProto) -> float:
    read = {name for node in front.graph.node for name in node.input}
    texts = [
        dependence[value.name].size
        for value in graph.inputs
        if value.type.tensor_type.elem_type == TensorProto.STRING and value.name in read
    ]
    seconds = _TEXT * sum(texts)
    for node in front.graph.node:
        seconds += _ELEMENT * sum(dependence[n].size for n in node.output if n in dependence)
        if node.op_type in {"MatMul", "Gemm"}:
            matrix = graph.constant(node.input[1])
            seconds += 0.0 if matrix is None else _PRODUCT * float(np.prod(matrix.shape))
    return seconds
