"""What REST accepts as a request, as messages: JSON, and files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.wire import canonical
from onnxplain_server.wire.rest_table import FORMS, read_table

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "text/csv": "csv",
        "application/csv": "csv",
        "application/vnd.apache.parquet": "parquet",
        "application/vnd.apache.arrow.stream": "arrow",
        "application/vnd.apache.arrow.file": "arrow",
        ".csv": "csv",
        ".parquet": "parquet",
        ".pq": "parquet",
        ".arrow": "arrow",
        ".arrows": "arrow",
        ".feather": "arrow",
        ".ipc": "arrow",
    }
)


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was sent."""

    content: bytes
    name: str
    media_type: str


def from_json(text: bytes) -> ExplainRequest:
    """Read a canonical ExplainRequest, whose table may have one of MLflow's forms instead.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, or what is wrong with the table.
    """
    document = canonical.read_object(text)
    forms = [name for name in ("table", *FORMS) if name in document]
    if len(forms) > 1:
        choices = ", ".join(("table", *FORMS))
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"the request must have exactly one of {choices}; it has {' and '.join(forms)}",
            forms[1],
        )
    form = forms[0] if forms else "table"
    if form == "table":
        return canonical.to_message(document, ExplainRequest)
    columns = read_table(form, document.pop(form))
    request = canonical.to_message(document, ExplainRequest)
    request.table.columns.CopyFrom(columns)
    return request


def from_files(model: File, table: File | None, text: bytes) -> ExplainRequest:
    """Read a request whose model, and where given whose table, are files beside its JSON.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, also where one thing is given twice.
    """
    request = from_json(text)
    for name, file in (("model", model), ("table", table)):
        if file is not None and request.HasField(name):
            message = f"the {name} is both a file and in the request; send it once"
            raise ExplainError(Reason.INVALID_REQUEST, message, name)
    request.model.CopyFrom(Model(content=model.content))
    if table is not None:
        request.table.CopyFrom(_table(table))
    return request


def _table(file: File) -> Table:
    suffix = PurePath(file.name).suffix.lower()
    kind = _TYPES.get(file.media_type) or _TYPES.get(suffix)
    match kind:
        case "csv":
            return Table(csv=file.content)
        case "parquet":
            return Table(parquet=file.content)
        case "arrow":
            return Table(arrow=file.content)
    raise ExplainError(
        Reason.INVALID_TABLE,
        f'a table of type "{file.media_type}" named "{file.name[:100]}" is not supported; '
        "send CSV, Parquet or Arrow IPC and say which by content type or file name",
        "table",
    )
