"""Model inputs: one matrix, one input per column, or several of which some are matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from onnx import TensorProto, ValueInfoProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph, quote_name
from onnxplain_server.adapters.onnx.column_names import column_names
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input

_TYPES = (
    *("float", "double", "float16", "bool", "string"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_SUPPORTED = (
    "Supported are inputs of shape (rows, columns), (rows, 1) or (rows,), of type "
    f"{', '.join(_TYPES)}; of several inputs, each declares its number of columns."
)


@dataclass(frozen=True, slots=True)
class Feed:
    """Input as onnxruntime expects it.

    Attributes
    ----------
    input : Input
        Input as callers see it, always two-dimensional.
    is_flat : bool
        Whether it expects (n_rows,) instead of (n_rows, 1).
    row_count : int or None
        Declared batch size; None for any number of rows.
    """

    input: Input
    is_flat: bool
    row_count: int | None


def read_inputs(graph: Graph) -> tuple[Feed, ...]:
    """Read the declared inputs.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL with the declared and the supported inputs.
    """
    feeds = tuple(_feed(value) for value in graph.inputs)
    if not feeds:
        raise _unsupported("The model has no inputs")
    if len(feeds) == 1:
        (feed,) = feeds
        names, doubted, doubt = column_names(graph, feed.input.width)
        named = replace(feed.input, columns=names, doubted=doubted, doubt=doubt)
        return (replace(feed, input=named),)
    return tuple(_column(feed) for feed in feeds)


def _feed(value: ValueInfoProto) -> Feed:
    name, tensor = quote_name(value.name), value.type.tensor_type
    if value.type.WhichOneof("value") != "tensor_type":
        raise _unsupported(f"The model's input {name} is no tensor")
    type_ = TensorProto.DataType.Name(tensor.elem_type).lower()
    if type_ not in _TYPES:
        raise _unsupported(f"The model's input {name} has the type {type_}")
    sizes = _sizes(value)
    if len(sizes) not in (1, 2) or (len(sizes) == 1 and sizes[0] not in (None, 1)):
        shape = ", ".join("any" if size is None else str(size) for size in sizes)
        raise _unsupported(f"The model's input {name} has the shape ({shape})")
    is_flat = len(sizes) == 1
    return Feed(Input(value.name, type_, 1 if is_flat else sizes[1]), is_flat, row_count=sizes[0])


def _sizes(value: ValueInfoProto) -> list[int | None]:
    """Return the declared sizes, None where open; an undeclared shape counts as any matrix."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [None, None]
    return [dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim]


def _column(feed: Feed) -> Feed:
    """Return one of several inputs: a single column unless it declares more."""
    return replace(feed, input=replace(feed.input, width=feed.input.width or 1))


def _unsupported(fault: str) -> ExplainError:
    return ExplainError(Reason.UNSUPPORTED_MODEL, f"{fault}. {_SUPPORTED}", "model")
