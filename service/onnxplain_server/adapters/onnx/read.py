"""Bytes to a graph, refusing what onnxruntime must not see or cannot run."""

from __future__ import annotations

from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto, defs

from onnxplain_server.adapters.onnx.external import refuse_external_data
from onnxplain_server.adapters.onnx.graph import ML, Graph, nodes_within, shown
from onnxplain_server.errors import ExplainError, Reason

_STANDARD = ("", "ai.onnx", ML)
_CONTRIBUTED = "com.microsoft"


def read(content: bytes) -> Graph:
    """Parse a model.

    Raises
    ------
    ExplainError
        INVALID_MODEL, EXTERNAL_DATA, or UNSUPPORTED_MODEL for unknown operators.
    """
    model = _parse(content)
    refuse_external_data(model)
    _refuse_unknown_operators(model)
    return Graph(model)


def operators(model: ModelProto) -> tuple[str, ...]:
    """The operators used, as "domain:Operator" or "Operator"; each once, sorted."""
    return tuple(sorted({_title(node) for node in nodes_within(model.graph)}))


def _parse(content: bytes) -> ModelProto:
    if not content:
        raise ExplainError(Reason.INVALID_MODEL, "The model is empty: it has 0 bytes.", "model")
    try:
        model = ModelProto.FromString(content)
    except DecodeError:
        raise ExplainError(
            Reason.INVALID_MODEL,
            f"The {len(content)} bytes are no ONNX model, or only a part of one. "
            "Send the whole content of the .onnx file.",
            "model",
        ) from None
    if not model.graph.node or not model.graph.output:
        message = "The bytes hold no ONNX graph with nodes and outputs."
        raise ExplainError(Reason.INVALID_MODEL, message, "model")
    return model


def _refuse_unknown_operators(model: ModelProto) -> None:
    own = {(function.domain, function.name) for function in model.functions}
    for node in nodes_within(model.graph):
        if (node.domain, node.op_type) in own or node.domain == _CONTRIBUTED:
            continue
        if node.domain not in _STANDARD:
            raise _unknown(node, f"domain {shown(node.domain)} is not available")
        domain = "" if node.domain == "ai.onnx" else node.domain
        if not defs.has(node.op_type, domain=domain):
            raise _unknown(node, "ONNX has no such operator")


def _unknown(node: NodeProto, why: str) -> ExplainError:
    message = (
        f"The model uses the operator {shown(_title(node))}, but {why}. "
        f"Supported are the operators of ONNX, {ML} and {_CONTRIBUTED}."
    )
    return ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")


def _title(node: NodeProto) -> str:
    return f"{node.domain}:{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
