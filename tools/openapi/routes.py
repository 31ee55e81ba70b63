"""The routes of REST, as operations of OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onnxplain_server.wire.media_types import MODEL_TYPES, TABLE_FORMATS, TABLE_TYPES

from tools.openapi import operation_routes, problems
from tools.openapi.examples import (
    CHECK,
    CHECK_FILES,
    DESCRIBE,
    DESCRIBE_TABLE,
    DESCRIBE_TABLE_FILES,
    EXPLAIN,
    EXPLAIN_ROWS,
    FILES_REQUEST,
    PREDICT,
    PREDICT_FILES,
)
from tools.openapi.values import Schema, reference

Operation = dict[str, Any]

_SERVICE = "onnxplain.v1.ExplanationService"
_BINARY: Schema = {"type": "string", "format": "binary", "minLength": 1}
_MODEL_FORM: dict[str, Schema] = {
    "model": {**_BINARY, "description": "The ONNX file."},
    "model_files": {
        "type": "array",
        "items": _BINARY,
        "description": "Files that the ONNX file names for values of its tensors (external data), "
        "as `Model.files`: a part each, whose file name is the name that the model has.",
    },
}
_PARAMETERS = ("X-Request-Timeout-Ms", "X-Request-Id")
_PROBES = {
    "/livez": "live",
    "/healthz": "healthz",
    "/v2/health/live": "v2Live",
    "/readyz": "ready",
    "/ping": "ping",
    "/v2/health/ready": "v2Ready",
}

TAGS = {
    "Explanations": "What a model has learned.",
    "Operations": "Explanations that outlive the connection.",
    "Models and tables": "Files, what is in them, and predictions.",
    "Probes": "Whether the server runs and answers.",
    "Description": "This description.",
}

_EVENTS: Schema = {
    "description": "Server-sent events: `progress` with a Progress, and where asked for "
    "`partial` with a PartialExplanation, any number of times; then `response` with an "
    "ExplainResponse, or `error` with a Problem.",
    "type": "string",
}


def paths(comments: Mapping[str, str]) -> dict[str, dict[str, Operation]]:
    """Describe every route, by path and method."""

    def rpc(name: str) -> str:
        return comments[f"{_SERVICE}.{name}"]

    explain = _explain(rpc)
    return {
        "/v1/explanations": {"post": explain},
        "/v1/explanations:plan": {"post": _plan(rpc)},
        **operation_routes.paths(_call, explain),
        "/v1/models:describe": {"post": _describe(rpc)},
        "/v1/models:check": {"post": _check(rpc)},
        "/v1/tables:describe": {"post": _describe_table(rpc)},
        "/v1/predictions": {"post": _predict(rpc)},
        "/v1/comparisons": {"post": _compare(rpc)},
        "/v1/models": {"put": _upload(rpc("UploadModel"), "UploadModel", _model_content())},
        "/v1/models/{model_id}": {"get": _describe_uploaded(rpc)},
        "/v1/tables": {"put": _upload_table(rpc("UploadTable"))},
        **{path: {"get": _probe(path, name)} for path, name in _PROBES.items()},
        "/version": {"get": _version()},
        "/openapi.json": {"get": _document("openapi", "This description.", "application/json")},
        "/docs": {
            "get": _document("docs", "A page to read and try this description.", "text/html")
        },
        "/docs/{file}": {"get": _asset()},
    }


def _explain(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("ExplainResponse", "The explanations, or events where they are accepted.")
    answer["content"]["text/event-stream"] = {"schema": _EVENTS}
    text = (
        f"{rpc('Explain')}\n\nWith `Accept: text/event-stream`: {rpc('ExplainStream')}\n\n"
        "With `Prefer: respond-async`: starts an operation, as `POST /v1/explanations:start`, and "
        "takes its parameters."
    )
    content = _explain_content()
    operation = _call("ExplainModel", "Explanations", text, answer, content, is_stream=True)
    operation["parameters"] += [
        {"$ref": "#/components/parameters/Prefer"},
        *operation_routes.start_parameters(),
    ]
    operation["responses"] |= {"202": operation_routes.accepted(), **problems.references([409])}
    return operation


def _plan(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("ExplanationPlan", "The plan.")
    text = rpc("PlanExplanation")
    return _call("PlanExplanation", "Explanations", text, answer, _explain_content())


def _describe_table(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("DescribeTableResponse", "The description.")
    content = _content_with_table("DescribeTableRequest", DESCRIBE_TABLE, DESCRIBE_TABLE_FILES)
    return _call("DescribeSentTable", "Models and tables", rpc("DescribeTable"), answer, content)


def _predict(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("PredictResponse", "The predictions.")
    content = _content_with_table("PredictRequest", PREDICT, PREDICT_FILES)
    return _call("PredictRows", "Models and tables", rpc("Predict"), answer, content)


def _check(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("CheckModelResponse", "The comparison.")
    content = _content_with_table("CheckModelRequest", CHECK, CHECK_FILES)
    return _call("CheckSentModel", "Models and tables", rpc("CheckModel"), answer, content)


def _compare(rpc: Callable[[str], str]) -> Operation:
    answer = _answer("CompareExplanationsResponse", "The comparison.")
    content = {"application/json": {"schema": reference("CompareExplanationsRequest")}}
    return _call("CompareAnswers", "Explanations", rpc("CompareExplanations"), answer, content)


def _explain_content() -> dict[str, Any]:
    """Describe the bodies of a request for an explanation."""
    examples = {**EXPLAIN, **EXPLAIN_ROWS}
    return _content_with_table("ExplainRequest", examples, FILES_REQUEST)


def _content_with_table(
    name: str, examples: Mapping[str, Any], files_examples: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe the bodies of a request with a table: JSON, and a form with files."""
    form: Schema = {
        "type": "object",
        "properties": {
            **_MODEL_FORM,
            "table": {
                **_BINARY,
                "description": "CSV, Parquet or Arrow IPC, told by content type or file name.",
            },
            "request": {
                "description": "All the rest; without it, an overview.",
                **reference(f"{name}Part"),
            },
        },
        "additionalProperties": False,
    }
    return {
        "application/json": {"schema": reference(name), "examples": examples},
        "multipart/form-data": {
            "schema": form,
            "encoding": {
                "model": {"contentType": MODEL_TYPES[0]},
                "table": {"contentType": ", ".join(TABLE_TYPES)},
                "request": {"contentType": "application/json"},
            },
            "examples": files_examples,
        },
    }


