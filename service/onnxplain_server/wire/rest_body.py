"""Decoder of REST bodies: JSON documents and multipart forms, split into envelope, model and table.

It runs in a process of its own that never loads a model, so it imports nothing that computes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import IO, Any, Protocol, TypeVar, cast

from google.protobuf.message import DecodeError
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainResponse,
    PartialExplanation,
)
from onnxplain.v1.model_pb2 import Model, ModelFile
from onnxplain.v1.table_pb2 import Table
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser
from werkzeug.http import parse_options_header

from onnxplain_server.core.contract_limits import Model as ModelLimits
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import REMOTE_FORM, RequestFile, RequestParts, ServiceMethod
from onnxplain_server.wire import canonical, rest_request
from onnxplain_server.wire.calls import REQUESTS, files_of
from onnxplain_server.wire.canonical import AnyMessage
from onnxplain_server.wire.explained import explained_rows
from onnxplain_server.wire.kept_parts import separate_parts
from onnxplain_server.wire.media_types import CHARSETS, FORM
from onnxplain_server.wire.protobuf_split import files_beside, pin_without_uri
from onnxplain_server.wire.requests import model_files
from onnxplain_server.wire.rest_request import File

_PART_LIMIT = ModelLimits.files.max_items + 3
"""Parts of a form: model, its files, table and request."""

_Part = TypeVar("_Part")


class BodyReader(Protocol):
    """Reader of a body."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, or all that are left."""


def decode(method: ServiceMethod, media_type: str, body: bytes | BodyReader) -> RequestParts:
    """Decode a body and split it; what operations keep becomes JSON, in the envelope.

    A serialised Model with `files` becomes the ONNX file in one piece.

    Parameters
    ----------
    method : ServiceMethod
    media_type : str
        Value of the header Content-Type: JSON, or a multipart form with its boundary; of rows
        also CSV.
    body : bytes or BodyReader
        A form is read in parts.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE, WRONG_TYPE or INVALID_MODEL.
    """
    kind, parameters = parse_options_header(media_type)
    if kind == FORM and method in REQUESTS:
        stream = io.BytesIO(body) if isinstance(body, bytes) else body
        form = _Form(stream, parameters.get("boundary", ""))
        is_model = method is ServiceMethod.DESCRIBE
        return _describe_form(form) if is_model else _form_with_rows(form, REQUESTS[method])
    content = body if isinstance(body, bytes) else body.read()
    if method in _SERIALISED:
        return _SERIALISED[method](content)
    if method is ServiceMethod.ROWS:
        request, takes_interactions = explained_rows.read(media_type, content)
        return replace(_split(request), takes_interactions=takes_interactions)
    request = REQUESTS[method]
    read = rest_request.from_json if "table" in files_of(method) else canonical.decode
    return _split(read(content, request))


def _answer(content: bytes) -> RequestParts:
    return RequestParts(canonical.encode(_kept(content, ExplainResponse)).encode())


def _model(content: bytes) -> RequestParts:
    return RequestParts(b"", RequestFile("onnx", model_files.from_message(content)))


def _partials(content: bytes) -> RequestParts:
    try:
        separated = list(separate_parts(content))
    except ValueError:
        raise _damaged() from None
    parts = [canonical.encode(_kept(part, PartialExplanation)) for part in separated]
    return RequestParts(f'{{"partials": [{", ".join(parts)}]}}'.encode())


_SERIALISED = {
    ServiceMethod.ANSWER: _answer,
    ServiceMethod.PARTS: _partials,
    ServiceMethod.MODEL: _model,
}


def _kept(content: bytes, kind: type[AnyMessage]) -> AnyMessage:
    try:
        return kind.FromString(content)
    except DecodeError:
        raise _damaged() from None


def _damaged() -> ExplainError:
    return ExplainError(Reason.INTERNAL, "the stored answer cannot be decoded")


