"""Allowlist of operators: those of ONNX and ai.onnx.ml, and some of the runtime's own."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto, NodeProto, defs

from onnxplain_server.adapters.onnx.analysis.graph import quote_name
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import ML, STANDARD_DOMAINS, nodes_within

_CONTRIBUTED = "com.microsoft"

_COMPUTING = frozenset(
    {
        *("Attention", "BiasGelu", "FastGelu", "FusedGemm", "FusedMatMul", "Gelu", "QuickGelu"),
        *("LayerNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization"),
        *("DequantizeLinear", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QuantizeLinear"),
        *("QGemm", "QLinearAdd", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul"),
        *("QLinearSigmoid", "QLinearSoftmax"),
        "Tokenizer",
    }
)
"""Output of the runtime's optimisers and quantisers, and texts cut to words, by regular expressions
whose time is linear in the text. Its domain can also run foreign code (PyOp) and precompiled
binaries (EPContext)."""

_FORBIDDEN = frozenset({"ImageDecoder"})
"""Standard operator, but a parser of image files, and never part of a model of tables."""

_RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)


def refuse_unknown_operators(model: ModelProto) -> None:
    """Check every node, subgraphs included.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL with the operator's name and the reason.
    """
    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    for node in nodes_within(model.graph):
        if reason := _refusal(node, opsets):
            supported = f"Supported are the operators of ONNX and {ML}, and some of {_CONTRIBUTED}."
            operator = quote_name(operator_title(node))
            message = f"The model uses the operator {operator}, but {reason}. {supported}"
            raise ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")


def random_operators(model: ModelProto) -> tuple[str, ...]:
    """Return the operators that draw random numbers; each once, sorted."""
    used = {node.op_type for node in nodes_within(model.graph) if node.op_type in _RANDOM}
    return tuple(sorted(used))


def operator_title(node: NodeProto) -> str:
    """Format an operator as "domain:Operator", or "Operator" in the default domain."""
    return f"{node.domain}:{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _refusal(node: NodeProto, opsets: Mapping[str, int]) -> str | None:
    if node.domain == _CONTRIBUTED:
        return None if node.op_type in _COMPUTING else "that is not one of those taken"
    if node.domain not in STANDARD_DOMAINS:
        return f"domain {quote_name(node.domain)} is not available"
    if not defs.has(node.op_type, domain="" if node.domain == "ai.onnx" else node.domain):
        return _unknown(node.domain or "ai.onnx", opsets)
    return "that decodes files" if node.op_type in _FORBIDDEN else None


def _unknown(domain: str, opsets: Mapping[str, int]) -> str:
    """Say why an operator of a standard domain is not known."""
    own = opsets.get(domain, 0)
    known = defs.onnx_ml_opset_version() if domain == ML else defs.onnx_opset_version()
    if own <= known:
        return "ONNX has no such operator"
    return (
        f"this server knows operators of {domain} up to opset {known}, and the model is made for "
        f"{own}: export it with a lower target_opset"
    )
