"""Check of JSON against a message's descriptor; the error names path and rule.

protobuf's own parser finds most of this too, but reports it in Python's terms, often without
the path, and accepts malformed base64. Names of enum values may be in any case, and those that
others have for them: "auc" and "roc_auc" are AUC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from onnxplain.enumerations.values import value_name, value_rule

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INT32 = 2**31

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that canonical JSON writes as text."""

_TEXT_MESSAGES = {"google.protobuf.Duration"}
"""Messages that canonical JSON writes as text."""


ITEM_LIMIT = 100_000
"""Most messages of a list, and most columns of a table: few bytes that take long to make."""


@dataclass(frozen=True, slots=True)
class Fault:
    """First fault of a document: the field's path and the rule that it breaks."""

    path: str
    rule: str


def find_fault(value: Any, kind: Any, path: str = "") -> Fault | None:
    """Return the first fault of a value that should have the fields of a message; None if valid."""
    if not isinstance(value, dict):
        return no_object(path)
    fields = {name: field for field in kind.fields for name in (field.json_name, field.name)}
    for name, inner in value.items():
        if name not in fields:
            return unknown_field(name, kind, path)
        field = fields[name]
        if {field.name, field.json_name} <= value.keys() and (
            fault := named_twice(field, value, path)
        ):
            return fault
        if fault := field_fault(inner, field, join(path, field.name)):
            return fault
    return None


def no_object(path: str) -> Fault:
    """Return the fault of a value that is no object."""
    return Fault(path, "must be an object")


def too_many(path: str) -> Fault:
    """Return the fault of a list of too many messages."""
    return Fault(path, f"has more than {ITEM_LIMIT:,} items")


def unknown_field(name: str, kind: Any, path: str) -> Fault:
    """Return the fault of a name that no field of a message has."""
    known = ", ".join(field.json_name for field in kind.fields)
    return Fault(join(path, name[:100]), f"is no known field; known here: {known}")


def named_twice(field: Any, given: Container[str], path: str) -> Fault | None:
    """Return the fault of a field that is also given by one of its names."""
    if field.name == field.json_name or not (field.name in given or field.json_name in given):
        return None
    rule = f"is given twice, as {field.name} and as {field.json_name}"
    return Fault(join(path, field.name), rule)


def has_members(field: Any) -> bool:
    """Return whether values of a field, or its items, are objects with known members."""
    kind = field.message_type
    return (
        kind is not None
        and not kind.GetOptions().map_entry
        and kind.full_name not in _TEXT_MESSAGES
    )


def field_fault(value: Any, field: Any, path: str) -> Fault | None:
    """Return the first fault of the value of a field; None if it is valid."""
    if value is None:
        # Canonical JSON reads null as an absent field.
        return None
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map_fault(value, field.message_type.fields_by_name["value"], path)
    if not field.is_repeated:
        return _value_fault(value, field, path)
    return _list_fault(value, field, path)


def _list_fault(value: Any, field: Any, path: str) -> Fault | None:
    if not isinstance(value, list):
        return Fault(path, "must be a list")
    if len(value) > ITEM_LIMIT and has_members(field):
        return too_many(path)
    for index, item in enumerate(value):
        if fault := _value_fault(item, field, f"{path}[{index}]"):
            return fault
    return None


def _map_fault(value: Any, field: Any, path: str) -> Fault | None:
    if not isinstance(value, dict):
        return no_object(path)
    for name, item in value.items():
        if fault := _value_fault(item, field, join(path, name[:100])):
            return fault
    return None


def _value_fault(value: Any, field: Any, path: str) -> Fault | None:
    if field.message_type is not None and field.message_type.full_name in _TEXT_MESSAGES:
        # Checked by protobuf's parser.
        return None
    if field.message_type is not None:
        return find_fault(value, field.message_type, path)
    if field.enum_type is not None:
        return _enum_fault(value, field.enum_type, path)
    is_valid, rule = _RULES[field.type]
    return None if is_valid(value) else Fault(path, rule)


def _enum_fault(value: Any, kind: Any, path: str) -> Fault | None:
    value = enum_value(value, kind)
    known = kind.values_by_name if isinstance(value, str) else kind.values_by_number
    if isinstance(value, str | int) and not isinstance(value, bool) and value in known:
        return None
    return Fault(path, value_rule(value if isinstance(value, str) else "", kind))


def join(path: str, name: str) -> str:
    """Return the path of a member of what has a path."""
    return f"{path}.{name}" if path else name


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str) or not _BASE64.fullmatch(value):
        return False
    letter_count = len(value.rstrip("="))
    # Padding of the last group of four may be left out.
    return letter_count % 4 != 1 and len(value) in {letter_count, -(-letter_count // 4) * 4}


def _number(value: Any) -> float | None:
    """Read a number, which canonical JSON may write as text; None if it is none.

    Text must be a JSON number or NaN or ±Infinity: Python would also read "1_000" and "inf".
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (value in _NON_FINITE or not _NUMBER.fullmatch(value)):
        return _NON_FINITE.get(value)
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_double(value: Any) -> bool:
    return _number(value) is not None


def _is_int32(value: Any) -> bool:
    number = _number(value)
    return number is not None and number.is_integer() and -_INT32 <= number < _INT32


_RULES: Mapping[int, tuple[Callable[[Any], bool], str]] = MappingProxyType(
    {
        FieldDescriptor.TYPE_STRING: (lambda value: isinstance(value, str), "must be a string"),
        FieldDescriptor.TYPE_BYTES: (_is_base64, "must be base64 text"),
        FieldDescriptor.TYPE_BOOL: (lambda value: isinstance(value, bool), "must be true or false"),
        FieldDescriptor.TYPE_DOUBLE: (_is_double, 'must be a number, or "NaN"'),
        FieldDescriptor.TYPE_INT32: (_is_int32, "must be a whole number of 32 bits"),
    }
)


def enum_value(value: Any, kind: Any) -> Any:
    """Return the name of an enum value as the contract writes it; other values as they are.

    A whole number is its number, also as 1.0, which JSON does not tell from 1.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    known = value_name(value, kind) if isinstance(value, str) else None
    return value if known is None else known


def with_enum_names(value: Any, kind: Any) -> Any:
    """Return the JSON of a message with the names of the contract for all enum values.

    Parameters
    ----------
    value : dict
        Without faults; see `find_fault`. It is not changed.
    kind : Descriptor
        Of the message.
    """
    fields = _enum_fields(kind)
    if not isinstance(value, dict) or not fields:
        return value
    return {
        name: _field(inner, fields[name]) if name in fields else inner
        for name, inner in value.items()
    }


def _field(value: Any, field: Any) -> Any:
    if value is None:
        return None
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"]
        return {name: _entry(item, inner) for name, item in value.items()}
    if field.is_repeated:
        return [_entry(item, field) for item in value]
    return _entry(value, field)


def _entry(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        return enum_value(value, field.enum_type)
    return value if field.message_type is None else with_enum_names(value, field.message_type)


@cache
def _enum_fields(kind: Any) -> dict[str, Any]:
    """Return the fields, by both of their names, that are enums or hold any."""
    return {
        name: field
        for field in kind.fields
        if field.enum_type is not None
        or (field.message_type is not None and _holds_enum(field.message_type, frozenset()))
        for name in (field.name, field.json_name)
    }


def _holds_enum(kind: Any, seen: frozenset[str]) -> bool:
    if kind.full_name in seen:
        return False
    seen |= {kind.full_name}
    return any(
        field.enum_type is not None
        or (field.message_type is not None and _holds_enum(field.message_type, seen))
        for field in kind.fields
    )