class _Form:
    """Parts of a multipart form by name."""

    def __init__(self, body: BodyReader, boundary: str) -> None:
        parser = MultiPartParser(stream_factory=_in_memory, max_form_parts=_PART_LIMIT)
        self._fields: MultiDict[str, str]
        self._files: MultiDict[str, FileStorage]
        try:
            self._fields, self._files = parser.parse(
                cast("IO[bytes]", body), boundary.encode(), None
            )
        except RequestEntityTooLarge:
            raise _invalid(f"the form has more than {_PART_LIMIT:,} parts") from None
        except ValueError as error:
            raise _invalid(f"the form cannot be read: {error}") from None

    def check_names(self, allowed: set[str]) -> None:
        """Refuse unknown parts."""
        for name in (*self._files, *self._fields):
            if name not in allowed:
                problem = f'unknown part "{name[:100]}"' if name else "a part without a name"
                message = f"{problem}; known here: {', '.join(sorted(allowed))}"
                raise _invalid(message, name[:100] if name else "")

    def file(self, name: str) -> File | None:
        """Return a file; None without it."""
        if name in self._fields:
            message = f"the part {name} is a form field; send it as a file, with a file name"
            raise _invalid(message, name)
        file = _only(name, self._files.getlist(name))
        if file is None:
            return None
        _check_charset(file.mimetype_params)
        return File(_content(file), file.filename or "", file.mimetype)

    def model_files(self) -> list[tuple[str, bytes]]:
        """Return the files beside the model, each by the name of its part's file."""
        if "model_files" in self._fields:
            message = (
                "a part model_files is a form field; send files, with the names that the model has"
            )
            raise _invalid(message, "model_files")
        return [
            (file.filename or "", _content(file)) for file in self._files.getlist("model_files")
        ]

    def text(self) -> bytes:
        """Return the part `request`, a form field or a file; without it, an empty object."""
        files = [file.read() for file in self._files.getlist("request")]
        text = _only("request", [*files, *map(_encoded, self._fields.getlist("request"))])
        return b"{}" if text is None else text


def _in_memory(*_facts: object, **_named_facts: object) -> io.BytesIO:
    """Keep a file in memory: a decoder can write no other."""
    return io.BytesIO()


def _content(file: FileStorage) -> bytes:
    """Return the bytes of a part, which are not copied."""
    stream = file.stream
    return stream.getvalue() if isinstance(stream, io.BytesIO) else stream.read()


def _form_with_rows(form: _Form, kind: type[Any]) -> RequestParts:
    form.check_names({"model", "model_files", "table", "request"})
    file, files = form.file("model"), form.model_files()
    named = replace(file, content=b"") if file else None
    request = rest_request.from_files(named, form.file("table"), form.text(), kind)
    if file and (file.content or files):
        request.ClearField("model")
        return replace(_split(request), model=_together(file, files))
    if files:
        request.model.files.extend(ModelFile(name=name, content=content) for name, content in files)
    return _split(request)


def _together(file: File, files: list[tuple[str, bytes]]) -> RequestFile:
    content = model_files.together(file.content, files) if files else file.content
    return RequestFile("onnx", content)


def _describe_form(form: _Form) -> RequestParts:
    form.check_names({"model", "model_files"})
    if (file := form.file("model")) is None:
        message = "the part model is missing; send the ONNX file under that name"
        raise _invalid(message, "model")
    files = form.model_files()
    if not (file.content or files):
        return _split(DescribeModelRequest(model=Model(content=b"")))
    return RequestParts(b"", _together(file, files))


def _split(message: Any) -> RequestParts:
    """Take model and table out of a message."""
    fields = message.DESCRIPTOR.fields_by_name
    model = _model_part(message.model) if "model" in fields else None
    if model is not None:
        message.ClearField("model")
    table = _table_part(message.table) if "table" in fields else None
    if table is not None:
        message.ClearField("table")
    return RequestParts(message.SerializeToString(), model, table)


def _model_part(model: Model) -> RequestFile | None:
    source = model.WhichOneof("source")
    if model.files and source != "content":
        raise files_beside(source)
    if source == "uri":
        return RequestFile("uri", model.SerializeToString())
    if model.sha256:
        raise pin_without_uri()
    if source == REMOTE_FORM:
        return RequestFile(REMOTE_FORM, model.remote.SerializeToString(deterministic=True))
    if source == "id":
        return RequestFile(identity=model.id)
    if model.files:
        return RequestFile("onnx", model_files.in_one_piece(model))
    return RequestFile("onnx", model.content) if model.content else None


def _table_part(table: Table) -> RequestFile | None:
    source = table.WhichOneof("source")
    if source is None:
        return None
    if source == "id":
        return RequestFile(identity=table.id)
    if source == "uris":
        return RequestFile("uris", table.SerializeToString())
    value = getattr(table, source)
    content = value.SerializeToString(deterministic=True) if source == "columns" else value
    return RequestFile(source, content) if content else None


def _check_charset(parameters: Mapping[str, str]) -> None:
    """Refuse text that is not UTF-8, by the parameters of its media type."""
    charset = parameters.get("charset", "utf-8")
    if charset.lower() not in CHARSETS:
        raise _invalid(f'text in "{charset[:40]}" is not supported; send it in UTF-8')


def _encoded(text: str) -> bytes:
    if "\ufffd" in text:
        # werkzeug's replacement for invalid UTF-8.
        message = r"the part request is not UTF-8, or contains U+FFFD; write that as \ufffd"
        raise _invalid(message, "request")
    return text.encode()


def _only(name: str, parts: list[_Part]) -> _Part | None:
    if len(parts) > 1:
        raise _invalid(f"the part {name} came {len(parts)} times; send it once", name)
    return parts[0] if parts else None


def _invalid(message: str, field: str = "") -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, field)
