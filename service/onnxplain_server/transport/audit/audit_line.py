"""Audit line: the fields of one line, each with its type and meaning, in one table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from onnxplain_server.core.counts.remote_counts import RemoteUse
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation

_DIGITS = 6
"""Of seconds: microseconds."""


@dataclass(frozen=True, slots=True)
class AuditField:
    """Field of an audit line.

    Attributes
    ----------
    name : str
    kind : str
        JSON type.
    meaning : str
        For docs/operations.md.
    read : callable (EndedExplanation) -> object
    is_optional : bool
        Whether the field is left out where its value is empty.
    """

    name: str
    kind: str
    meaning: str
    read: Callable[[EndedExplanation], object]
    is_optional: bool = False


FIELDS = (
    AuditField("time", "string", "end of the explanation: RFC 3339, UTC", lambda e: _time(e.time)),
    AuditField("caller", "string", "authenticated name, `anonymous`, or `-`", lambda e: e.caller),
    AuditField("transport", "string", "`grpc`, `rest` or `operation`", lambda e: e.transport),
    AuditField(
        "model",
        "string",
        "`sha256:` and digest; of a remote model `remote:` and the digest of what names it; empty "
        "without a model, or if the request was refused unread",
        lambda e: e.usage.model,
    ),
    AuditField("table", "string", "likewise", lambda e: e.usage.table),
    AuditField(
        "methods",
        "array of strings",
        "names, sorted; of an overview, its methods once it is answered",
        lambda e: e.usage.methods,
    ),
    AuditField(
        "row_count",
        "integer",
        "rows drawn, the most by one method; 0 if the explanation failed",
        lambda e: e.usage.row_count,
    ),
    AuditField(
        "predicted_row_count",
        "integer",
        "rows predicted; of a killed or cancelled worker, an upper bound: the rows of its progress",
        lambda e: round(e.usage.predicted_row_count),
    ),
    AuditField(
        "processor_seconds",
        "number",
        "processor time of the worker and of the decoder, also if they were killed",
        lambda e: round(e.usage.processor_seconds, _DIGITS),
    ),
    AuditField(
        "received_byte_count",
        "integer",
        "size of the request's message or body, without files named by id",
        lambda e: e.usage.received_byte_count,
    ),
    AuditField(
        "sent_byte_count",
        "integer",
        "size of the answer; 0 without one",
        lambda e: e.usage.sent_byte_count,
    ),
    AuditField(
        "cached_share",
        "number or null",
        "share of the numbers looked up that the cache had; null if none was looked up",
        lambda e: e.usage.cached_share,
    ),
    AuditField(
        "outcome",
        "string",
        "`OK`, or the [reason](errors.md)",
        lambda e: e.outcome,
    ),
    AuditField(
        "seconds",
        "number",
        "duration, with waiting",
        lambda e: round(e.seconds, _DIGITS),
    ),
    AuditField(
        "remote_model",
        "object",
        "`prefix` of the list, `call_count`, of which `retry_count`, `row_count`, `failure_count`; "
        "of explanations of [remote models](remote-models.md) only",
        lambda e: _remote(e.usage.remote),
        is_optional=True,
    ),
    AuditField(
        "operation", "string", "id; of operations only", lambda e: e.operation, is_optional=True
    ),
    AuditField(
        "request_id",
        "string",
        "as in the log; not of operations",
        lambda e: e.request_id,
        is_optional=True,
    ),
    AuditField(
        "trace_id", "string", "of the trace, where there is one", lambda e: e.trace_id, True
    ),
)
"""Fields of a line, in order."""


def audit_line(explanation: EndedExplanation) -> str:
    """Return the line: one JSON object, in ASCII, without a line end."""
    values = ((field, field.read(explanation)) for field in FIELDS)
    line = {field.name: value for field, value in values if value or not field.is_optional}
    return json.dumps(line, separators=(",", ":"), allow_nan=False)


def _remote(use: RemoteUse) -> dict[str, object]:
    """Return the calls of a remote model; empty where none was asked."""
    return {"prefix": use.prefix, **asdict(use.counts)} if use.prefix else {}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
