"""Bodies of REST requests, by their headers: what a decoder, a runner or a store gets as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO

from flask import request
from werkzeug.exceptions import BadRequest, LengthRequired, UnsupportedMediaType

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Body, RequestFile, RequestParts, ServiceMethod
from onnxplain_server.transport.rest import compression, query
from onnxplain_server.wire.calls import files_of
from onnxplain_server.wire.media_types import (
    BINARY_TENSORS,
    CHARSETS,
    CSV_TYPES,
    FORM,
    JSON,
    JSON_LENGTH,
    MODEL_TYPES,
    TABLE_FORMATS,
    table_form,
)

_PART_BYTES = 2**20
_MOST_DIGITS = 16
_JSON_LENGTH = "Inference-Header-Content-Length"


def of(method: ServiceMethod) -> Body | RequestParts:
    """Return the current request's body: JSON, a form with files, or the bytes of a model alone."""
    kind, files, is_model = _media_type(), files_of(method), method is ServiceMethod.DESCRIBE
    if is_model and kind in MODEL_TYPES:
        content = b"".join(_parts())
        if not content:
            raise ExplainError(Reason.INVALID_MODEL, "the model is empty: 0 bytes", "model")
        return RequestParts(b"", RequestFile("onnx", content))
    if kind == JSON or (files and kind == FORM):
        return _body(method)
    alone = f"{MODEL_TYPES[0]}, " if is_model else ""
    named = f"the file{'s' * (len(files) > 1)} {' and '.join(files)}"
    form = f", or {FORM} with {named}" if files else ""
    raise UnsupportedMediaType(f"send {alone}{JSON}{form}")


def uploaded_model(byte_limit: int) -> Iterator[tuple[str, bytes]] | Body:
    """Return the current request's body: a model's bytes in parts, or a form with its files.

    Of a form in gzip, `byte_limit` bounds what it unpacks to; bytes alone are counted as they come.
    """
    kind = _media_type()
    if kind == FORM:
        return _body(ServiceMethod.DESCRIBE, byte_limit)
    if kind not in MODEL_TYPES:
        kinds = " or ".join(MODEL_TYPES)
        raise UnsupportedMediaType(
            f"send the model's bytes as {kinds}; with its external data {FORM} with the files "
            "model and model_files"
        )
    return (("", part) for part in _parts())


def table_parts() -> tuple[str, Iterator[bytes]]:
    """Read the current request's body: a table's format, and its bytes in parts.

    Raises
    ------
    ExplainError
        INVALID_TABLE for a type that is no table's, and INVALID_REQUEST for a parameter `format`
        that is no format, or not that of the type.
    """
    kind = _media_type()
    told = query.parameters("format").get("format", "")
    if told not in {"", *TABLE_FORMATS}:
        raise query.invalid(f"format must be one of {', '.join(TABLE_FORMATS)}", "format")
    if told and kind == MODEL_TYPES[0]:
        return TABLE_FORMATS[told], _parts()
    form = table_form(kind)
    if told and TABLE_FORMATS[told] != form:
        raise query.invalid(f"format is {told}, and the Content-Type is {kind}", "format")
    return form, _parts()


def rows() -> tuple[str, Iterator[bytes]]:
    """Read the current request's body with rows for an explainer: its type, its bytes in parts."""
    length = request.headers.get(_JSON_LENGTH)
    if length is not None:
        if not (length.isascii() and length.isdecimal() and len(length) < _MOST_DIGITS):
            raise BadRequest(f"{_JSON_LENGTH} must be the number of bytes of the JSON")
        return f"{BINARY_TENSORS}; {JSON_LENGTH}={length}", _parts()
    if _media_type() not in {JSON, *CSV_TYPES}:
        raise UnsupportedMediaType(f"send {JSON} or {CSV_TYPES[0]}")
    return request.content_type or "", _parts()


def _body(method: ServiceMethod, byte_limit: int | None = None) -> Body:
    # Another thread may read it, without Flask's request.
    stream, is_packed = request.environ["wsgi.input"], compression.is_packed()
    most = byte_limit or request.max_content_length or 0

    def parts() -> Iterator[bytes]:
        stream.seek(0)
        slices = _slices(stream)
        return compression.unpacked(slices, most) if is_packed else slices

    return Body(method, request.content_type or "", parts)


def _parts() -> Iterator[bytes]:
    slices = _slices(request.stream)
    if not compression.is_packed():
        return slices
    return compression.unpacked(slices, request.max_content_length or 0)


def _slices(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(_PART_BYTES), b"")


def _media_type() -> str:
    if request.content_length is None:
        raise LengthRequired
    compression.is_packed()
    _check_charset(request.mimetype_params)
    if request.mimetype == FORM and not request.mimetype_params.get("boundary"):
        message = f"the Content-Type {FORM} needs a boundary"
        raise ExplainError(Reason.INVALID_REQUEST, message)
    return request.mimetype


def _check_charset(parameters: Mapping[str, str]) -> None:
    charset = parameters.get("charset", "utf-8")
    if charset.lower() not in CHARSETS:
        raise UnsupportedMediaType(f'text in "{charset[:40]}" is not supported; send it in UTF-8')
