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
from onnxplain_server.wire.rest_table import FORMS
from openapi_spec_validator import OpenAPIV31SpecValidator

from tools.openapi.values import component

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
WITH_TABLE = ["ExplainRequest", "DescribeTableRequest", "PredictRequest", "CheckModelRequest"]
# A reference is an answer, whose numbers have no limits.
SENT: dict[str, Any] = {"ExplainResponse": CONTRACT["ExplainResponse"]}
for NAME in (*WITH_TABLE, "DescribeModelRequest"):
    reachable(CONTRACT[NAME], SENT)
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


def named(description: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a message or enum."""
    return dict(description["components"]["schemas"][component(CONTRACT[name])])


def forms(description: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the schemas of a message: of each of its forms, where it has a choice."""
    schema = named(description, name)
    if "oneOf" not in schema:
        return [schema]
    names = [each["$ref"].rpartition("/")[2] for each in schema["oneOf"]]
    return [description["components"]["schemas"][each] for each in names]


def members(description: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the members that a message has in any of its forms."""
    return {k: v for form in forms(description, name) for k, v in form["properties"].items()}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_have_the_fields_of_the_contract(description, name: str) -> None:
    found = set(members(description, name))
    if name in WITH_TABLE:
        assert found >= FORMS.keys()
        found -= FORMS.keys()

    assert found == {field.json_name for field in CONTRACT[name].fields}
    assert not any(form["additionalProperties"] for form in forms(description, name))


def test_answers_have_what_always_comes_back_although_requests_can_hold_them(description) -> None:
    assert "explanations" in named(description, "ExplainResponse")["required"]
    assert "oneOf" not in named(description, "Explanation")
    assert "#/components/schemas/ExplainResponse" in str(named(description, "Reference"))


@pytest.mark.parametrize("name", ENUMS)
def test_enums_have_the_values_of_the_contract(description, name: str) -> None:
    schema = named(description, name)

    assert schema["enum"] == [value.name for value in CONTRACT[name].values]
    assert all(f"`{value}`: " in schema["description"] for value in schema["enum"])


@pytest.mark.parametrize("name", KINDS)
def test_everything_of_the_contract_is_explained(description, name: str) -> None:
    assert named(description, name)["description"]
    if name in MESSAGES:
        assert all(field["description"] for field in members(description, name).values())


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_refer_to_the_types_of_the_contract(description, name: str) -> None:
    for field in CONTRACT[name].fields:
        schema = members(description, name)[field.json_name]
        kind = field.message_type or field.enum_type
        if kind is not None and kind.full_name.removeprefix("onnxplain.v1.") in KINDS:
            is_kept = kind is ExplainRequest.DESCRIPTOR
            told = "KeptRequest" if is_kept else component(kind)
            assert f"'#/components/schemas/{told}'" in str(schema)


@pytest.mark.parametrize("reason", sorted({*Reason} - OF_OPERATIONS, key=str))
def test_every_reason_has_its_status_where_work_is_done(description, reason: Reason) -> None:
    answers = description["paths"]["/v1/explanations"]["post"]["responses"]
    (name,) = re.findall(r"\w+$", answers[str(STATUS[reason].http)]["$ref"])

    assert f"`{reason.name}`" in description["components"]["responses"][name]["description"]


def test_every_number_that_may_be_sent_has_limits(description) -> None:
    free = {
        f"{name}.{member}"
        for name in SENT.keys() & set(MESSAGES) - {"ExplainResponse"}
        for member, field in members(description, name).items()
        if field.get("type") in {"integer", "number"}
        if not {"minimum", "exclusiveMinimum"} & field.keys() or field.get("minimum") == -(2**31)
    }

    # A constant that is added may be anything.
    assert free == {"FirmKmerWeights.constant"}


def keywords(node: Any, found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Collect the objects of the description that have a keyword, by it."""
    for key, value in node.items() if isinstance(node, dict) else ():
        found.setdefault(key, []).append(node)
        keywords(value, found)
    for item in node if isinstance(node, list) else ():
        keywords(item, found)
    return found


def test_a_value_has_one_type_and_a_choice_is_one_of_named_schemas(description) -> None:
    found = keywords(description, {})
    schemas = description["components"]["schemas"]

    assert all(isinstance(node["type"], str | dict) for node in found["type"])
    assert not {"anyOf", "allOf", "not", "nullable"} & found.keys()
    double = schemas["DoubleOrText"]
    choices = [node["oneOf"] for node in found["oneOf"] if node != double]
    assert all(list(each) == ["$ref"] for choice in choices for each in choice)
    assert not any("properties" in node for node in found["oneOf"])


def test_names_of_schemas_are_those_of_types_in_any_language(description) -> None:
    names = list(description["components"]["schemas"])
    answers = {
        f"{operation['operationId']}Response".lower()
        for item in description["paths"].values()
        for operation in item.values()
    }

    assert all(re.fullmatch("[A-Z][A-Za-z0-9]*", name) for name in names)
    assert not answers & {name.lower() for name in names}, "generators name answers so"


@pytest.mark.parametrize("path", ["/v1/explanations", "/v1/tables:describe", "/v1/predictions"])
def test_the_part_beside_files_needs_neither_model_nor_table(description, path: str) -> None:
    content = description["paths"][path]["post"]["requestBody"]["content"]
    part = content["multipart/form-data"]["schema"]["properties"]["request"]
    schema = {"$ref": part["$ref"], "components": description["components"]}

    assert Draft202012Validator(schema).is_valid({})


@pytest.mark.parametrize(
    ("member", "value", "allowed"),
    [
        ("scale", "MARGIN", True),
        ("scale", True, False),
        ("scale", 3, False),
        ("scale", "2", False),
        ("seed", 1.0, True),
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
        ("model", {"content": "AAAA", "id": "x"}, False),
        ("model", [], False),
        ("featureColumns", [None], False),
        ("methods", [None], False),
        ("methods", [{"firm": {}}], True),
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
    ("member", "value"),
    [
        ("scale", 2),
        ("scale", None),
        ("seed", "1"),
        ("seed", "1e2"),
        ("model", {"content": None, "id": "x"}),
        ("featureColumns", None),
        ("methods", [{"firm": {}, "swarm": None}]),
    ],
)
def test_the_reader_allows_what_the_description_says_in_words(
    description, member: str, value
) -> None:
    request = {"methods": [{"interactions": {}}], member: value}
    schema = {
        "$ref": "#/components/schemas/ExplainRequest",
        "components": description["components"],
    }

    assert not Draft202012Validator(schema).is_valid(request)
    canonical.decode(json.dumps(request).encode(), ExplainRequest)
    assert "null is the same as leaving a member out" in description["info"]["description"]


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
