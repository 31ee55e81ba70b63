"""What every route answers where it refuses: problems, by status."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from onnxplain_server.core.errors import Reason
from onnxplain_server.transport.rest.problems import MEDIA_TYPE
from onnxplain_server.transport.status import STATUS

from tools.openapi.values import Schema, reference

# Beside the reasons: what HTTP itself has refused, and nobody can say by a reason of ours.
HTTP = {
    403: "The request comes from a web page of another origin.",
    406: "The client accepts none of the media types of the answer.",
    411: "The body has no length.",
    413: "The body exceeds the limit of this server.",
    415: "The body is of a media type that is not taken here, or compressed.",
    421: "The server does not answer under this Host.",
    507: "The server has no room to receive the body.",
}

# What can be refused whatever is asked for, where the server is set up to.
EVERYWHERE = (401, 403, 421, 500)

_HEADERS: dict[int, str] = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}

SCHEMA: Schema = {
    "description": "Why a request was refused, as RFC 9457 has it. Act upon `reason`.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "description": "`urn:onnxplain:` and the reason."},
        "title": {"type": "string", "description": "What the reason means."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "Which input, which rule, and what to do."},
        "instance": {"type": "string", "description": "The path that was asked."},
        "reason": {"type": "string", "pattern": "^[A-Z][A-Z_]*$"},
        "error": {"type": "string", "description": "`detail` for Open Inference clients."},
        "errors": {"type": "array", "items": reference("Fault")},
        "request_id": {"type": "string", "description": "Stands in the server's log."},
    },
    "required": [
        "type", "title", "status", "detail", "instance", "reason", "error", "errors", "request_id"
    ],
    "additionalProperties": False,
}  # fmt: skip

FAULT: Schema = {
    "description": "The field that is at fault.",
    "type": "object",
    "properties": {
        "pointer": {"type": "string", "description": "As a JSON pointer into the request."},
        "field": {"type": "string", "description": "As the contract names it."},
        "detail": {"type": "string"},
    },
    "required": ["pointer", "field", "detail"],
    "additionalProperties": False,
}


def schemas() -> dict[str, Schema]:
    """Describe the body of a refusal."""
    lines = [f"- `{reason.name}`: {reason.value}" for reason in Reason]
    text = "Stable. One of these, or of HTTP's own, like `NOT_FOUND`:\n\n" + "\n".join(lines)
    reason: Schema = {"description": text, **SCHEMA["properties"]["reason"]}
    properties = {**SCHEMA["properties"], "reason": reason}
    return {"Problem": {**SCHEMA, "properties": properties}, "Fault": FAULT}


def statuses() -> list[int]:
    """List the statuses that some reason has."""
    return sorted({status.http for status in STATUS.values()} | HTTP.keys())


def responses() -> dict[str, Any]:
    """Describe the refusals by their status."""
    return {_name(status): _response(status) for status in statuses()}


def references(wanted: Iterable[int]) -> dict[str, Any]:
    """Refer to the refusals of those statuses that exist."""
    known = statuses()
    return {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"}
        for status in sorted(wanted)
        if status in known
    }


def _response(status: int) -> dict[str, Any]:
    lines = [f"`{r.name}`: {r.value}" for r in Reason if STATUS[r].http == status]
    if status in HTTP:
        lines.append(HTTP[status])
    headers = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
    if name := _HEADERS.get(status):
        headers[name] = {"$ref": f"#/components/headers/{name}"}
    return {
        "description": "\n\n".join(lines),
        "headers": headers,
        "content": {MEDIA_TYPE: {"schema": reference("Problem")}},
    }


def _name(status: int) -> str:
    # 499 is nginx's, and has no name.
    if status == 499:
        return "ClientClosedRequest"
    return "".join(word.capitalize() for word in HTTPStatus(status).name.split("_"))
