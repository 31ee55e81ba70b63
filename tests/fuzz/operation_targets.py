"""Readers of what callers and Redis tell of operations."""

from __future__ import annotations

from contextlib import suppress

from onnxplain_server.adapters.storage.operations.page_token import PageTokens
from onnxplain_server.adapters.storage.operations.redis_operation_records import (
    OperationRecordFormat,
)
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.operations import NewOperation

_FORMAT = OperationRecordFormat(Signer(b"a secret of the tests"))
_TOKENS = PageTokens()
_RECORD = _FORMAT.pack("id", "ada", NewOperation(b"request"), 7)


def page_token(given: bytes) -> None:
    """The token of a page, as callers send it."""
    with suppress(ExplainError):
        assert _TOKENS.read("ada", "", given.decode(errors="replace")) is None


def operation_record(given: bytes) -> None:
    """Names and values of a record, by lines, beside the signed part that nobody can change."""
    reply: list[object] = [b"record", _RECORD, *given.split(b"\n")]
    record = _FORMAT.read("id", reply)
    assert record is None or record.operation.owner == "ada"
