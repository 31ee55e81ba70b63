"""JSON Schemas of single values, as protobuf's canonical JSON has them.

A value that is sent may be written in more ways than one that comes back: numbers as text, enum
values by number. Both are described exactly, so that what a schema refuses, the server refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

Schema = dict[str, Any]

DOUBLE: Schema = {
    "description": "A number; where it is none, one of three texts.",
    "anyOf": [
        {"type": "number", "format": "double"},
        {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]},
    ],
}

_DIGITS = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"

DIGITS: Schema = {
    "description": "The same as text.",
    "type": "string",
    "pattern": f"^{_DIGITS}$",
}

NUMBER: Schema = {
    "description": "The same as text, or what is no number.",
    "type": "string",
    "pattern": f"^({_DIGITS}|NaN|-?Infinity)$",
}

DURATION: Schema = {
    "description": 'Seconds, as text like "1.5s".',
    "type": "string",
    "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$",
}

TIMESTAMP: Schema = {
    "description": "Time in UTC, as RFC 3339 has it.",
    "type": "string",
    "format": "date-time",
}

COMPONENTS = {
    "Digits": DIGITS,
    "Double": DOUBLE,
    "Duration": DURATION,
    "Number": NUMBER,
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
        FieldDescriptor.TYPE_DOUBLE: lambda: reference("Double"),
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

_TEXTS = {FieldDescriptor.TYPE_INT32: "Digits", FieldDescriptor.TYPE_DOUBLE: "Number"}


def reference(name: str) -> Schema:
    """Refer to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def given(kind: int) -> Schema:
    """Describe a value of a scalar type as it comes back."""
    return _GIVEN[kind]()


def taken(kind: int, limits: Mapping[str, Any]) -> Schema:
    """Describe a value of a scalar type as it may be sent; `limits` are those of numbers."""
    if kind not in _TEXTS:
        return _TAKEN[kind]()
    return {"anyOf": [{**_TAKEN[kind](), **limits}, reference(_TEXTS[kind])]}


def enum(kind: EnumDescriptor, *, taken: bool) -> Schema:
    """Refer to an enum; one that is sent may also be a number."""
    name = reference(component(kind))
    if not taken:
        return name
    return {"anyOf": [name, {"type": "integer", "enum": [value.number for value in kind.values]}]}


def component(kind: Any) -> str:
    """Name the component of a message or enum."""
    return str(kind.full_name).removeprefix(f"{kind.file.package}.")


def nullable(schema: Schema) -> Schema:
    """Allow null, which means the same as leaving the value out."""
    kinds = schema.get("type")
    if kinds is not None and "enum" not in schema:
        return {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
