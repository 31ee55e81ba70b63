"""Client-streaming uploads over gRPC: checks the parts of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

from onnxplain.v1.upload_pb2 import UploadModelRequest, UploadTableRequest

from onnxplain_server.core.errors import ExplainError, Reason

PART_BYTES = 2**20

_Request = TypeVar("_Request", UploadModelRequest, UploadTableRequest)


def parts(requests: Iterable[_Request]) -> Iterator[bytes]:
    """Yield the parts as they arrive.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if one is too large.
    """
    for request in requests:
        if len(request.content) > PART_BYTES:
            raise ExplainError(
                Reason.INVALID_REQUEST,
                f"a part has {len(request.content):,} bytes; send at most {PART_BYTES:,} in "
                "each message",
                "content",
            )
        yield request.content


def model(requests: Iterable[UploadModelRequest]) -> Iterator[tuple[str, bytes]]:
    """Yield the file of each part of a model, empty for the ONNX file, and the part."""
    for request in requests:
        (content,) = parts([request])
        yield request.file, content


def table(requests: Iterator[UploadTableRequest]) -> tuple[str, Iterator[bytes]]:
    """Return a table's format, read from its first part, and the parts."""
    first = next(requests, UploadTableRequest())
    formats = UploadTableRequest.Format
    if first.format not in {formats.ARROW, formats.PARQUET, formats.CSV}:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            "the first message names no format: ARROW, PARQUET or CSV",
            "format",
        )
    return formats.Name(first.format).lower(), parts(chain([first], requests))
