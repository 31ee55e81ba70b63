"""Readers of bytes of others, as functions of bytes: an answer, a refusal, or a fault of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import credential_targets
import operation_targets
import outer_targets
import remote_session_targets
import remote_targets
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc import arena_reply, payloads
from onnxplain_server.adapters.workers.ipc.arena import Arena, create
from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import ReplyFormat, ServiceMethod
from onnxplain_server.explain.prediction.expressions import read_predictions
from onnxplain_server.language.parse import parse
from onnxplain_server.language.tree import ValueKind
from onnxplain_server.wire import (
    canonical,
    protobuf_split,
    question,
    rest_body,
    rest_request,
    table,
)
from onnxplain_server.wire.rest_request import File

_KINDS = {"a": ValueKind.NUMBER, "city": ValueKind.TEXT}
_SIGNER = Signer(b"a secret of the tests")


def canonical_json(given: bytes) -> None:
    """JSON of a request: what is read can be written and read again."""
    with suppress(ExplainError):
        request = canonical.decode(given, ExplainRequest)
        again = canonical.decode(canonical.encode(request).encode(), ExplainRequest)
        assert again.SerializeToString(deterministic=True) == request.SerializeToString(
            deterministic=True
        )


def rest_json(given: bytes) -> None:
    """JSON of a request, with the forms of tables that REST takes."""
    with suppress(ExplainError):
        request = rest_request.from_json(given, ExplainRequest)
        question.read(request)
        table.read(request.table)


def rest_files(given: bytes) -> None:
    """Files beside JSON: the first line is the request, the rest a table."""
    text, _, content = given.partition(b"\n")
    with suppress(ExplainError):
        rest_request.from_files(None, File(content, "t.csv", "text/csv"), text, ExplainRequest)


def rest_form(given: bytes) -> None:
    """A multipart form, as decoders split it."""
    with suppress(ExplainError):
        rest_body.decode(ServiceMethod.EXPLAIN, "multipart/form-data; boundary=b", given)


def split_message(given: bytes) -> None:
    """A serialised request, whose top-level fields alone are read."""
    for method in (ServiceMethod.EXPLAIN, ServiceMethod.DESCRIBE):
        with suppress(ExplainError):
            protobuf_split.split(given, method)
    with suppress(ExplainError):
        protobuf_split.request_of_stream(given)


def message(given: bytes) -> None:
    """A serialised request."""
    request = ExplainRequest()
    with suppress(ExplainError):
        question.parse(given, request)
        question.read(request)


def csv(given: bytes) -> None:
    """A table in CSV."""
    with suppress(ExplainError):
        table.read(Table(csv=given))


def arrow(given: bytes) -> None:
    """A table in Arrow's format of streams or files."""
    with suppress(ExplainError):
        table.read(Table(arrow=given))


def parquet(given: bytes) -> None:
    """A table in Parquet."""
    with suppress(ExplainError):
        table.read(Table(parquet=given))


def expression(given: bytes) -> None:
    """An expression of FIRM, or a prediction with its name."""
    text = given.decode(errors="replace")
    with suppress(ExplainError):
        parse(text, _KINDS, "features[0]")
    with suppress(ExplainError):
        read_predictions([text], ("x", "class"))


_ARENA = Arena(create(2**12), 2**12)


def worker(given: bytes) -> None:
    """What a worker sends beside its answers."""
    for unpack in (
        payloads.unpack_values,
        payloads.unpack_names,
        payloads.unpack_entries,
        payloads.unpack_progress,
        partial(
            arena_reply.unpack_reply,
            _ARENA,
            reply_format=ReplyFormat.PROTOBUF,
            byte_limit=math.inf,
        ),
        partial(arena_reply.unpack_parts, _ARENA),
        payloads.unpack_error,
        partial(payloads.unpack_spans, start=0.0, end=10.0),
    ):
        with suppress(MalformedError):
            unpack(given)


def seal(given: bytes) -> None:
    """A cached value that nobody sealed."""
    assert _SIGNER.verify("name", given) is None


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        canonical_json,
        rest_json,
        rest_files,
        rest_form,
        split_message,
        message,
        csv,
        arrow,
        parquet,
        expression,
        worker,
        seal,
        outer_targets.http,
        outer_targets.model,
        credential_targets.authorization,
        credential_targets.claims,
        credential_targets.key_set,
        credential_targets.discovery,
        credential_targets.certificate,
        credential_targets.token_file,
        operation_targets.page_token,
        operation_targets.operation_record,
        remote_targets.remote_predictions,
        remote_targets.remote_tensors,
        remote_targets.remote_metadata,
        remote_targets.remote_messages,
        remote_session_targets.remote_rows,
        remote_session_targets.remote_answers,
        remote_session_targets.remote_address,
        remote_session_targets.remote_credentials,
    )
}
