"""Parsing of a model file to a graph, through the gate for untrusted models."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.message import DecodeError
from onnx import ModelProto

from onnxplain_server.adapters.native import NativeModel, read_native
from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.checks.allowed_operators import operator_title
from onnxplain_server.adapters.onnx.checks.gate import check, check_trees
from onnxplain_server.adapters.onnx.checks.tree_consistency import TreeSizes
from onnxplain_server.adapters.onnx.faults import refuse_for_memory
from onnxplain_server.adapters.onnx.large_values import mark_apart, parse_apart
from onnxplain_server.adapters.onnx.packing import pack
from onnxplain_server.adapters.onnx.text_locale import use_known_locale
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.file_kinds import ONNX, file_kind
from onnxplain_server.core.messages.no_model import no_model
from onnxplain_server.core.model_limits import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.trees.reading.onnx_nodes import nodes_within


class ReadFile(NamedTuple):
    """Graph of a model file.

    Attributes
    ----------
    graph : Graph
    sizes : TreeSizes
    notes : tuple of str
        Sentences about a native tree file that could be read in another way.
    """

    graph: Graph
    sizes: TreeSizes
    notes: tuple[str, ...]


def read(content: bytes, limits: ModelLimits = DEFAULT_LIMITS) -> tuple[Graph, TreeSizes]:
    """Parse a model, with packed lists, and return the sizes of its trees with it.

    Raises
    ------
    ExplainError
        INVALID_MODEL, and the errors of `gate.check` and `gate.check_trees`.
    """
    file = read_file(content, limits)
    return file.graph, file.sizes


def read_file(content: bytes, limits: ModelLimits = DEFAULT_LIMITS) -> ReadFile:
    """Read as `read`, with the notes on a native tree file."""
    apart = parse_apart(content)
    if apart:
        model, values = apart
        check(model, limits)
        mark_apart(model, values)
        use_known_locale(model)
        return ReadFile(Graph(model, values), check_trees(model, limits), ())
    parsed = parse(content, limits)
    model, notes = parsed
    del parsed
    check(model, limits)
    use_known_locale(model)
    packed = pack(model)
    del model
    sizes = check_trees(packed, limits)
    return ReadFile(Graph(packed), sizes, notes)


def operators(model: ModelProto) -> tuple[str, ...]:
    """Return the operators used, as "domain:Operator" or "Operator"; each once, sorted."""
    return tuple(sorted({operator_title(node) for node in nodes_within(model.graph)}))


def parse(content: bytes, limits: ModelLimits = DEFAULT_LIMITS) -> NativeModel:
    """Parse a file of ONNX, or a native tree file to such a model, without the gate.

    Raises
    ------
    ExplainError
        INVALID_MODEL; and UNSUPPORTED_MODEL or MODEL_TOO_COMPLEX for native tree files.
    """
    if not content:
        raise ExplainError(Reason.INVALID_MODEL, "The model is empty: it has 0 bytes.", "model")
    native = read_native(content, limits)
    if native is not None:
        return native
    try:
        model = ModelProto.FromString(content)
    except DecodeError as fault:
        refuse_for_memory(fault)
        raise ExplainError(Reason.INVALID_MODEL, no_model(content), "model") from None
    if not model.graph.node or not model.graph.output:
        message = "The bytes hold no ONNX graph with nodes and outputs."
        if file_kind(content) not in {None, ONNX}:
            message = no_model(content)
        raise ExplainError(Reason.INVALID_MODEL, message, "model")
    return NativeModel(model, ())
