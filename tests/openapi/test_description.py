"""The description says what REST takes and gives: no more, and no less."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from typing import Any

import pytest
from flask import Flask
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from jsonschema import Draft202012Validator
from onnxplain.v1 import explanation_service_pb2
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.rest.problems import http_problem, problem
from onnxplain_server.transport.status import STATUS
from onnxplain_server.wire import canonical
from openapi_spec_validator import OpenAPIV31SpecValidator

SERVICE = explanation_service_pb2.DESCRIPTOR.services_by_name["ExplanationService"]
AUTOMATIC = {"HEAD", "OPTIONS"}

# Of streams, whose messages REST has as bodies and events, and of operations, which it starts by
# the body of an explanation.
STREAMED = {
    "google.longrunning.Operation",
    "ReadExplanationRequest",
    "ReadExplanationResponse",
    "ReadPartialExplanationsRequest",
    "StartExplanationRequest",
    "ExplainStreamRequest",
    "ExplainStreamResponse",
    "UploadModelRequest",
    "UploadTableRequest",
}


def reachable(kind: Descriptor, found: dict[str, Any]) -> dict[str, Any]:
    """Collect a message, those that it consists of, and their enums."""
    name = kind.full_name.removeprefix("onnxplain.v1.")
    if name in found or kind.GetOptions().map_entry or not kind.fields_by_name:
        return found
    found[name] = kind
    for field in kind.fields:
        if field.enum_type is not None:
            found[field.enum_type.full_name.removeprefix("onnxplain.v1.")] = field.enum_type
        if field.message_type is not None and field.message_type.file.package == "onnxplain.v1":
            reachable(field.message_type, found)
    return found


OF_OPERATIONS = {Reason.REQUEST_ID_IN_USE, Reason.OPERATION_NOT_DONE}

CONTRACT: dict[str, Any] = {}
for METHOD in SERVICE.methods:
    reachable(METHOD.input_type, CONTRACT)
    reachable(METHOD.output_type, CONTRACT)
KINDS = sorted(CONTRACT.keys() - STREAMED - {"UploadTableRequest.Format"})
MESSAGES = [name for name in KINDS if isinstance(CONTRACT[name], Descriptor)]
ENUMS = [name for name in KINDS if isinstance(CONTRACT[name], EnumDescriptor)]


def test_it_is_valid_openapi_3_1(description) -> None:
    assert description["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(description).validate()


def test_it_has_every_route_and_no_other(description, app: Flask) -> None:
    served = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - AUTOMATIC
    }

    told = {(path, method) for path, item in description["paths"].items() for method in item}
    assert told == served


def test_operations_are_named_once(description) -> None:
    names = [op["operationId"] for item in description["paths"].values() for op in item.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_have_the_fields_of_the_contract(description, name: str) -> None:
    schema = description["components"]["schemas"][name]

    assert list(schema["properties"]) == [field.json_name for field in CONTRACT[name].fields]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", ENUMS)
def test_enums_have_the_values_of_the_contract(description, name: str) -> None:
    schema = description["components"]["schemas"][name]

    assert schema["enum"] == [value.name for value in CONTRACT[name].values]
    assert all(f"`{value}`: " in schema["description"] for value in schema["enum"])


@pytest.mark.parametrize("name", KINDS)
def test_everything_of_the_contract_is_explained(description, name: str) -> None:
    schema = description["components"]["schemas"][name]

    assert schema["description"]
    assert all(field["description"] for field in schema.get("properties", {}).values())


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_refer_to_the_types_of_the_contract(description, name: str) -> None:
    for field in CONTRACT[name].fields:
        schema = description["components"]["schemas"][name]["properties"][field.json_name]
        kind = field.message_type or field.enum_type
        type_name = kind.full_name.removeprefix("onnxplain.v1.") if kind is not None else ""
        if type_name in MESSAGES:
            assert f"'#/components/schemas/{type_name}'" in str(schema)


@pytest.mark.parametrize("reason", sorted({*Reason} - OF_OPERATIONS, key=str))
def test_every_reason_has_its_status_where_work_is_done(description, reason: Reason) -> None:
    answers = description["paths"]["/v1/explanations"]["post"]["responses"]
    (name,) = re.findall(r"\w+$", answers[str(STATUS[reason].http)]["$ref"])

    assert f"`{reason.name}`" in description["components"]["responses"][name]["description"]


def test_every_number_that_may_be_sent_has_limits(description) -> None:
    free = {
        f"{name}.{member}"
        for name, schema in description["components"]["schemas"].items()
        for member, field in schema.get("properties", {}).items()
        for form in field.get("anyOf", [])
        if form.get("type") in {"integer", "number"} and "enum" not in form
        if not {"minimum", "exclusiveMinimum"} & form.keys() or form.get("minimum") == -(2**31)
    }

    # A constant that is added may be anything.
    assert free == {"FirmKmerWeights.constant"}


@pytest.mark.parametrize(
    ("member", "value", "allowed"),
    [
        ("scale", "MARGIN", True),
        ("scale", 2, True),
        ("scale", None, True),
        ("scale", True, False),
        ("scale", 3, False),
        ("scale", "2", False),
        ("seed", 1.0, True),
        ("seed", "1", True),
        ("seed", "1e2", True),
        ("seed", 1.5, False),
        ("seed", True, False),
        ("seed", "", False),
        ("model", {"content": "AA=="}, True),
        ("model", {"content": "AA"}, True),
        ("model", {"content": "AAA="}, True),
        ("model", {"content": "-_+/"}, True),
        ("model", {"content": "AA="}, False),
        ("model", {"content": "A==="}, False),
        ("model", {"content": "AAAA=="}, False),
        ("model", {"content": None, "id": "x"}, True),
        ("model", {"content": "AAAA", "id": "x"}, False),
        ("model", [], False),
        ("featureColumns", None, True),
        ("featureColumns", [None], False),
        ("methods", [None], False),
        ("methods", [{"firm": {}, "swarm": None}], True),
        ("methods", [{"firm": {}, "swarm": {}}], False),
        ("unknown", None, False),
    ],
)
def test_the_schema_and_the_reader_allow_the_same(
    description, member: str, value, allowed: bool
) -> None:
    request = {"methods": [{"interactions": {}}], member: value}
    schema = {
        "$ref": "#/components/schemas/ExplainRequest",
        "components": description["components"],
    }

    assert Draft202012Validator(schema).is_valid(request) is allowed
    with nullcontext() if allowed else pytest.raises(ExplainError):
        canonical.decode(json.dumps(request).encode(), ExplainRequest)


@pytest.mark.parametrize(
    "document",
    [
        problem(ExplainError(Reason.INVALID_OPTION, "told", "methods[0].firm"), "id", "/"),
        http_problem(404, "told", "id", "/"),
    ],
)
def test_problems_are_as_described(description, document) -> None:
    schema = {"$ref": "#/components/schemas/Problem", "components": description["components"]}

    Draft202012Validator(schema).validate(document)