def _describe(rpc: Callable[[str], str]) -> Operation:
    content = _model_content()
    content["application/json"] = {
        "schema": reference("DescribeModelRequest"),
        "examples": DESCRIBE,
    }
    answer = _answer("DescribeModelResponse", "The description.")
    return _call("DescribeSentModel", "Models and tables", rpc("DescribeModel"), answer, content)


def _model_content() -> dict[str, Any]:
    """Describe the bodies that are a model: its bytes, and a form with its files."""
    form = {
        "type": "object",
        "properties": _MODEL_FORM,
        "required": ["model"],
        "additionalProperties": False,
    }
    return {
        **{kind: {"schema": _BINARY} for kind in MODEL_TYPES},
        "multipart/form-data": {
            "schema": form,
            "encoding": {"model": {"contentType": MODEL_TYPES[0]}},
        },
    }


def _describe_uploaded(rpc: Callable[[str], str]) -> Operation:
    text = f"{rpc('DescribeModel')} For an uploaded one."
    answer = _answer("DescribeModelResponse", "The description.")
    operation = _call("DescribeUploadedModel", "Models and tables", text, answer, None)
    parameter = {
        "name": "model_id",
        "in": "path",
        "required": True,
        "description": "What `PUT /v1/models` returned.",
        "schema": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {**operation, "parameters": [parameter, *operation["parameters"]]}


def _upload_table(text: str) -> Operation:
    content = {kind: {"schema": _BINARY} for kind in (*TABLE_TYPES, MODEL_TYPES[0])}
    operation = _upload(text, "UploadTable", content)
    parameter = {
        "name": "format",
        "in": "query",
        "description": "Format of the file. Required with `application/octet-stream`; the other "
        "types say it themselves, and then it must be the same.",
        "schema": {"type": "string", "enum": [*TABLE_FORMATS]},
    }
    return {**operation, "parameters": [*operation["parameters"], parameter]}


def _upload(text: str, name: str, content: dict[str, Any]) -> Operation:
    answer = _answer(f"{name}Response", "The file is kept.")
    return _call(name.replace("Upload", "Put"), "Models and tables", text, answer, content)


def _call(
    name: str,
    tag: str,
    text: str,
    answer: Operation,
    content: dict[str, Any] | None,
    *,
    is_stream: bool = False,
) -> Operation:
    """Describe a route that does work, and can refuse it for any reason.

    Generators name the type of its answer by its name and "Response": no message has that name.
    """
    # 409 is of operations that are started.
    refused = set(problems.statuses()) - {409} - (set() if is_stream else {406})
    if content is None:
        refused -= {411, 415, 507}
    operation = {
        "operationId": name[0].lower() + name[1:],
        "tags": [tag],
        "summary": text.split(".", maxsplit=1)[0] + ".",
        "description": text,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _PARAMETERS],
        "responses": {"200": answer, **problems.references(refused)},
    }
    if content is not None:
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answer(name: str, text: str) -> Operation:
    return {
        "description": text,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}},
        "content": {"application/json": {"schema": reference(name)}},
    }


