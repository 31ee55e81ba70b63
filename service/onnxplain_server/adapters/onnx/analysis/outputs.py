"""Model outputs: the tensors that form the prediction, and the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx import NodeProto, TensorProto, ValueInfoProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph, quote_name
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import Attributes

_NUMERIC = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
LABEL_TYPES = (TensorProto.INT64, TensorProto.INT32, TensorProto.STRING, TensorProto.BOOL)
_LABEL_LISTS = (
    "classlabels_strings",
    "classlabels_int64s",
    "classlabels_ints",
    "values_strings",
    "values_int64s",
)
_LISTED = 10
"""Limit of outputs listed in a message."""

_MOST_AXES = 2
"""Rows and columns."""

_PASSING = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten")


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """Tensor of the prediction.

    Attributes
    ----------
    tensor : str
        Name in the graph.
    output : str
        Name of the model's output that it belongs to.
    labels : tuple of str
        Class labels, if known.
    is_label : bool
        Whether it holds predicted labels instead of numbers.
    """

    tensor: str
    output: str
    labels: tuple[str, ...]
    is_label: bool = False

    def names(self, column_count: int, *, alone: bool) -> tuple[str, ...]:
        """Return the names of its columns; `alone` if the prediction has no other part."""
        if column_count == len(self.labels):
            return tuple(label if alone else f"{self.output}_{label}" for label in self.labels)
        if column_count == 1:
            return (self.output,)
        return tuple(f"{self.output}_{column}" for column in range(column_count))


def read_parts(graph: Graph) -> tuple[OutputTensor, ...]:
    """Choose the tensors: all numeric ones, else the one of labels.

    Those of more dimensions than rows and columns, as scores of each term or layer, are left out
    where there are others.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL with the actual and the supported outputs.
    """
    labels = _labels(graph)
    parts = tuple(part for output in graph.outputs if (part := _numeric(graph, output, labels)))
    if parts:
        flat = tuple(part for part in parts if _rank(graph, part) <= _MOST_AXES)
        return flat or parts
    for output in graph.outputs:
        if output.type.tensor_type.elem_type in LABEL_TYPES:
            return (_label(output, labels),)
    outputs = ", ".join(
        f"{quote_name(output.name)} ({_kind(output)})" for output in graph.outputs[:_LISTED]
    )
    raise _unsupported(
        f"The model gives {outputs}. Supported are float, double and float16 tensors, "
        "ZipMap's sequences of maps, and class labels."
    )


def left_out(graph: Graph, parts: Sequence[OutputTensor]) -> tuple[str, ...]:
    """Return the names of numeric outputs of more dimensions, which are not explained."""
    used = {part.tensor for part in parts}
    others = [_numeric(graph, output, ()) for output in graph.outputs if output.name not in used]
    return tuple(part.output for part in others if part and _rank(graph, part) > _MOST_AXES)


def _rank(graph: Graph, part: OutputTensor) -> int:
    """Return the declared dimensions of an output; 0 where it declares none."""
    declared = {output.name: output.type.tensor_type for output in graph.outputs}
    own = declared.get(part.tensor)
    return len(own.shape.dim) if own is not None and own.HasField("shape") else 0


def _numeric(graph: Graph, output: ValueInfoProto, labels: tuple[str, ...]) -> OutputTensor | None:
    if output.type.tensor_type.elem_type in _NUMERIC:
        return OutputTensor(output.name, output.name, labels)
    node = graph.producer(output.name)
    if node is not None and node.op_type == "ZipMap":
        return OutputTensor(node.input[0], output.name, Attributes(node).texts(*_LABEL_LISTS))
    return None


def _label(output: ValueInfoProto, labels: tuple[str, ...]) -> OutputTensor:
    if not labels:
        raise _unsupported(
            f"The model gives only labels, {quote_name(output.name)} ({_kind(output)}), and which "
            "ones there are cannot be read from it. Export it with its probabilities or scores."
        )
    return OutputTensor(output.name, output.name, labels, is_label=True)


def _labels(graph: Graph) -> tuple[str, ...]:
    """Read the class labels from the node of the model's label output."""
    for output in graph.outputs:
        if output.type.tensor_type.elem_type in LABEL_TYPES:
            return _labels_behind(graph, output.name)
    return ()


def _labels_behind(graph: Graph, tensor: str) -> tuple[str, ...]:
    node = graph.producer(tensor)
    while node is not None and node.op_type in _PASSING:
        node = graph.producer(node.input[0])
    if node is None:
        return ()
    return Attributes(node).texts(*_LABEL_LISTS) or _labels_indexed(graph, node)


def _labels_indexed(graph: Graph, node: NodeProto) -> tuple[str, ...]:
    """Read labels that are looked up in a constant by the position of the largest score."""
    if node.op_type not in ("ArrayFeatureExtractor", "Gather", "GatherND"):
        return ()
    labels = graph.constant(node.input[0])
    if labels is None:
        return ()
    return tuple(_text(label) for label in labels.ravel().tolist())


def _text(label: object) -> str:
    return label.decode() if isinstance(label, bytes) else str(label)


def _kind(output: ValueInfoProto) -> str:
    kind = str(output.type.WhichOneof("value") or "untyped").removesuffix("_type")
    if kind != "tensor":
        return kind
    return TensorProto.DataType.Name(output.type.tensor_type.elem_type).lower()


def _unsupported(message: str) -> ExplainError:
    return ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")
