"""Rows in forms of REST beyond the contract: the JSON of MLflow's servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnxplain_server.wire.rest_table import FORMS

from tools.openapi.values import Schema, reference

_CELL: Schema = {"type": ["number", "string", "boolean", "null"]}
_ROW: Schema = {"type": "array", "items": _CELL}
_MATRIX: Schema = {
    "description": "Rows without names: the columns are x0, x1, and so on.",
    "type": "array",
    "items": {"anyOf": [_ROW, _CELL]},
}

_SCHEMAS: dict[str, Schema] = {
    "dataframe_split": {
        "description": "Names of the columns, and rows.",
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": ["string", "integer"]}},
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
        "description": "As dataframe_records, or rows without names.",
        "anyOf": [reference("DataframeRecords"), _MATRIX],
    },
    "inputs": {
        "description": "One list per column, by their names, or rows without names.",
        "anyOf": [
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {
                        "anyOf": [_CELL, {**_ROW, "minItems": 1, "maxItems": 1}],
                    },
                },
            },
            _MATRIX,
        ],
    },
}


def components(requests: Mapping[str, Schema]) -> dict[str, Schema]:
    """Describe the forms, and each request, by its name, with one of them instead of `table`."""
    schemas: dict[str, Any] = {_name(form): _SCHEMAS[form] for form in FORMS}
    return schemas | {f"{name}WithRows": _with_rows(name, r) for name, r in requests.items()}


def _with_rows(name: str, request: Schema) -> Schema:
    forms = {form: reference(_name(form)) for form in FORMS}
    others = {name: schema for name, schema in request["properties"].items() if name != "table"}
    with_rows = {
        **request,
        "description": f"The {name} with its table in one of the forms of MLflow's servers. "
        "null is a missing value.",
        "properties": {**others, **forms},
        "oneOf": [{"required": [form]} for form in forms],
    }
    required = [name for name in request.get("required", ()) if name != "table"]
    with_rows.pop("required", None)
    return {**with_rows, **({"required": required} if required else {})}


def _name(form: str) -> str:
    return "".join(word.capitalize() for word in form.split("_"))
