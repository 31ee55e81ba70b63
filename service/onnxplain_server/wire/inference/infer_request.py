"""ModelInferRequest as the document that the same request is over REST; its name by a scan."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.inference.binary_tensors import finite_values, read_values
from onnxplain_server.wire.inference.inference_pb2 import ModelInferRequest
from onnxplain_server.wire.scanning.field_scan import malformed, scan

_NAME, _ID = (
    ModelInferRequest.DESCRIPTOR.fields_by_name[field].number for field in ("model_name", "id")
)
_TEXT_LIMIT = 1_024


def names(content: bytes) -> tuple[str, str]:
    """Return the model's name and the request's id, without decoding the rest.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if the message is malformed, or one of them is long or no text.
    """
    found = {_NAME: "", _ID: ""}
    for field in scan(content, 0, len(content), ModelInferRequest.__name__, found):
        text = content[field.value_start : min(field.end, field.value_start + _TEXT_LIMIT + 1)]
        try:
            found[field.number] = text.decode()
        except UnicodeDecodeError:
            raise malformed(ModelInferRequest.__name__) from None
        if len(text) > _TEXT_LIMIT:
            message = f"names and ids have at most {_TEXT_LIMIT:,} bytes"
            raise ExplainError(Reason.INVALID_REQUEST, message)
    return found[_NAME], found[_ID]


def read_infer_request(content: bytes) -> dict[str, Any]:
    """Return the JSON document of a request: its inputs with their `data`, and its parameters.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE.
    """
    try:
        request = ModelInferRequest.FromString(content)
    except DecodeError:
        raise malformed(ModelInferRequest.__name__) from None
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        message = f"{len(raw)} raw_input_contents for {len(request.inputs)} inputs"
        raise ExplainError(Reason.INVALID_REQUEST, message, "raw_input_contents")
    tensors = [
        {
            "name": tensor.name,
            "datatype": tensor.datatype,
            "shape": list(tensor.shape),
            "data": read_values(tensor.datatype, raw[index]) if raw else _values(tensor),
        }
        for index, tensor in enumerate(request.inputs)
    ]
    chosen = {
        name: getattr(parameter, field)
        for name, parameter in request.parameters.items()
        if (field := parameter.WhichOneof("parameter_choice"))
    }
    # A request without rows asks for the model on its background.
    return {"parameters": chosen, **({"inputs": tensors} if tensors else {})}


def _values(tensor: ModelInferRequest.InferInputTensor) -> list[Any]:
    """Return the elements of a tensor, from the field that has some; None where one is missing."""
    filled = [values for _, values in tensor.contents.ListFields()]
    if len(filled) > 1:
        message = f'the tensor "{tensor.name[:100]}" has contents of several types'
        raise ExplainError(Reason.INVALID_REQUEST, message, "inputs")
    values = filled[0] if filled else ()
    if not tensor.contents.bytes_contents:
        return finite_values(values)
    try:
        return [value.decode() for value in values]
    except UnicodeDecodeError:
        message = "a text is not UTF-8"
        raise ExplainError(Reason.INVALID_TABLE, message, "inputs") from None
