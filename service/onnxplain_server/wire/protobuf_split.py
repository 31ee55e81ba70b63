"""Splitter of serialised requests into envelope, model and table, by their top-level fields.

It reads tags and lengths only, so a server can find the model and the table without parsing them.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainStreamRequest,
    ExplainStreamResponse,
    MethodOptions,
    StartExplanationRequest,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import (
    FILES_FORM,
    URI_FORMS,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.wire.calls import REQUESTS
from onnxplain_server.wire.scanning.field_scan import (
    LENGTH_DELIMITED,
    MessageField,
    encode_varint,
    invalid,
    malformed,
    scan,
)

_SOURCES: dict[str, Any] = {"model": Model, "table": Table}
_FORMS = {"content": "onnx"}
"""Formats whose field has another name."""

_TABLE_FILES = ("arrow", "parquet", "csv")  # sources of a table that are files


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """File of a table within a request.

    Attributes
    ----------
    form : str
        Name of its format in the contract: "arrow", "parquet" or "csv".
    content : memoryview
        Of the request's bytes.
    """

    form: str
    content: memoryview


def split(content: bytes, method: ServiceMethod) -> RequestParts:
    """Split a serialised request of a method.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if it is malformed, or has a model or a table twice: parsers would
        merge or replace them.
    """
    message = REQUESTS[method].DESCRIPTOR
    numbers = {
        message.fields_by_name[name].number: name
        for name in _SOURCES
        if name in message.fields_by_name
    }
    found: dict[str, MessageField] = {}
    for field in scan(content, 0, len(content), message.name, frozenset(numbers)):
        name = numbers[field.number]
        if name in found:
            raise invalid(f"the message has the field {name} twice; send it once", name)
        found[name] = field
    parts = {name: _part(content, field, name) for name, field in found.items()}
    cut = [found[name] for name, part in parts.items() if part is not None]
    return RequestParts(_without(content, cut), parts.get("model"), parts.get("table"))


def detach_table(content: bytes) -> tuple[bytes, TableFile | None]:
    """Detach the file of a table from a serialised ExplainRequest, without copying the file.

    Returns
    -------
    envelope : bytes
        The message without its table; the whole message where no file was detached.
    table : TableFile or None
        None if the message is malformed, or has no table or another source of it.
    """
    number = ExplainRequest.DESCRIPTOR.fields_by_name["table"].number
    sources = {source.number: source.name for source in Table.DESCRIPTOR.oneofs[0].fields}
    try:
        tables = list(scan(content, 0, len(content), "ExplainRequest", {number}))
        (found,) = tables if len(tables) == 1 else (None,)
        parts = scan(content, found.value_start, found.end, "Table", sources) if found else ()
        files = list(parts)
    except ExplainError:
        return content, None
    if found is None or len(files) != 1 or sources[files[0].number] not in _TABLE_FILES:
        return content, None
    file = memoryview(content)[files[0].value_start : files[0].end]
    return _without(content, [found]), TableFile(sources[files[0].number], file)


def method_names(content: bytes) -> tuple[str, ...]:
    """Return the names of the methods of a serialised ExplainRequest, sorted, each once.

    Of a malformed message, or one with too many fields, those before the fault.
    """
    number = ExplainRequest.DESCRIPTOR.fields_by_name["methods"].number
    known = {field.number: field.name for field in MethodOptions.DESCRIPTOR.fields}
    names: set[str] = set()
    steps = itertools.count(1)
    with suppress(ExplainError):
        for method in scan(content, 0, len(content), "ExplainRequest", {number}, steps=steps):
            begin, end = method.value_start, method.end
            options = scan(content, begin, end, "MethodOptions", known, steps=steps)
            # Of several, parsers take the last one.
            names.update([known[field.number] for field in options][-1:])
    return tuple(sorted(names))


def request_of_stream(content: bytes) -> bytes:
    """Return the serialised ExplainRequest of a serialised ExplainStreamRequest; may be empty."""
    number = ExplainStreamRequest.DESCRIPTOR.fields_by_name["request"].number
    name = ExplainStreamRequest.DESCRIPTOR.name
    fields = list(scan(content, 0, len(content), name, frozenset({number})))
    if len(fields) > 1:
        raise invalid("the message has the field request twice; send it once", "request")
    return b"".join(content[field.value_start : field.end] for field in fields)


def request_to_start(content: bytes) -> tuple[bytes, StartExplanationRequest]:
    """Return the serialised ExplainRequest of a StartExplanationRequest, and the rest of it."""
    message = StartExplanationRequest.DESCRIPTOR
    number = message.fields_by_name["request"].number
    fields = list(scan(content, 0, len(content), message.name, frozenset({number})))
    if len(fields) != 1:
        problem = "lacks the field request" if not fields else "has the field request twice"
        raise invalid(f"the message {problem}; send it once", "request")
    try:
        rest = StartExplanationRequest.FromString(_without(content, fields))
    except DecodeError:
        raise malformed(message.name) from None
    return content[fields[0].value_start : fields[0].end], rest


def result_uri(content: bytes) -> str:
    """Return where a serialised ExplainRequest wants its answer written; empty: nowhere."""
    number = ExplainRequest.DESCRIPTOR.fields_by_name["result_uri"].number
    fields = list(scan(content, 0, len(content), "ExplainRequest", {number}))
    # Of several, parsers take the last one.
    return "".join(
        content[field.value_start : field.end].decode(errors="replace") for field in fields[-1:]
    )


def response_of_event(event: bytes) -> bytes:
    """Return the serialised ExplainResponse that `response_event` wraps."""
    number = ExplainStreamResponse.DESCRIPTOR.fields_by_name["response"].number
    fields = scan(event, 0, len(event), "ExplainStreamResponse", {number})
    return b"".join(event[field.value_start : field.end] for field in fields)


def response_event(response: bytes) -> bytes:
    """Wrap a serialised ExplainResponse as a serialised ExplainStreamResponse."""
    number = ExplainStreamResponse.DESCRIPTOR.fields_by_name["response"].number
    return bytes([number << 3 | LENGTH_DELIMITED]) + encode_varint(len(response)) + response


def _part(content: bytes, field: MessageField, name: str) -> RequestFile | None:
    """Return the only source of a model or a table; None without one, or if its file is empty."""
    message = _SOURCES[name].DESCRIPTOR
    known = {source.number: source.name for source in message.oneofs_by_name["source"].fields}
    sources = list(scan(content, field.value_start, field.end, message.name, frozenset(known)))
    if len(sources) > 1:
        raise invalid(f"the {name} has several sources; send one", name)
    if not sources:
        if name == "model" and _has(content, field, "files"):
            raise files_beside(None)
        return None
    source = known[sources[0].number]
    value = content[sources[0].value_start : sources[0].end]
    if source in URI_FORMS:
        if name == "model" and _has(content, field, "files"):
            raise files_beside(source)
        return RequestFile(source, content[field.value_start : field.end])
    if name == "model":
        _check_unpinned(content, field)
        if _has(content, field, "files"):
            if source != "content":
                raise files_beside(source)
            return RequestFile(FILES_FORM, content[field.value_start : field.end])
    if source == "id":
        return RequestFile(identity=value.decode(errors="replace"))
    return RequestFile(_FORMS.get(source, source), value) if value else None


def files_beside(source: str | None) -> ExplainError:
    """Return the error for `Model.files` beside another source than `Model.content`, or none."""
    remedy = f"leave them out beside model.{source}" if source else "send the ONNX file, too"
    return invalid(f"model.files belong to model.content; {remedy}", "model.files")


def _check_unpinned(content: bytes, field: MessageField) -> None:
    """Refuse a digest beside a model that is not fetched: it would pin nothing."""
    if _has(content, field, "sha256"):
        raise pin_without_uri()


def _has(content: bytes, model: MessageField, name: str) -> bool:
    """Return whether a model within a message has a field."""
    number = Model.DESCRIPTOR.fields_by_name[name].number
    return any(scan(content, model.value_start, model.end, "Model", {number}))


def pin_without_uri() -> ExplainError:
    """Return the error for `Model.sha256` without `Model.uri`."""
    return invalid("model.sha256 pins what model.uri names; leave it out", "model.sha256")


def _without(content: bytes, cut: list[MessageField]) -> bytes:
    """Return the message without some of its fields."""
    kept, at = [], 0
    for field in sorted(cut, key=lambda field: field.start):
        kept.append(content[at : field.start])
        at = field.end
    return b"".join((*kept, content[at:]))
