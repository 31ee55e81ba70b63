"""Program of decoders: they read bodies of REST, and import nothing that computes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.table_pb2 import Column, Columns, Table

from onnxplain_server.adapters.workers.ipc import arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.worker_loop import Answerer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.telemetry.spans import span
from onnxplain_server.wire import rest_body
from onnxplain_server.wire.kept_parts import join_parts

_DOCUMENT = (
    b'{"model": {"content": "bQ=="},'
    b' "dataframe_split": {"columns": ["a"], "data": [[1.5], [null]]},'
    b' "methods": [{"interactions": {"pairwiseFeatureCount": 5}}], "modelName": "\\u00e9"}'
)
_FORM = (
    b"--b\r\nContent-Disposition: form-data; name=model; filename=m\r\n\r\nm\r\n"
    b"--b\r\nContent-Disposition: form-data; name=table; filename=t.csv\r\n"
    b"Content-Type: text/csv; charset=utf-8\r\n\r\na\r\n"
    b'--b\r\nContent-Disposition: form-data; name=request\r\n\r\n{"seed": 1}\r\n--b--\r\n'
)
_TEMPLATE = ExplainRequest(
    table=Table(columns=Columns(columns=[Column(name="a", numbers=[1.5, 2.5])])),
    methods=[MethodOptions(feature_vectors=FeatureVectorsOptions())],
).SerializeToString()
_ROWS = (("application/json", b'{"instances": [[1.5]]}'), ("text/csv", b"a\n1"))
_REFUSED = (b"{", b'{"a": 1}', b'{"seed": "x"}', b'{"modelName": "\\ud800"}', b"\xff")


def load() -> None:
    """Decode a body of each kind once: decoders cannot open files, and so import nothing later."""
    rest_body.decode(ServiceMethod.EXPLAIN, "application/json", _DOCUMENT)
    rest_body.decode(ServiceMethod.EXPLAIN, "multipart/form-data; boundary=b", _FORM)
    rest_body.decode(ServiceMethod.ANSWER, "", b"")
    rest_body.decode(ServiceMethod.PARTS, "", bytes(4))
    rest_body.decode(ServiceMethod.MODEL, "", b"")
    for media_type, rows in _ROWS:
        content = b"".join(join_parts([_TEMPLATE, rows]))
        rest_body.decode(ServiceMethod.ROWS, media_type, content)
    for document in _REFUSED:
        with suppress(ExplainError):
            rest_body.decode(ServiceMethod.EXPLAIN, "application/json", document)


def answerers(_settings: WorkerSettings) -> Mapping[FrameKind, Answerer]:
    """Return the functions that answer, by the kind of the request's frame."""
    return {FrameKind.DECODE: _decode}


def _decode(arena: Arena, payload: bytes, _host: RemoteHost) -> bytes:
    with span("decode"):
        parts = rest_body.decode(*arena_request.unpack_body(arena, payload))
    try:
        return arena_reply.pack_parts(arena, parts)
    except ValueError:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"the request, decoded, has more than {arena.byte_count:,} bytes; send large tables "
            "as files",
        ) from None
