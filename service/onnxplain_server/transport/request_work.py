"""What is known of a request's work before it is decoded, from its size and top-level fields."""

from __future__ import annotations

import hashlib

from onnxplain_server.core.request import AnyRequest, RequestParts
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.work_estimates import WorkKey
from onnxplain_server.wire.protobuf_split import method_names

_QUESTION_BYTES = 2**16
"""Longest question that is looked into: others take long to scan, and hold tables."""


def work_key(kind: str, request: AnyRequest, caller: Caller) -> WorkKey:
    """Return what requests of a kind, of which this is one, are measured by."""
    size = caller.usage.received_byte_count
    if not isinstance(request, RequestParts) or len(request.envelope) > _QUESTION_BYTES:
        return WorkKey(caller.key, kind, size)
    model = request.model.blob_id if request.model is not None else None
    table = request.table.blob_id if request.table is not None else None
    question = hashlib.sha256(request.envelope + (table or "").encode()).digest()
    return WorkKey(caller.key, kind, size, method_names(request.envelope), model or "", question)


def message_bytes(request: AnyRequest) -> int:
    """Return the memory of a request that waits; bodies of REST are kept elsewhere."""
    if not isinstance(request, RequestParts):
        return 0
    files = [file for file in (request.model, request.table) if file is not None]
    return len(request.envelope) + sum(len(file.content) for file in files)
