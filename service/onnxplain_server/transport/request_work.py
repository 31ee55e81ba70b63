"""Keys of work: the size and the top-level fields of a request, read before it is decoded."""

from __future__ import annotations

import hashlib

from onnxplain_server.core.request import AnyRequest, RequestParts
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.work_estimates import WorkKey
from onnxplain_server.wire.protobuf_split import method_names

_QUESTION_BYTES = 2**16
"""Longest question that is looked into: others take long to scan, and hold tables."""


def known_work(kind: str, request: AnyRequest | None, caller: Caller) -> tuple[WorkKey | None, int]:
    """Return what a request is measured by, and its memory; nothing of an operation's."""
    return (None, 0) if request is None else (_key(kind, request, caller), _memory(request))


def _key(kind: str, request: AnyRequest, caller: Caller) -> WorkKey:
    """Return what requests of a kind, of which this is one, are measured by."""
    size = caller.usage.received_byte_count
    if not isinstance(request, RequestParts) or len(request.envelope) > _QUESTION_BYTES:
        return WorkKey(caller.key, kind, size)
    model = request.model.identity if request.model is not None else None
    table = request.table.identity if request.table is not None else None
    question = hashlib.sha256(request.envelope + (table or "").encode()).digest()
    return WorkKey(caller.key, kind, size, method_names(request.envelope), model or "", question)


def _memory(request: AnyRequest) -> int:
    """Return the memory of a request that waits; bodies of REST are kept elsewhere."""
    if not isinstance(request, RequestParts):
        return 0
    files = [file for file in (request.model, request.table) if file is not None]
    return len(request.envelope) + sum(len(file.content) for file in files)
