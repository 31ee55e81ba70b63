"""The whole description."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import operations_pb2, plan_pb2, upload_pb2

from tools.contract.limits import Limits
from tools.openapi import operation_routes, problems, rows
from tools.openapi.routes import TAGS, paths
from tools.openapi.schemas import Schemas
from tools.openapi.values import reference

_TEXT = """Explains what an ONNX model has learned. The messages are those of the gRPC contract, in
protobuf's canonical JSON: names are camelCase, bytes are base64, and doubles of answers that are no
finite numbers are the texts "NaN", "Infinity" and "-Infinity".

The schemas of requests are what a client should send: each value has one type. The server reads
more: null is the same as leaving a member out, a number may be written as text ("1e3"), an enum
value as its number, a name as the contract has it (snake_case). Limits that a schema tells in words
only are limits all the same. A member that is not known is refused.

Where the server is set up to ask who calls, every route but the probes needs a bearer token."""

TAKEN: list[Any] = [
    service_pb2.ExplainRequest.DESCRIPTOR,
    service_pb2.DescribeModelRequest.DESCRIPTOR,
    service_pb2.DescribeTableRequest.DESCRIPTOR,
    service_pb2.PredictRequest.DESCRIPTOR,
    service_pb2.CheckModelRequest.DESCRIPTOR,
    service_pb2.CompareExplanationsRequest.DESCRIPTOR,
]
GIVEN: list[Any] = [
    service_pb2.ExplainResponse.DESCRIPTOR,
    service_pb2.Progress.DESCRIPTOR,
    service_pb2.PartialExplanation.DESCRIPTOR,
    plan_pb2.ExplanationPlan.DESCRIPTOR,
    operations_pb2.OperationMetadata.DESCRIPTOR,
    service_pb2.DescribeModelResponse.DESCRIPTOR,
    service_pb2.DescribeTableResponse.DESCRIPTOR,
    service_pb2.PredictResponse.DESCRIPTOR,
    service_pb2.CheckModelResponse.DESCRIPTOR,
    service_pb2.CompareExplanationsResponse.DESCRIPTOR,
    upload_pb2.UploadModelResponse.DESCRIPTOR,
    upload_pb2.UploadTableResponse.DESCRIPTOR,
]

_WITH_TABLE = ("ExplainRequest", "DescribeTableRequest", "PredictRequest", "CheckModelRequest")

_HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "X-Request-Id": ("The id of the request; stands in the server's log.", {"type": "string"}),
    "Retry-After": ("Seconds after which to ask again.", {"type": "integer", "minimum": 0}),
    "WWW-Authenticate": ("How to say who calls.", {"type": "string"}),
    "Location": ("Path of the operation.", {"type": "string"}),
    "ETag": ("Identity of the content, for `If-None-Match`.", {"type": "string"}),
}

_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "X-Request-Timeout-Ms": (
        "How long the client waits, in milliseconds; capped by the server.",
        {"type": "integer", "minimum": 1, "maximum": 999_999_999_999, "examples": [60_000]},
    ),
    "Prefer": ("`respond-async` starts an operation.", {"type": "string"}),
    "X-Request-Id": (
        "An id to find the request by: up to 128 letters, digits and `._:/+=-`; or it is replaced.",
        {"type": "string"},
    ),
}


def document(comments: Mapping[str, str], limits: Mapping[str, Limits]) -> dict[str, Any]:
    """Describe REST; comments and limits are those of the contract, by full name."""
    schemas = Schemas(TAKEN, GIVEN, comments, limits).components()
    schemas["KeptRequest"] = rows.kept_request(schemas["ExplainRequest"])
    schemas["Receipt"]["properties"]["request"] |= reference("KeptRequest")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onnxplain",
            "version": version("onnxplain-server"),
            "summary": "Explains what an ONNX model has learned",
            "description": _TEXT,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths(comments),
        "components": {
            "schemas": {
                **schemas,
                **rows.components({name: schemas[name] for name in _WITH_TABLE}),
                **problems.schemas(),
                **operation_routes.components(schemas),
            },
            "responses": problems.responses(),
            "headers": {name: _described(*parts) for name, parts in _HEADERS.items()},
            "parameters": {
                name: {"name": name, "in": "header", **_described(*parts)}
                for name, parts in _PARAMETERS.items()
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def encode(description: Mapping[str, Any]) -> str:
    """Write it as JSON, so that changes show line by line."""
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def _described(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "schema": schema}
