"""Models in several files: the values that lie in others are put into the ONNX file."""

from __future__ import annotations

from typing import NoReturn

from google.protobuf.message import DecodeError
from onnxplain.errors import ExplainError as Fault
from onnxplain.external_data.given_files import with_files
from onnxplain.v1.model_pb2 import Model

from onnxplain_server.core.contract_limits import Model as ModelLimits
from onnxplain_server.core.errors import ExplainError, Reason


def from_message(content: bytes) -> bytes:
    """Return the ONNX file in one piece of a serialised Model with `files`; see `in_one_piece`."""
    try:
        return in_one_piece(Model.FromString(content))
    except DecodeError:
        raise ExplainError(Reason.INVALID_REQUEST, "the model cannot be decoded", "model") from None


def in_one_piece(model: Model) -> bytes:
    """Return the ONNX file of a model, with the values of its `files`.

    Raises
    ------
    ExplainError
        EXTERNAL_DATA for files that do not fit, or are not those that the ONNX file names;
        MODEL_TOO_LARGE for more than 2 GB; INVALID_REQUEST for too many files.
    """
    count, most = len(model.files), ModelLimits.files.max_items
    if count > most:
        message = f"the model has {count:,} files; send at most {most:,}, or the model in one piece"
        raise ExplainError(Reason.INVALID_REQUEST, message, "model.files")
    try:
        return with_files(model.content, [(file.name, file.content) for file in model.files])
    except Fault as fault:
        refuse(fault, "model.files")


def refuse(fault: Fault, field: str) -> NoReturn:
    """Raise a fault of external data as an error of the service, with the field at fault."""
    raise ExplainError(Reason[fault.reason], fault.message, field) from None
