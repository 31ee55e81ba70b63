"""Refusal of external data: onnxruntime would read files relative to the working directory.

A model of 200 bytes could otherwise return any file of the server as its predictions.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from onnxplain_server.adapters.onnx.analysis.graph import quote_name
from onnxplain_server.core.errors import ExplainError, Reason


def refuse_external_data(model: ModelProto) -> None:
    """Check every tensor: initializers, attributes, subgraphs, functions, training graphs.

    Raises
    ------
    ExplainError
        EXTERNAL_DATA with the name of the first such tensor.
    """
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
            raise ExplainError(
                Reason.EXTERNAL_DATA,
                f"The tensor {quote_name(tensor.name)} keeps its values in another file"
                f"{_named(tensor)}. Commands and clients read it beside the model's path, and the "
                "server beside the model's URI; otherwise send it as one of model.files, or save "
                "the model in one piece (onnx.save with save_as_external_data=False).",
                "model",
            )


def _named(tensor: TensorProto) -> str:
    """Return the name of the file, unless it is the path of another folder."""
    names = [each.value for each in tensor.external_data if each.key == "location"]
    is_below = bool(names) and not names[0].startswith(("/", "\\")) and ".." not in names[0]
    return f", {quote_name(names[0])}" if is_below else ""


def _tensors(message: Message) -> Iterator[TensorProto]:
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else (value,):
                yield from _tensors(inner)
