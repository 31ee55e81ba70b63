"""Description with what the server reads besides, which the document tells in words: null for what
may be left out, numbers as text, enum values by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

_DIGITS = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_CELL = {"type": ["number", "string", "boolean", "null"]}
_ROWS = {
    "type": "array",
    "items": {"anyOf": [{"type": "array", "items": _CELL}, _CELL]},
}
_COLUMN = {"anyOf": [_CELL, {"type": "array", "items": _CELL, "minItems": 1, "maxItems": 1}]}
_RECORDS = {"type": "array", "items": {"type": "object", "additionalProperties": _CELL}}


def as_read(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description with all that the server reads."""
    wide = deepcopy(dict(description))
    schemas = wide["components"]["schemas"]
    told = description["components"]["schemas"]
    for name in _sent(wide) - {"Inputs"}:
        schemas[name] = _message(told[name], told)
    schemas["DataframeSplit"]["properties"]["columns"]["items"] = {"type": ["string", "integer"]}
    schemas["DataframeSplit"]["properties"]["data"]["items"]["items"] = _CELL
    schemas["DataframeRecords"] = _RECORDS
    schemas["Instances"] = {"anyOf": [_RECORDS, _ROWS]}
    columns = {"type": "object", "additionalProperties": {"type": "array", "items": _COLUMN}}
    schemas["Inputs"] = {"anyOf": [columns, _ROWS]}
    return wide


def _sent(description: Mapping[str, Any]) -> set[str]:
    """Collect the names of the messages that are sent."""
    bodies = [
        operation["requestBody"]
        for item in description["paths"].values()
        for operation in item.values()
        if "requestBody" in operation
    ]
    waiting, found = [*_references(bodies)], set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(description["components"]["schemas"][name])
    return found


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"].rpartition("/")[2]] if "$ref" in node else []
        return own + [name for value in node.values() for name in _references(value)]
    return [name for item in node for name in _references(item)] if isinstance(node, list) else []


def _message(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    if "oneOf" in schema and all("$ref" in each for each in schema["oneOf"]):
        return _choice(schema, schemas)
    if "properties" not in schema:
        return schema
    required = schema.get("required", [])
    members = {
        name: _value(field, schemas, optional=name not in required)
        for name, field in schema["properties"].items()
    }
    return {**schema, "properties": members}


def _choice(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a choice beside properties, where null is as if a member were not there."""
    forms = [schemas[each["$ref"].rpartition("/")[2]] for each in schema["oneOf"]]
    members = {name: field for form in forms for name, field in form["properties"].items()}
    chosen = [form["required"][0] for form in forms]
    return {
        "type": "object",
        "properties": {
            name: _value(field, schemas, optional=True) for name, field in members.items()
        },
        "oneOf": [
            {
                "required": [name],
                "properties": {name: {"type": members[name].get("type", "object")}},
            }
            for name in chosen
        ],
        "additionalProperties": False,
    }


def _value(field: dict[str, Any], schemas: Mapping[str, Any], *, optional: bool) -> dict[str, Any]:
    if field.get("type") == "array":
        field = {**field, "items": _value(field["items"], schemas, optional=False)}
    choices = [field]
    if field.get("type") in {"integer", "number"}:
        choices.append({"type": "string", "pattern": f"^{_DIGITS}$"})
    if field.get("$ref", "").endswith("/DoubleOrText"):
        choices.append({"type": "string", "pattern": f"^{_DIGITS}$"})
    named = schemas[field["$ref"].rpartition("/")[2]] if "$ref" in field else {}
    if "enum" in named and "NaN" not in named["enum"]:
        choices.append({"type": "integer", "enum": list(range(len(named["enum"])))})
    if optional:
        choices.append({"type": "null"})
    return {"anyOf": choices} if len(choices) > 1 else field
