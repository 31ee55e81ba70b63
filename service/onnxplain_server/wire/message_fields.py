"""Conversion between messages and dataclasses, by fields of equal names.

A field of the message takes the attribute of its name, from the dataclass or from a dataclass
nested in it: `Options.growth.depth` is `FeatureVectorsOptions.depth`. Exceptions are written by
hand, as values by field name; a field without a value is an error, so that none is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.scanning.field_scan import LENGTH_DELIMITED, encode_varint

T = TypeVar("T")
Values: TypeAlias = Mapping[str, Any]
ReadExceptions: TypeAlias = Mapping[str, Callable[[Any, str], Values]]
WriteExceptions: TypeAlias = Mapping[str, Callable[[Any], Values]]
NO_EXCEPTIONS: Mapping[str, Any] = MappingProxyType({})


class WireExceptions(NamedTuple):
    """Values of a method's messages that differ from the attributes of their names.

    Attributes
    ----------
    read, write : mapping of message to function
        Of its options.
    results : mapping of message to function
        Of its results, which are only written.
    without_rows : mapping of message to function
        Of its results where their rows are written elsewhere.
    """

    read: ReadExceptions = NO_EXCEPTIONS
    write: WriteExceptions = NO_EXCEPTIONS
    results: WriteExceptions = NO_EXCEPTIONS
    without_rows: WriteExceptions = NO_EXCEPTIONS


_ABSENT = object()
_MANY = 256
"""Numbers from which their bytes are merged."""


def enum(message: Message, name: str, path: str) -> str:
    """Return the name of an enum field's value; empty if it is unspecified.

    Raises
    ------
    ExplainError
        INVALID_OPTION for an unknown number.
    """
    kind = message.DESCRIPTOR.fields_by_name[name].enum_type
    return _enum_name(kind, getattr(message, name), name, path)


def _enum_name(kind: Any, number: int, name: str, path: str) -> str:
    if number not in kind.values_by_number:
        raise ExplainError(Reason.INVALID_OPTION, f"{name} has no value number {number}", path)
    return "" if number == 0 else str(kind.values_by_number[number].name)


def read(
    message: Message, kind: type[T], path: str, exceptions: ReadExceptions = NO_EXCEPTIONS
) -> T:
    """Read a message into a dataclass; absent fields take its defaults.

    Parameters
    ----------
    path : str
        Names the message in errors.
    exceptions : mapping
        For each message by its name, a function that returns values of attributes that differ
        from the field of their name.

    Raises
    ------
    ExplainError
        INVALID_OPTION for an unknown value of an enum.
    """
    hints = _type_hints(kind)  # type: ignore[arg-type] # a class is hashable
    values = dict(exceptions.get(message.DESCRIPTOR.name, _no_values)(message, path))
    message_fields: Any = message.DESCRIPTOR.fields_by_name
    for attribute in fields(kind):  # type: ignore[arg-type] # no type says: a dataclass
        name, hint = attribute.name, hints[attribute.name]
        if name in values:
            continue
        if name in message_fields:
            value = _read_field(message, message_fields[name], hint, path)
            if value is not _ABSENT:
                values[name] = value
        elif is_dataclass(hint):
            values[name] = read(message, hint, path)  # type: ignore[arg-type] # likewise
    return kind(**values)


_type_hints = cache(get_type_hints)
"""Compiling the annotations of a dataclass takes longer than reading its message."""


def _read_field(message: Message, field: FieldDescriptor, hint: Any, path: str) -> object:
    name = field.name
    if field.is_repeated:
        return tuple(_read_items(getattr(message, name), field, hint, f"{path}.{name}"))
    if field.message_type is not None:
        if _is_optional(hint) and not message.HasField(name):
            return _ABSENT
        return read(getattr(message, name), _required(hint), f"{path}.{name}")
    if field.enum_type is not None:
        value_name = enum(message, name, f"{path}.{name}")
        return _required(hint)(value_name) if value_name else _ABSENT
    if field.has_presence and not message.HasField(name):
        return _ABSENT
    value = getattr(message, name)
    # An empty string without presence means the default.
    return _ABSENT if value == "" else value


def _read_items(items: Any, field: FieldDescriptor, hint: Any, path: str) -> Iterable[object]:
    kind = get_args(_required(hint))[0]
    if field.enum_type is not None:
        for number in items:
            value_name = _enum_name(field.enum_type, number, field.name, path)
            if not value_name:
                message = f"{field.name} has no value number {number}"
                raise ExplainError(Reason.INVALID_OPTION, message, path)
            yield kind(value_name)
    elif field.message_type is None:
        yield from items
    elif is_dataclass(kind):
        yield from (read(item, kind, f"{path}[{i}]") for i, item in enumerate(items))  # type: ignore[arg-type] # likewise
    else:  # a wrapper message around a list, as protobuf has no lists of lists
        (wrapped,) = field.message_type.fields
        yield from (tuple(getattr(item, wrapped.name)) for item in items)


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in {Union, UnionType} and type(None) in get_args(hint)


def _required(hint: Any) -> Any:
    """Return a type without None."""
    if not _is_optional(hint):
        return hint
    (kind,) = (kind for kind in get_args(hint) if kind is not type(None))
    return kind


def write(kind: type[T], source: object, exceptions: WriteExceptions) -> T:
    """Write a dataclass or a mapping as a message; values that are None are left out.

    Raises
    ------
    AttributeError
        For a field that neither `source` nor the exceptions have.
    """
    descriptor: Any = kind.DESCRIPTOR  # type: ignore[attr-defined] # of all messages
    overrides = exceptions.get(descriptor.name, _no_values)(source)
    values, numbers = {}, {}
    for field in descriptor.fields:
        name = field.name
        value = overrides[name] if name in overrides else _attribute(source, name)
        if isinstance(value, np.ndarray):
            numbers[name] = value
        elif value is not None:
            values[name] = _write_field(field, value, exceptions)
    message: Any = kind(**values)
    for name, array in numbers.items():
        add_numbers(message, name, array)
    return message  # type: ignore[no-any-return] # of this kind


def add_numbers(message: Any, name: str, values: Array) -> None:
    """Add an array to a repeated field, row by row.

    Many doubles are merged as their bytes on the wire, and not added one by one.
    """
    field = message.DESCRIPTOR.fields_by_name[name]
    if values.size < _MANY or field.type != FieldDescriptor.TYPE_DOUBLE:
        getattr(message, name).extend(values.ravel())
        return
    content = np.ascontiguousarray(values, dtype="<f8").tobytes()
    tag = encode_varint(field.number << 3 | LENGTH_DELIMITED)
    message.MergeFromString(tag + encode_varint(len(content)) + content)


def _no_values(*_: object) -> Values:
    return {}


def _attribute(source: Any, name: str) -> Any:
    """Return an attribute of a dataclass or of one nested in it."""
    if isinstance(source, Mapping):
        return source[name]
    owner = _owner(source, name)
    if owner is None:
        raise AttributeError(f"{type(source).__module__}.{type(source).__name__} has no {name}")
    return getattr(owner, name)


def _owner(source: Any, name: str) -> Any:
    """Return the dataclass that has an attribute: this one, or one inside it; None if none has."""
    if hasattr(source, name):
        return source
    nested = (getattr(source, field.name) for field in fields(source))
    owners = (_owner(inner, name) for inner in nested if is_dataclass(inner))
    return next((owner for owner in owners if owner is not None), None)


def _write_field(field: FieldDescriptor, value: Any, exceptions: WriteExceptions) -> Any:
    if field.message_type is None:
        is_list = isinstance(value, tuple | list)
        return [_enum_value(item) for item in value] if is_list else _enum_value(value)
    kind = GetMessageClass(field.message_type)
    if not field.is_repeated:
        return write(kind, value, exceptions)
    return [_write_item(kind, item, exceptions) for item in value]


def _write_item(kind: type[Message], item: object, exceptions: WriteExceptions) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, tuple):  # a wrapper message around a list
        (wrapped,) = kind.DESCRIPTOR.fields
        return kind(**{wrapped.name: item})
    return write(kind, item, exceptions)


def _enum_value(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
