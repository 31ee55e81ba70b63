"""Reader of REST requests: canonical JSON, MLflow's table forms, and files of a multipart form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from onnxplain_server.core.contract_limits import ExplainRequest as ExplainRequestLimits
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical
from onnxplain_server.wire.canonical import AnyMessage
from onnxplain_server.wire.media_types import table_form
from onnxplain_server.wire.rest_table import FORMS, TABLE_SHAPES, read_table
from onnxplain_server.wire.scanning.json_reader import MessageShape


@dataclass(frozen=True, slots=True)
class File:
    """A part of a multipart form."""

    content: bytes
    name: str
    media_type: str


def from_json(text: bytes, kind: type[AnyMessage]) -> AnyMessage:
    """Read a request in canonical JSON, whose table may have one of MLflow's forms instead.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE or WRONG_TYPE.
    """
    document = canonical.read_object(text, MessageShape(kind.DESCRIPTOR, TABLE_SHAPES))
    for name in FORMS:
        if document.get(name, name) is None:  # The same as left out.
            del document[name]
    forms = [name for name in ("table", *FORMS) if document.get(name) is not None]
    if len(forms) > 1:
        choices = ", ".join(("table", *FORMS))
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"the request must have exactly one of {choices}; it has {' and '.join(forms)}",
            forms[1],
        )
    form = forms[0] if forms else "table"
    if form == "table":
        return canonical.parse(document, kind)
    columns = read_table(form, document.pop(form))
    request: Any = canonical.parse(document, kind)
    request.table.columns.CopyFrom(columns)
    parsed: AnyMessage = request
    return parsed


def from_files(
    model: File | None, table: File | None, text: bytes, kind: type[AnyMessage]
) -> AnyMessage:
    """Read a request whose model, table or both are files next to its JSON.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, also if model or table is given twice.
    """
    request: Any = from_json(text, kind)
    for name, file in (("model", model), ("table", table)):
        if file is not None and request.HasField(name):
            message = f"the {name} is both a file and in the request; send it once"
            raise ExplainError(Reason.INVALID_REQUEST, message, name)
    if model is not None:
        request.model.content = model.content
        if isinstance(request, ExplainRequest):
            request.model_name = request.model_name or _file_name(model.name)
    if table is not None:
        setattr(request.table, table_form(table.media_type, table.name), table.content)
    parsed: AnyMessage = request
    return parsed


def _file_name(path: str) -> str:
    """Return the last part of a file's name, which callers choose freely, within the limit.

    The name of the part itself, which clients send for a file without a name, is none.
    """
    name = PurePath(path).name
    return "" if name == "model" else name[: ExplainRequestLimits.model_name.max_items]
