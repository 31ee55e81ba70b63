"""Models in several files: the values that lie in others are put into the ONNX file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NoReturn

from onnxplain.errors import ExplainError as Fault
from onnxplain.external_data.given_files import with_files
from onnxplain.external_data.wire_fields import MalformedError, fields
from onnxplain.v1.model_pb2 import Model, ModelFile

from onnxplain_server.core.contract_limits import Model as ModelLimits
from onnxplain_server.core.errors import ExplainError, Reason

_CONTENT, _FILES = Model.CONTENT_FIELD_NUMBER, Model.FILES_FIELD_NUMBER
_NAME, _VALUES = ModelFile.NAME_FIELD_NUMBER, ModelFile.CONTENT_FIELD_NUMBER

_MOST_FIELDS = ModelLimits.files.max_items + 1_000
"""Of a Model: each one that is found takes memory."""


def from_message(content: bytes) -> bytes:
    """Return the ONNX file in one piece of a serialised Model with `files`; see `in_one_piece`."""
    try:
        file, beside = _contents(content)
    except (MalformedError, UnicodeDecodeError):
        raise ExplainError(Reason.INVALID_REQUEST, "the model cannot be decoded", "model") from None
    return together(file, beside)


def in_one_piece(model: Model) -> bytes:
    """Return the ONNX file of a model, with the values of its `files`; see `together`."""
    return together(model.content, [(file.name, file.content) for file in model.files])


def _contents(message: bytes) -> tuple[bytes, list[tuple[str, memoryview]]]:
    """Return the ONNX file of a serialised Model, and its other files, which are not copied."""
    parts = _payloads(message)
    beside = []
    for file in parts[_FILES]:
        named = _payloads(file)
        name, content = (named[number][-1:] or [memoryview(b"")] for number in (_NAME, _VALUES))
        beside.append((bytes(name[0]).decode(), content[0]))
    return bytes((parts[_CONTENT] or [memoryview(b"")])[-1]), beside


def _payloads(message: bytes | memoryview) -> Mapping[int, list[memoryview]]:
    """Return the fields of a message that hold bytes, by their number."""
    found: dict[int, list[memoryview]] = defaultdict(list)
    for count, field in enumerate(fields(message)):
        if count > _MOST_FIELDS:
            raise MalformedError
        if field.payload is not None:
            found[field.number].append(field.payload)
    return found


def together(content: bytes, files: Sequence[tuple[str, bytes | memoryview]]) -> bytes:
    """Return an ONNX file with the values of files, each with its name.

    Raises
    ------
    ExplainError
        EXTERNAL_DATA for files that do not fit, or are not those that the ONNX file names;
        MODEL_TOO_LARGE for more than 2 GB; INVALID_REQUEST for too many files.
    """
    count, most = len(files), ModelLimits.files.max_items
    if count > most:
        message = f"the model has {count:,} files; send at most {most:,}, or the model in one piece"
        raise ExplainError(Reason.INVALID_REQUEST, message, "model.files")
    try:
        return with_files(content, files)
    except Fault as fault:
        refuse(fault, "model.files")


def refuse(fault: Fault, field: str) -> NoReturn:
    """Raise a fault of external data as an error of the service, with the field at fault."""
    raise ExplainError(Reason[fault.reason], fault.message, field) from None
