"""JSON Schemas of single values, in forms that generators of clients read.

One value has one type: where the server reads more (null, numbers as text, enum values by number),
the description says so in words. A double that comes back is a number or one of three texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

Schema = dict[str, Any]

DOUBLE: Schema = {
    "description": "A number; where it is none, one of three texts.",
    "oneOf": [
        {"type": "number", "format": "double"},
        {"$ref": "#/components/schemas/NonFinite"},
    ],
}

NON_FINITE: Schema = {
    "description": "What is no finite number.",
    "type": "string",
    "enum": ["NaN", "Infinity", "-Infinity"],
}

DURATION: Schema = {
    "description": 'Seconds, as text like "1.5s".',
    "type": "string",
    "pattern": r"^-?[0-9]{1,11}(\.[0-9]{1,9})?s$",
}

TIMESTAMP: Schema = {
    "description": "Time in UTC, as RFC 3339 has it.",
    "type": "string",
    "format": "date-time",
}

COMPONENTS = {
    "DoubleOrText": DOUBLE,
    "Duration": DURATION,
    "NonFinite": NON_FINITE,
    "Timestamp": TIMESTAMP,
}

_LETTER = "[A-Za-z0-9+/_-]"
_BASE64 = rf"^({_LETTER}{{4}})*({_LETTER}{{2}}(==)?|{_LETTER}{{3}}=?)?$"
_INT32: Schema = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}

_GIVEN: Mapping[int, Callable[[], Schema]] = MappingProxyType(
    {
        FieldDescriptor.TYPE_STRING: lambda: {"type": "string"},
        FieldDescriptor.TYPE_BYTES: lambda: {"type": "string", "contentEncoding": "base64"},
        FieldDescriptor.TYPE_BOOL: lambda: {"type": "boolean"},
        FieldDescriptor.TYPE_INT32: lambda: dict(_INT32),
        FieldDescriptor.TYPE_DOUBLE: lambda: reference("DoubleOrText"),
    }
)

_TAKEN: Mapping[int, Callable[[], Schema]] = MappingProxyType(
    {
        **_GIVEN,
        FieldDescriptor.TYPE_BYTES: lambda: {
            "type": "string",
            "contentEncoding": "base64",
            "format": "byte",
            "pattern": _BASE64,
        },
        FieldDescriptor.TYPE_DOUBLE: lambda: {"type": "number", "format": "double"},
    }
)


def reference(name: str) -> Schema:
    """Refer to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def given(kind: int) -> Schema:
    """Describe a value of a scalar type as it comes back."""
    return _GIVEN[kind]()


def taken(kind: int, limits: Mapping[str, Any]) -> Schema:
    """Describe a value of a scalar type as it is sent; `limits` are those of numbers."""
    return {**_TAKEN[kind](), **limits}


def component(kind: Any) -> str:
    """Name the component of a message or enum; those within a message begin with its name."""
    return str(kind.full_name).removeprefix(f"{kind.file.package}.").replace(".", "")
