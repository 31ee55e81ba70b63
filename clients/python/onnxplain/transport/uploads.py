"""Uploads: files sent once, in parts, and referenced by their id afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

from onnxplain.errors import ExplainError
from onnxplain.transport.rpcs import Request
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.upload_pb2 import UploadModelRequest, UploadTableRequest

File: TypeAlias = Model | Table
"""A model or a table with the bytes of a file inside."""

PART_BYTES = 2**20
"""The largest part of a file that the contract allows."""

_KINDS = ("model", "table")
_FORMS = frozenset({"content", "arrow", "parquet", "csv"})


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Reference to an uploaded model, in place of the model.

    Attributes
    ----------
    id : str
        "sha256:" and the hexadecimal digest of the file.
    content : bytes
        The file, to upload again where the server has evicted it; empty if unknown.
    name : str
        Name of the file, for titles; may be empty.
    """

    id: str
    content: bytes = field(default=b"", repr=False)
    name: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class TableRef:
    """Reference to an uploaded table, in place of the table.

    Attributes
    ----------
    id : str
        "sha256:" and the hexadecimal digest of the file.
    content : bytes
        The file, to upload again where the server has evicted it; empty if unknown.
    format : str
        Of the file: "arrow", "parquet" or "csv".
    """

    id: str
    content: bytes = field(default=b"", repr=False)
    format: str = "arrow"


def files_of(*references: Any) -> list[File]:
    """Return the files of references; other arguments have none."""
    files: list[File] = []
    for reference in references:
        if isinstance(reference, ModelRef) and reference.content:
            files.append(Model(content=reference.content))
        if isinstance(reference, TableRef) and reference.content:
            form: dict[str, Any] = {reference.format: reference.content}
            files.append(Table(**form))
    return files


def content_of(file: File) -> bytes:
    """Return the bytes of the file; none where it is not a file."""
    form = str(file.WhichOneof("source"))
    return bytes(getattr(file, form)) if form in _FORMS else b""


def model_parts(file: Model, size: int) -> Iterator[UploadModelRequest]:
    """Split a model into parts of `size` bytes."""
    for part in _parts(content_of(file), size):
        yield UploadModelRequest(content=part)


def table_parts(file: Table, size: int) -> Iterator[UploadTableRequest]:
    """Split a table likewise; each part has the format."""
    form = str(file.WhichOneof("source")).upper()
    for part in _parts(content_of(file), size):
        yield UploadTableRequest(format=form, content=part)


def _parts(content: bytes, size: int) -> Iterator[bytes]:
    view = memoryview(content)
    for start in range(0, max(len(view), 1), size):  # an empty file has a part too
        yield bytes(view[start : start + size])


class PendingRequest(Generic[Request]):
    """Request with the files that it references by id, for upload on demand.

    Parameters
    ----------
    request : Message
        Not changed.
    files : sequence of File
        Files that it references by id, as far as they are known.
    limit : int
        Largest message in bytes: a larger one references its files by id, the largest first.
        They are uploaded only if the server lacks them.

    Attributes
    ----------
    request : Message
        Message to send.
    """

    def __init__(self, request: Request, files: Sequence[File], limit: int) -> None:
        self.request: Request = request
        self._files: dict[str, File] = {_kind(file): file for file in files}
        while self.request.ByteSize() > limit and (kind := self._largest()):
            self._name(kind)

    def missing(self, error: ExplainError) -> File | None:
        """Return the file that the server lacks, once; None for other errors."""
        kind = error.field.partition(".")[0]
        return self._files.pop(kind, None) if error.reason == "BLOB_NOT_FOUND" else None

    def _largest(self) -> str | None:
        files = {kind: getattr(self.request, kind) for kind in _KINDS if _has(self.request, kind)}
        return max(files, key=lambda kind: files[kind].ByteSize(), default=None)

    def _name(self, kind: str) -> None:
        """Replace the bytes of a file by its id, without a copy of the bytes."""
        file = getattr(self.request, kind)
        named = type(self.request)()
        for descriptor, value in self.request.ListFields():
            if descriptor.name == kind:
                getattr(named, kind).id = f"sha256:{hashlib.sha256(content_of(file)).hexdigest()}"
            elif hasattr(value, "MergeFrom"):
                getattr(named, descriptor.name).MergeFrom(value)
            else:
                setattr(named, descriptor.name, value)
        self._files[kind] = file
        self.request = named


def _has(request: Any, kind: str) -> bool:
    """Tell whether a request contains a file."""
    return hasattr(request, kind) and getattr(request, kind).WhichOneof("source") in _FORMS


def _kind(file: File) -> str:
    return "model" if isinstance(file, Model) else "table"
