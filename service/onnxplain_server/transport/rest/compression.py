"""Compression of REST bodies by gzip, both ways; of requests, what they unpack to has a limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from flask import Flask, Response, request
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from onnxplain_server.core.errors import ExplainError, Reason

GZIP = "gzip"
_IDENTITY = "identity"
_LEAST_BYTES = 1_024
"""Of an answer: less is not worth the header."""
_LEVEL = 1
"""The fastest: an answer is compressed once, and while its caller waits."""
_PART_BYTES = 2**20
_GZIP_WINDOW = 31


def is_packed() -> bool:
    """Tell whether the current request's body is compressed.

    Raises
    ------
    UnsupportedMediaType
        If it is in another way than by gzip.
    """
    encoding = request.headers.get("Content-Encoding", _IDENTITY).lower()
    if encoding not in {_IDENTITY, GZIP}:
        raise UnsupportedMediaType(f"send the body with Content-Encoding {GZIP}, or as it is")
    return encoding == GZIP


def unpacked(parts: Iterator[bytes], byte_limit: int) -> Iterator[bytes]:
    """Yield the content of a compressed body, never more than a MiB at a time.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if it is not one gzip member.
    RequestEntityTooLarge
        Beyond the limit.
    """
    unpacker, count = zlib.decompressobj(_GZIP_WINDOW), 0
    for part in parts:
        rest = part
        while rest:
            if unpacker.eof:
                raise _broken("has more behind its end")
            try:
                content = unpacker.decompress(rest, _PART_BYTES)
            except zlib.error:
                raise _broken("cannot be unpacked") from None
            rest = unpacker.unused_data or unpacker.unconsumed_tail
            count += len(content)
            if count > byte_limit:
                raise RequestEntityTooLarge(f"the body unpacks to more than {byte_limit:,} bytes")
            yield content
    if not unpacker.eof:
        raise _broken("is cut")


def install(app: Flask) -> None:
    """Compress answers in JSON for clients that accept it."""

    @app.after_request
    def pack(response: Response) -> Response:
        parts = response.response
        if not (isinstance(parts, list | tuple) and (response.mimetype or "").endswith("json")):
            return response
        if sum(map(len, parts)) < _LEAST_BYTES:
            return response
        response.vary.add("Accept-Encoding")
        if request.accept_encodings[GZIP]:
            response.set_data(gzip.compress(response.get_data(), _LEVEL, mtime=0))
            response.headers["Content-Encoding"] = GZIP
        return response


def _broken(fault: str) -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, f"the body, in gzip, {fault}")
