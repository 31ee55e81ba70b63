"""Errors over REST: problem documents of RFC 9457."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.status import STATUS

MEDIA_TYPE = "application/problem+json"


def problem(error: ExplainError, request_id: str, instance: str) -> dict[str, Any]:
    """Return the problem of an `ExplainError`."""
    kind = (STATUS[error.reason].http, error.reason.name, error.reason.value)
    document = _problem(kind, error.message, request_id, instance)
    if error.field:
        item = {"pointer": _pointer(error.field), "field": error.field, "detail": error.message}
        document["errors"] = [item]
    return document


def http_problem(status: int, detail: str, request_id: str, instance: str) -> dict[str, Any]:
    """Return the problem of an HTTP error, like a wrong path or method."""
    http_status = HTTPStatus(status)
    # Python versions name this status differently, but reasons are a contract.
    name = (
        "REQUEST_TOO_LARGE" if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else http_status.name
    )
    return _problem((status, name, http_status.phrase), detail, request_id, instance)


def encode(document: dict[str, Any]) -> str:
    """Encode a problem as JSON."""
    return json.dumps(document, ensure_ascii=True)


def _problem(
    kind: tuple[int, str, str], detail: str, request_id: str, instance: str
) -> dict[str, Any]:
    status, reason, title = kind
    return {
        "type": f"urn:onnxplain:{reason}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": instance,
        "reason": reason,
        # Clients of the Open Inference Protocol read this member and no other.
        "error": detail,
        "errors": [],
        "request_id": request_id,
    }


def _pointer(field: str) -> str:
    """Turn "methods[0].interactions.row_count" into "#/methods/0/interactions/rowCount"."""
    parts = re.findall(r"[^.\[\]]+", field)
    return "#/" + "/".join(map(_camel, parts))


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda letter: letter[1].upper(), name)
