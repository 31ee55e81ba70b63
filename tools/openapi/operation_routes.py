"""The routes of operations, and the schemas of what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools.openapi import problems
from tools.openapi.values import Schema, reference

_Operation = dict[str, Any]
_Describe = Callable[..., _Operation]

_TAG = "Operations"

_EVENTS: Schema = {
    "description": "Server-sent events: `operation` with an Operation at each change, until it is "
    "done, or `error` with a Problem.",
    "type": "string",
}

_FILTER = (
    'Conditions joined by AND, like `state = RUNNING AND labels.team = "risk"`. Fields are '
    "`state`, `done`, `method`, `request_id` and `labels.KEY`; operators `=` and `!=`."
)


def paths(call: _Describe, start: _Operation) -> dict[str, dict[str, _Operation]]:
    """Describe the routes.

    Parameters
    ----------
    call : callable
        Describes a route that does work.
    start : dict
        The route that explains, whose body starts an operation too.
    """
    described = "google.longrunning.Operation with OperationMetadata, without its response."
    events = answer("Operation", described)
    events["content"]["text/event-stream"] = {"schema": _EVENTS}
    listed = call("ListOperations", _TAG, _TEXTS["list"], answer("OperationList", "A page."), None)
    listed["parameters"] += [
        _query("filter", _FILTER, {"type": "string", "maxLength": 2000}),
        _query(
            "page_size",
            "Default: 50. At most 1,000 are listed.",
            {"type": "integer", "minimum": 0, "maximum": 10**9},
        ),
        _query(
            "page_token",
            "`nextPageToken` of the page before, for the same filter.",
            {"type": "string"},
        ),
    ]
    get = call("GetOperation", _TAG, _TEXTS["get"], events, None, is_stream=True)
    get["parameters"].append(
        _query(
            "wait",
            "Seconds to wait for the end, at most 60, like `30s`.",
            {"type": "string", "pattern": r"^[0-9]{1,6}(\.[0-9]{1,9})?s?$"},
        )
    )
    result = answer("ExplainResponse", "The answer.")
    empty = answer("Empty", "Done.")
    cancel = call("CancelOperation", _TAG, _TEXTS["cancel"], empty, None)
    delete = call("DeleteOperation", _TAG, _TEXTS["delete"], empty, None)
    read = call("ReadExplanation", _TAG, _TEXTS["result"], result, None)
    partials = answer("PartialExplanations", "The parts.")
    parts = call("ReadPartialExplanations", _TAG, _TEXTS["partials"], partials, None)
    named = (get, cancel, delete, read, parts)
    for each in named:
        each["parameters"].insert(0, _ID)
    return {
        "/v1/explanations:start": {"post": _start(start)},
        "/v1/operations": {"get": _with_conflict(listed)},
        "/v1/operations/{operation_id}": {
            "get": _with_conflict(get),
            "delete": _with_conflict(delete),
        },
        "/v1/operations/{operation_id}:cancel": {"post": _with_conflict(cancel)},
        "/v1/operations/{operation_id}/result": {"get": _with_conflict(read)},
        "/v1/operations/{operation_id}/partials": {"get": _with_conflict(parts)},
    }


def accepted() -> _Operation:
    """Describe the answer of a route that has started an operation."""
    described = answer("Operation", "The operation is started.")
    described["headers"]["Location"] = {"$ref": "#/components/headers/Location"}
    return described


def start_parameters() -> list[_Operation]:
    """Describe the parameters of a start."""
    return [
        _query(
            "request_id",
            "Name of the operation's request: an equal one of the same name returns the same "
            "operation.",
            {"type": "string", "pattern": "^[A-Za-z0-9._:/+=-]{0,128}$"},
        ),
        {
            **_query(
                "label",
                "KEY=VALUE, for filters; may stand several times.",
                {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^[A-Za-z0-9_./-]{1,63}=.{0,255}$"},
                    "maxItems": 64,
                },
            ),
            "explode": True,
        },
    ]


def answer(name: str, text: str) -> _Operation:
    """Describe an answer in JSON."""
    return {
        "description": text,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}},
        "content": {"application/json": {"schema": reference(name)}},
    }


def components(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """Describe the messages of google.longrunning; those of the contract are given."""
    metadata = dict(schemas["OperationMetadata"])
    kind = {"description": "Name of this type.", "type": "string"}
    metadata["properties"] = {"@type": kind, **metadata["properties"]}
    return {
        "OperationMetadata": metadata,
        "Operation": _object(
            "google.longrunning.Operation.",
            {
                "name": {"description": '"operations/" and an id.', "type": "string"},
                "metadata": {"description": "State.", **reference("OperationMetadata")},
                "done": {"description": "Whether it has ended.", "type": "boolean"},
                "error": {"description": "Of a failed one.", **reference("OperationError")},
            },
            ["name", "metadata", "done"],
        ),
        "OperationError": _object(
            "google.rpc.Status.",
            {
                "code": {"description": "Number of the gRPC code.", "type": "integer"},
                "message": {"description": "For people.", "type": "string"},
                "details": {
                    "description": "google.rpc.ErrorInfo with the reason, and others.",
                    "type": "array",
                    "items": {"type": "object"},
                },
            },
            ["code", "message", "details"],
        ),
        "OperationList": _object(
            "google.longrunning.ListOperationsResponse.",
            {
                "operations": {
                    "description": "Newest first.",
                    "type": "array",
                    "items": reference("Operation"),
                },
                "nextPageToken": {"description": "Empty on the last page.", "type": "string"},
                "unreachable": {
                    "description": "Always empty.",
                    "type": "array",
                    "items": {"type": "string"},
                },
            },
            ["operations", "nextPageToken"],
        ),
        "PartialExplanations": _object(
            "What an operation has finished so far.",
            {
                "partials": {
                    "description": "The latest part of each method, in their order.",
                    "type": "array",
                    "items": reference("PartialExplanation"),
                },
            },
            ["partials"],
        ),
        "Empty": _object("Nothing.", {}, []),
    }


def _start(explain: _Operation) -> _Operation:
    """Describe the start, by the route that explains."""
    responses = {code: each for code, each in explain["responses"].items() if code != "200"}
    responses.pop("406", None)
    return {
        **explain,
        "operationId": "startExplanation",
        "tags": [_TAG],
        "summary": "Starts an explanation that outlives the connection.",
        "description": _TEXTS["start"],
        "responses": {**responses, "202": accepted()},
    }


def _with_conflict(operation: _Operation) -> _Operation:
    operation["responses"] |= problems.references([409])
    return operation


def _query(name: str, text: str, schema: Schema) -> _Operation:
    return {"name": name, "in": "query", "description": text, "schema": schema}


def _object(text: str, properties: dict[str, Any], required: list[str]) -> Schema:
    schema: Schema = {"description": text, "type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


_ID: _Operation = {
    "name": "operation_id",
    "in": "path",
    "required": True,
    "description": "The part of the operation's name behind `operations/`.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}

_TEXTS = {
    "start": "Starts an explanation that outlives the connection: one of several servers computes "
    "it, and keeps the answer for some time. The body is that of `POST /v1/explanations`, which "
    "does the same with `Prefer: respond-async`. A server without Redis, the setting `redis_url`, "
    "refuses.",
    "list": "Lists the operations of the caller, newest first.",
    "get": "Returns the state of an operation, at once, after its end, or as events.",
    "cancel": "Cancels an operation. Nothing happens if it has ended.",
    "delete": "Forgets an operation with its answer, and ends it if it runs.",
    "partials": "Returns what an operation that was started with `partial` has finished so far. Of "
    "one that has FAILED or was CANCELLED, it returns what there was; of one that has SUCCEEDED, "
    "nothing: its answer has everything.",
    "result": "Returns the answer of an operation that has SUCCEEDED; the problem of one that has "
    "FAILED.",
}
