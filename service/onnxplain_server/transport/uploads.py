"""Uploads: models and tables stored once, and referred to by later requests of the same caller.

Files that a request holds itself are named by the same ids, so runners see both alike.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blob, Blobs, BlobStore
from onnxplain_server.core.request import REMOTE_FORM, RequestFile, RequestParts, ServiceMethod
from onnxplain_server.transport.admission.admission import Caller, RequestIds, RequestLimits
from onnxplain_server.transport.admission.size_limits import SizeLimit
from onnxplain_server.transport.audit.usage import Usage
from onnxplain_server.wire.blobs import check_id, identify, not_found
from onnxplain_server.wire.protobuf_split import method_names
from onnxplain_server.wire.requests.request_messages import REQUESTS

_MODEL_FORM = "onnx"
_FILE_FIELDS = {_MODEL_FORM: "content"}
"""Fields of files whose name is not that of their format."""

_FETCHED_FIELDS = {"model": "model.uri", "table": "table.uris"}


@dataclass(frozen=True, slots=True, eq=False)
class NamedRequest:
    """Request that names its model and its table by id.

    Attributes
    ----------
    message : bytes
        The serialised request.
    blobs : Blobs
        The files by id.
    ids : RequestIds
    """

    message: bytes
    blobs: Blobs
    ids: RequestIds

    def tell(self, usage: Usage) -> None:
        """Tell a usage what it names."""
        usage.read(self.ids.model, self.ids.table, method_names(self.message))


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

    def put_model(self, parts: Iterable[bytes], caller: Caller) -> str:
        """Store an ONNX file and return its id.

        Raises
        ------
        ExplainError
            INVALID_REQUEST if it is empty; MODEL_TOO_LARGE.
        """
        content = _joined(_limited(parts, self.limits["model"]))
        return self._put("model", Blob(_MODEL_FORM, content), caller)

    def put_table(self, form: str, parts: Iterable[bytes], caller: Caller) -> str:
        """Store a table in this format and return its id; may raise TABLE_TOO_LARGE."""
        content = _joined(_limited(parts, self.limits["table"]))
        return self._put("table", Blob(form, content), caller)

    def name(self, method: ServiceMethod, parts: RequestParts, caller: Caller) -> NamedRequest:
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

    def _file(self, kind: str, part: RequestFile, caller: Caller) -> tuple[str, Blob]:
        """Return the id of a file, and the file."""
        if part.blob_id is not None:
            return part.blob_id, replace(self._find(kind, part.blob_id, caller), field=f"{kind}.id")
        self._request_limits.sizes[kind].check(len(part.content))
        return _inline(kind, part)

    def _put(self, kind: str, blob: Blob, caller: Caller) -> str:
        if not blob.content:
            raise ExplainError(Reason.INVALID_REQUEST, f"the {kind} is empty; send the file", kind)
        blob_id = identify(blob.content)
        self._store.put(_name(kind, blob_id, caller), blob)
        return blob_id

    def _find(self, kind: str, blob_id: str, caller: Caller) -> Blob:
        check_id(kind, blob_id)
        blob = self._store.get(_name(kind, blob_id, caller))
        if blob is None:
            raise not_found(kind, blob_id)
        return blob


def name_inline(method: ServiceMethod, parts: RequestParts) -> NamedRequest:
    """Name the files of a request that holds all of them itself."""
    given = (("model", parts.model), ("table", parts.table))
    files = {kind: _inline(kind, part) for kind, part in given if part is not None}
    return _named(method, parts.envelope, files)


def _named(
    method: ServiceMethod, envelope: bytes, files: dict[str, tuple[str, Blob]]
) -> NamedRequest:
    ids = {kind: blob_id for kind, (blob_id, _) in files.items()}
    form = files["table"][1].form if "table" in files else ""
    # Of fields that stand twice, parsers take the last one: these.
    message = envelope + _references(method, ids)
    return NamedRequest(message, dict(files.values()), RequestIds(**ids, table_form=form))


def _inline(kind: str, part: RequestFile) -> tuple[str, Blob]:
    field = f"{kind}.{_FILE_FIELDS.get(part.form, part.form)}"
    if part.receipt:
        field = _FETCHED_FIELDS[kind]
    identity = identify(part.content)
    if part.form == REMOTE_FORM:  # of the address: there is no file
        identity = f"{REMOTE_FORM}:{identity.partition(':')[2]}"
    return identity, Blob(part.form, part.content, field, part.receipt)


def _joined(parts: Iterable[bytes]) -> bytes:
    """Join parts as they arrive; joining a list would need memory for the file twice."""
    file = io.BytesIO()
    for part in parts:
        file.write(part)
    return file.getvalue()


def _limited(parts: Iterable[bytes], limit: SizeLimit) -> Iterator[bytes]:
    """Yield parts, and raise as soon as their total size exceeds the limit."""
    size = 0
    for part in parts:
        size += len(part)
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
