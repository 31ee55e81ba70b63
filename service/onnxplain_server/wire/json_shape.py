"""Whether JSON has the shape of a message, and if not, where and why.

protobuf's own reader finds most of this too, but says so in Python's terms,
often without the place; and it passes over broken base64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INT32 = 2**31

_BEYOND = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""What JSON has no digits for, as canonical JSON writes it."""

_OWN_FORMS = {"google.protobuf.Duration"}
"""Messages that canonical JSON writes as text."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing that is wrong: the field's path and the rule that it breaks."""

    path: str
    rule: str


def find_fault(value: Any, kind: Any, path: str = "") -> Fault | None:
    """Compare a value with the descriptor of a message."""
    if not isinstance(value, dict):
        return Fault(path, "must be an object")
    fields = {name: field for field in kind.fields for name in (field.json_name, field.name)}
    for name, inner in value.items():
        if name not in fields:
            known = ", ".join(field.json_name for field in kind.fields)
            return Fault(_join(path, name[:100]), f"is no known field; known here: {known}")
        field = fields[name]
        if field.name != field.json_name and {field.name, field.json_name} <= value.keys():
            rule = f"is given twice, as {field.name} and as {field.json_name}"
            return Fault(_join(path, field.name), rule)
        if found := _in_field(inner, field, _join(path, field.name)):
            return found
    return None


def _in_field(value: Any, field: Any, path: str) -> Fault | None:
    if value is None:
        # In canonical JSON the same as leaving the field out.
        return None
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _in_map(value, field.message_type.fields_by_name["value"], path)
    if not field.is_repeated:
        return _in_value(value, field, path)
    if not isinstance(value, list):
        return Fault(path, "must be a list")
    for index, item in enumerate(value):
        if found := _in_value(item, field, f"{path}[{index}]"):
            return found
    return None


def _in_map(value: Any, field: Any, path: str) -> Fault | None:
    if not isinstance(value, dict):
        return Fault(path, "must be an object")
    for name, item in value.items():
        if found := _in_value(item, field, _join(path, name[:100])):
            return found
    return None


def _in_value(value: Any, field: Any, path: str) -> Fault | None:
    if field.message_type is not None and field.message_type.full_name in _OWN_FORMS:
        # The decoder checks it.
        return None
    if field.message_type is not None:
        return find_fault(value, field.message_type, path)
    if field.enum_type is not None:
        return _in_enum(value, field.enum_type, path)
    right, rule = _RULES[field.type]
    return None if right(value) else Fault(path, rule)


def _in_enum(value: Any, kind: Any, path: str) -> Fault | None:
    known = kind.values_by_name if isinstance(value, str) else kind.values_by_number
    if isinstance(value, str | int) and not isinstance(value, bool) and value in known:
        return None
    return Fault(path, f"must be one of {', '.join(kind.values_by_name)}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str) or not _BASE64.fullmatch(value):
        return False
    letter_count = len(value.rstrip("="))
    # What is missing of the last four may be filled up, or left out.
    return letter_count % 4 != 1 and len(value) in {letter_count, -(-letter_count // 4) * 4}


def _number(value: Any) -> float | None:
    """Read a number; canonical JSON may write it as text, and must where it has no digits.

    As text it is what JSON takes for a number too: Python would also read "1_000" and "inf".
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (value in _BEYOND or not _NUMBER.fullmatch(value)):
        return _BEYOND.get(value)
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
