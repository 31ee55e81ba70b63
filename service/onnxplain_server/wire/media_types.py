"""Media types of REST: of bodies, models and tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType

from onnxplain_server.core.errors import ExplainError, Reason

JSON = "application/json"
FORM = "multipart/form-data"
MODEL_TYPES = ("application/octet-stream", "application/onnx")

INFER_REQUEST = "application/x-protobuf"
"""Of ModelInferRequest, as gRPC brings it."""

BINARY_TENSORS = "application/octet-stream"
"""Of rows: JSON, and values of tensors as bytes behind it."""

JSON_LENGTH = "json-length"
"""Parameter of BINARY_TENSORS: bytes of the JSON."""

CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
"""Encodings of text: UTF-8, and ASCII, which is a part of it."""

_TABLE_FORMS: Mapping[str, str] = MappingProxyType(
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

TABLE_FORMATS: Mapping[str, str] = MappingProxyType(
    {"ARROW": "arrow", "PARQUET": "parquet", "CSV": "csv"}
)
"""Formats as uploads name them, and as the contract's field of a table's bytes is called."""

CSV_TYPES = tuple(name for name, form in _TABLE_FORMS.items() if form == "csv" and "/" in name)

TABLE_TYPES = tuple(name for name in _TABLE_FORMS if "/" in name)


def table_form(media_type: str, name: str = "") -> str:
    """Return the format of a table's file, as the contract names it; INVALID_TABLE for others."""
    form = _TABLE_FORMS.get(media_type) or _TABLE_FORMS.get(PurePath(name).suffix.lower())
    if form is None:
        file_name = f' named "{name[:100]}"' if name else ""
        raise ExplainError(
            Reason.INVALID_TABLE,
            f'a table of type "{media_type[:100]}"{file_name} is not supported; '
            "send CSV, Parquet or Arrow IPC and say which by content type or file name, or for an "
            "upload by the parameter format",
            "table",
        )
    return form