def _probe(path: str, name: str) -> Operation:
    live = path in {"/livez", "/healthz", "/v2/health/live"}
    member = "live" if live else "ready"
    text = "The process runs." if live else "New requests are taken, and can be answered."
    schema = {
        "type": "object",
        "properties": {member: {"type": "boolean"}},
        "required": [member],
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": schema}}
    answers: dict[str, Any] = {"200": {"description": text, "content": content}}
    if not live:
        answers["503"] = {"description": "They are not, for now.", "content": content}
    return {
        "operationId": name,
        "tags": ["Probes"],
        "summary": f"Tell whether the server is {member}.",
        "description": f"{text} Needs no token.",
        "security": [],
        "responses": {**answers, **problems.references([500])},
    }


def _version() -> Operation:
    schema = {
        "type": "object",
        "properties": {"version": {"type": "string"}},
        "required": ["version"],
        "additionalProperties": False,
    }
    answer = {"description": "It.", "content": {"application/json": {"schema": schema}}}
    return {
        "operationId": "version",
        "tags": ["Probes"],
        "summary": "Tell the version of the server.",
        "description": "The version of the server, as its packages and images have it.",
        "responses": {"200": answer, **problems.references(problems.EVERYWHERE)},
    }


def _document(name: str, text: str, kind: str) -> Operation:
    answer = {
        "description": text,
        "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
        "content": {kind: {"schema": {"type": "object" if kind.endswith("json") else "string"}}},
    }
    return {
        "operationId": name,
        "tags": ["Description"],
        "summary": text,
        "description": f"{text} With `If-None-Match`, only where the client has another.",
        "responses": {
            "200": answer,
            "304": {"description": "It is as the client has it."},
            **problems.references(problems.EVERYWHERE),
        },
    }


def _asset() -> Operation:
    parameter = {"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}
    answer = {
        "description": "Script or style.",
        "content": {
            kind: {"schema": {"type": "string"}} for kind in ("text/javascript", "text/css")
        },
    }
    return {
        "operationId": "docsFile",
        "tags": ["Description"],
        "summary": "What the page is made of.",
        "description": "A script or style of the page, by its name.",
        "parameters": [parameter],
        "responses": {
            "200": answer,
            "304": {"description": "It is as the client has it."},
            **problems.references((*problems.EVERYWHERE, 404)),
        },
    }
