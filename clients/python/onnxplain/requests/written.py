"""Messages of the contract, whose errors name the field."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from onnxplain.enumerations.values import value_name, value_rule

_MessageType = TypeVar("_MessageType", bound=Message)
_RULES: Mapping[int, str] = {
    FieldDescriptor.CPPTYPE_INT32: f"a whole number of at most {2**31 - 1}",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_BOOL: "True or False",
    FieldDescriptor.CPPTYPE_STRING: "text",
}
"""What a value must be, by the type of the field."""


def written(
    kind: type[_MessageType], called: Mapping[str, str] | None = None, /, **fields: Any
) -> _MessageType:
    """Write a message of these fields; None leaves one out.

    Values of enumerations are names in any case, or those that others have for them.

    Parameters
    ----------
    kind : type of message
    called : mapping of field to str
        Arguments of other names than their fields.

    Raises
    ------
    TypeError, ValueError
        With the name of the field that cannot have its value.
    """
    fields = {name: _named(kind, name, value, called or {}) for name, value in fields.items()}
    try:
        return kind(**fields)
    except (TypeError, ValueError) as error:
        raise _with_field(kind, called or {}, fields, error) from None


def _named(kind: type[Message], name: str, value: Any, called: Mapping[str, str]) -> Any:
    """Return a value of an enumeration by the contract's name; other values as they are."""
    enum = kind.DESCRIPTOR.fields_by_name[name].enum_type
    if enum is None or not isinstance(value, str):
        return value
    known = value_name(value, enum)
    if known is None:
        raise ValueError(f"{called.get(name, name)} is {value!r}; it {value_rule(value, enum)}")
    return known


def _with_field(
    kind: type[Message], called: Mapping[str, str], fields: Mapping[str, Any], error: Exception
) -> Exception:
    for name, value in fields.items():
        try:
            kind(**{name: value})
        except (TypeError, ValueError) as fault:
            return type(fault)(
                f"{called.get(name, name)} is {reprlib.repr(value)}; {_rule(kind, name, fault)}"
            )
    return error


def _rule(kind: type[Message], name: str, fault: Exception) -> str:
    field = kind.DESCRIPTOR.fields_by_name[name]
    rule = _RULES.get(field.cpp_type)
    if rule is None:
        return str(fault)
    return f"it must be {'a list, and each entry ' * field.is_repeated}{rule}"
