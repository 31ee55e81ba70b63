"""Uploads: models and tables stored once, and referred to by later requests of the same caller.

Files that a request holds itself are named by the same ids, so runners see both alike.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from onnxplain.v1.model_pb2 import Model, ModelFile
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import BlobStore, Call
from onnxplain_server.core.request import (
    FILES_FORM,
    REMOTE_FORM,
    Body,
    RequestFile,
    RequestIds,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.admission.size_limits import SizeLimit
from onnxplain_server.wire.blobs import check_id, identify, not_found
from onnxplain_server.wire.calls import REQUESTS
from onnxplain_server.wire.requests.model_outline import check_outline

_EMPTY = {"model": Reason.INVALID_MODEL, "table": Reason.INVALID_TABLE}
_MODEL_FORM = "onnx"
_FILE_FIELDS = {_MODEL_FORM: "content"}
"""Fields of files whose name is not that of their format."""

UploadedPart: TypeAlias = tuple[str, bytes]
"""Name of a file beside the model, empty for the ONNX file, and the next bytes of it."""

UploadedModel: TypeAlias = Iterable[UploadedPart] | Body
"""Parts of a model, or a form with its files."""

_FETCHED_FIELDS = {"model": "model.uri", "table": "table.uris"}


class Uploads:
    """Stores uploaded files and finds them for the same caller.

    Parameters
    ----------
    store : BlobStore
        Stores the files.
    limits : RequestLimits
        Size limits.

    Attributes
    ----------
    limits : mapping of "model" and "table" to SizeLimit
        What is taken: the smaller one of the limit of a request and that of the store.
    """

    def __init__(self, store: BlobStore, limits: RequestLimits) -> None:
        self._store = store
        self._request_limits = limits
        self.limits = {
            part: min(
                limit,
                SizeLimit(part, store.byte_limit, "upload_bytes"),
                key=lambda size: size.byte_count,
            )
            for part, limit in limits.sizes.items()
        }

    def read_model(self, given: UploadedModel) -> RequestFile | Body:
        """Read the parts of a model, in one file or in several; may raise MODEL_TOO_LARGE."""
        if isinstance(given, Body):
            return given
        files = _by_file(_limited(given, self.limits["model"]))
        content = files.pop("", b"")
        if not files:
            return RequestFile(_MODEL_FORM, content)
        message = Model(content=content)
        for name in list(files):  # each is let go once it is copied
            message.files.append(ModelFile(name=name, content=files.pop(name)))
        return RequestFile(FILES_FORM, message.SerializeToString())

    def put_model(self, content: bytes | bytearray, caller: Caller) -> str:
        """Store an ONNX file and return its id.

        Raises
        ------
        ExplainError
            INVALID_MODEL if it is empty, or none; MODEL_TOO_LARGE.
        """
        limit = self.limits["model"]
        if len(content) > limit.byte_count:
            raise limit.upload_refusal()
        check_outline(content)
        return self._put("model", RequestFile(_MODEL_FORM, content), caller)

    def put_table(self, form: str, parts: Iterable[bytes], caller: Caller) -> str:
        """Store a table in this format and return its id.

        Raises
        ------
        ExplainError
            INVALID_TABLE if it is empty; TABLE_TOO_LARGE.
        """
        files = _by_file(_limited((("", part) for part in parts), self.limits["table"]))
        return self._put("table", RequestFile(form, files.get("", b"")), caller)

    def name(self, method: ServiceMethod, parts: RequestParts, caller: Caller) -> Call:
        """Name a request's files by id: hash those that it holds, and find uploaded ones.

        Raises
        ------
        ExplainError
            INVALID_REQUEST if an id is malformed; BLOB_NOT_FOUND, MODEL_TOO_LARGE,
            TABLE_TOO_LARGE.
        """
        files = {
            kind: self._file(kind, part, caller)
            for kind, part in (("model", parts.model), ("table", parts.table))
            if part is not None
        }
        return _named(method, parts.envelope, files)

    def _file(self, kind: str, part: RequestFile, caller: Caller) -> RequestFile:
        """Return a file with its id, as the request holds it or as it was uploaded."""
        if part.identity is not None:
            stored = self._find(kind, part.identity, caller)
            return replace(stored, field=f"{kind}.id", identity=part.identity)
        self._request_limits.sizes[kind].check(len(part.content))
        return _inline(kind, part)

    def _put(self, kind: str, blob: RequestFile, caller: Caller) -> str:
        if not blob.content:
            raise ExplainError(_EMPTY[kind], f"the {kind} is empty: 0 bytes", kind)
        blob_id = identify(blob.content)
        self._store.put(_name(kind, blob_id, caller), blob)
        return blob_id

    def _find(self, kind: str, blob_id: str, caller: Caller) -> RequestFile:
        check_id(kind, blob_id)
        blob = self._store.get(_name(kind, blob_id, caller))
        if blob is None:
            raise not_found(kind, blob_id)
        return blob


def name_inline(method: ServiceMethod, parts: RequestParts) -> Call:
    """Name the files of a request that holds all of them itself."""
    given = (("model", parts.model), ("table", parts.table))
    files = {kind: _inline(kind, part) for kind, part in given if part is not None}
    return _named(method, parts.envelope, files)


def _named(method: ServiceMethod, envelope: bytes, files: dict[str, RequestFile]) -> Call:
    ids = {kind: file.identity or "" for kind, file in files.items()}
    form = files["table"].form if "table" in files else ""
    # Of fields that stand twice, parsers take the last one: these.
    message = envelope + _references(method, ids)
    blobs = {ids[kind]: file for kind, file in files.items()}
    return Call(method, message, blobs, ids=RequestIds(**ids, table_form=form))


def _inline(kind: str, part: RequestFile) -> RequestFile:
    field = f"{kind}.{_FILE_FIELDS.get(part.form, part.form)}"
    if part.receipt:
        field = _FETCHED_FIELDS[kind]
    identity = identify(part.content)
    if part.form == REMOTE_FORM:  # of the address: there is no file
        identity = f"{REMOTE_FORM}:{identity.partition(':')[2]}"
    return replace(part, field=field, identity=identity)


def _by_file(parts: Iterable[UploadedPart]) -> dict[str, bytes]:
    """Join the parts of each file as they arrive: a list would need memory for it twice.

    Raises
    ------
    ExplainError
        INVALID_REQUEST where the parts of a file do not follow each other.
    """
    files: dict[str, bytes] = {}
    for name, group in itertools.groupby(parts, key=lambda part: part[0]):
        if name in files or (name and "" not in files):
            message = "parts of a file follow each other, those of the ONNX file first"
            raise ExplainError(Reason.INVALID_REQUEST, message, "file")
        file = io.BytesIO()
        for _, part in group:
            file.write(part)
        files[name] = file.getvalue()
    return files


def _limited(parts: Iterable[UploadedPart], limit: SizeLimit) -> Iterator[UploadedPart]:
    """Yield parts, and raise as soon as their total size exceeds the limit."""
    size = 0
    for part in parts:
        size += len(part[0]) + len(part[1])
        if size > limit.byte_count:
            raise limit.upload_refusal()
        yield part


def _references(method: ServiceMethod, ids: dict[str, str]) -> bytes:
    """Serialise the fields that name the files of a request."""
    files = {"model": Model, "table": Table}
    named = {kind: files[kind](id=blob_id) for kind, blob_id in ids.items()}
    return bytes(REQUESTS[method](**named).SerializeToString())


def _name(kind: str, blob_id: str, caller: Caller) -> str:
    """Name a file such that callers find only their own uploads."""
    return f"{hashlib.sha256(caller.name.encode()).hexdigest()}:{kind}:{blob_id}"
