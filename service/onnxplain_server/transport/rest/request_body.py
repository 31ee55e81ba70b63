"""Decoding of REST request bodies: JSON, multipart forms and binary uploads to messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from flask import request
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model
from werkzeug.exceptions import LengthRequired, UnsupportedMediaType

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical, rest_request
from onnxplain_server.wire.rest_request import File

_JSON = "application/json"
_FORM = "multipart/form-data"
_MODEL_TYPES = ("application/octet-stream", "application/onnx")

_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii"}

_PART_BYTES = 2**20

_Part = TypeVar("_Part")


def explain_request() -> ExplainRequest:
    """Read the current request's body."""
    match _media_type():
        case "application/json":
            return rest_request.from_json(request.get_data(cache=False))
        case "multipart/form-data":
            _check_parts({"model", "table", "request"})
            return rest_request.from_files(_file("model"), _file("table"), _text())
    raise UnsupportedMediaType(f"send {_JSON}, or {_FORM} with the files model and table")


def describe_request() -> DescribeModelRequest:
    """Read the current request's body: JSON, a form with the file, or the model's bytes."""
    match _media_type():
        case "application/json":
            return canonical.decode(request.get_data(cache=False), DescribeModelRequest)
        case "multipart/form-data":
            _check_parts({"model"})
            return DescribeModelRequest(model=Model(content=_model_file().content))
        case kind if kind in _MODEL_TYPES:
            return DescribeModelRequest(model=Model(content=request.get_data(cache=False)))
    raise UnsupportedMediaType(f"send {_MODEL_TYPES[0]}, {_JSON}, or {_FORM} with the file model")


def model_parts() -> Iterator[bytes]:
    """Read the current request's body: a model's bytes, in parts."""
    if _media_type() not in _MODEL_TYPES:
        raise UnsupportedMediaType(f"send the model's bytes as {' or '.join(_MODEL_TYPES)}")
    return _parts()


def table_parts() -> tuple[str, Iterator[bytes]]:
    """Read the current request's body: a table's format, and its bytes in parts."""
    return rest_request.table_form(_media_type()), _parts()


def _parts() -> Iterator[bytes]:
    return iter(lambda: bytes(request.stream.read(_PART_BYTES)), b"")


def _media_type() -> str:
    if request.content_length is None:
        raise LengthRequired
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType(
            "compressed bodies are not supported; send the body uncompressed"
        )
    _check_charset(request.mimetype_params)
    if request.mimetype == _FORM and not request.mimetype_params.get("boundary"):
        message = f"the Content-Type {_FORM} needs a boundary"
        raise ExplainError(Reason.INVALID_REQUEST, message)
    return request.mimetype


def _check_charset(parameters: Mapping[str, str]) -> None:
    charset = parameters.get("charset", "utf-8")
    if charset.lower() not in _CHARSETS:
        raise UnsupportedMediaType(f'text in "{charset[:40]}" is not supported; send it in UTF-8')


def _check_parts(allowed: set[str]) -> None:
    for name in (*request.files, *request.form):
        if name not in allowed:
            problem = f'unknown part "{name[:100]}"' if name else "a part without a name"
            message = f"{problem}; known here: {', '.join(sorted(allowed))}"
            raise ExplainError(Reason.INVALID_REQUEST, message, name[:100] if name else "")


def _model_file() -> File:
    if (file := _file("model")) is None:
        message = "the part model is missing; send the ONNX file under that name"
        raise ExplainError(Reason.INVALID_REQUEST, message, "model")
    return file


def _file(name: str) -> File | None:
    if name in request.form:
        message = f"the part {name} is a form field; send it as a file, with a file name"
        raise ExplainError(Reason.INVALID_REQUEST, message, name)
    file = _only(name, request.files.getlist(name))
    if file is None:
        return None
    _check_charset(file.mimetype_params)
    return File(bytes(file.read()), file.filename or "", file.mimetype)


def _text() -> bytes:
    """Return the part `request`, which may be a form field or a file; without it, an empty one."""
    files = [bytes(file.read()) for file in request.files.getlist("request")]
    text = _only("request", [*files, *map(_encoded, request.form.getlist("request"))])
    return b"{}" if text is None else text


def _encoded(text: str) -> bytes:
    if "\ufffd" in text:
        # werkzeug's replacement for invalid UTF-8.
        message = r"the part request is not UTF-8, or contains U+FFFD; write that as \ufffd"
        raise ExplainError(Reason.INVALID_REQUEST, message, "request")
    return text.encode()


def _only(name: str, parts: list[_Part]) -> _Part | None:
    if len(parts) > 1:
        message = f"the part {name} came {len(parts)} times; send it once"
        raise ExplainError(Reason.INVALID_REQUEST, message, name)
    return parts[0] if parts else None
