"""Rows in forms of REST beyond the contract: the JSON of MLflow's servers."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from onnxplain_server.wire.rest_table import FORMS

from tools.openapi.values import Schema, reference

# Any value: generators make a class of each union, and none of one that has null.
_CELL: Schema = {"description": "A number, a text, true or false; null is a missing value."}
_ROW: Schema = {"type": "array", "items": _CELL}

_SCHEMAS: dict[str, Schema] = {
    "dataframe_split": {
        "description": "Names of the columns, and rows.",
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}},
            "data": {"type": "array", "items": _ROW},
            "index": {"description": "Is not read."},
        },
        "required": ["columns", "data"],
        "additionalProperties": False,
    },
    "dataframe_records": {
        "description": "One object per row, by the names of the columns.",
        "type": "array",
        "items": {"type": "object", "additionalProperties": _CELL},
    },
    "instances": {
        "description": "As dataframe_records; or rows without names, a list or one value each: the "
        "columns are x0, x1, and so on.",
        "type": "array",
        "items": {"description": "An object, a list of cells, or one cell."},
    },
    "inputs": {
        "description": "One list per column, by their names; or rows without names.",
        "oneOf": [reference("InputsByColumn"), reference("InputsByRow")],
    },
}

_INPUTS: dict[str, Schema] = {
    "InputsByColumn": {
        "description": "One list per column, by their names.",
        "type": "object",
        "additionalProperties": {"type": "array", "items": _CELL},
    },
    "InputsByRow": {
        "description": "Rows without names, a list or one value each: the columns are x0, x1, and "
        "so on.",
        "type": "array",
        "items": {"description": "A list of cells, or one cell."},
    },
}

_INSTEAD = "In place of `table`, in a form of MLflow's servers. "


def components(requests: Mapping[str, Schema]) -> dict[str, Schema]:
    """Describe the forms, and each request, by its name, in JSON and as a part beside files."""
    schemas: dict[str, Any] = {_name(form): _SCHEMAS[form] for form in FORMS} | _INPUTS
    for name, request in requests.items():
        schemas[name] = _with_rows(request, {"table"})
        part = _with_rows(request, {"model", "table"})
        text = f"The {name} beside files: `model` and `table` only where they are no files."
        schemas[f"{name}Part"] = {**part, "description": text}
    return schemas


def kept_request(request: Schema) -> Schema:
    """Describe the request in a receipt, which has no files and none of the forms."""
    left_out = ("model", "table", "reference")
    kept = {name: own for name, own in request["properties"].items() if name not in left_out}
    return {**request, "properties": kept, "description": "The request of an answer."}


def _with_rows(request: Schema, optional: Set[str]) -> Schema:
    forms = {
        form: {"description": _INSTEAD + _SCHEMAS[form]["description"], **reference(_name(form))}
        for form in FORMS
    }
    required = [name for name in request.get("required", ()) if name not in optional]
    schema = {**request, "properties": {**request["properties"], **forms}}
    schema.pop("required", None)
    return {**schema, **({"required": required} if required else {})}


def _name(form: str) -> str:
    return "".join(word.capitalize() for word in form.split("_"))
