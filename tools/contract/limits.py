"""Limits of fields: the options of limits.proto, read from a descriptor set, and put in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

LIMITS = "onnxplain/v1/limits.proto"
_EXTENSION = "onnxplain.v1.limits"
_ROWS_EXTENSION = "onnxplain.v1.default_rows"


@dataclass(frozen=True)
class Limits:
    """Limits and default of a field; see limits.proto.

    Attributes
    ----------
    default : bool, int, float, str or None
        Of the field's type, enum values by name; None where it is no constant.
    default_words : str
        Default that is no constant, in words.
    """

    min: float | None
    max: float | None
    exclusive_min: float | None
    exclusive_max: float | None
    zero_is_off: bool
    default: bool | float | str | None
    default_words: str
    required: bool
    min_items: int | None
    max_items: int | None


@dataclass(frozen=True)
class DefaultRows:
    """Rows that a method uses if the request has no `row_count`; None for all rows."""

    count: int | None
    exceptions: str

    def __str__(self) -> str:
        """Put them in words: "500; all rows with the trees engine"."""
        return "; ".join(
            filter(None, (f"{self.count:,}" if self.count else "all", self.exceptions))
        )


def read(files: FileDescriptorSet) -> dict[str, Limits]:
    """Return the limits of all fields that have some, by the full name of the field."""
    option = Option(files, "google.protobuf.FieldOptions", _EXTENSION)
    known = ((name, field, option.read(field)) for name, field in fields(files))
    return {name: _limits(value, field) for name, field, value in known if value is not None}


def read_rows(files: FileDescriptorSet) -> dict[str, DefaultRows]:
    """Return the default number of rows of each method, by the full name of its options."""
    option = Option(files, "google.protobuf.MessageOptions", _ROWS_EXTENSION)
    known = (
        (f"{file.package}.{message.name}", option.read(message))
        for file in files.file
        for message in file.message_type
    )
    return {
        name: DefaultRows(value.count if value.HasField("count") else None, value.exceptions)
        for name, value in known
        if value is not None
    }


class Option:
    """An option of the contract's own, read from descriptors: it is in no generated module."""

    def __init__(self, files: FileDescriptorSet, options: str, extension: str) -> None:
        pool = DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self._options = GetMessageClass(pool.FindMessageTypeByName(options))
        self._extension: Any = pool.FindExtensionByName(extension)

    def read(self, descriptor: Any) -> Any:
        """Return the value of the option; None where it is not set, unless it is repeated."""
        options = self._options.FromString(descriptor.options.SerializeToString())
        is_set = self._extension.is_repeated or options.HasExtension(self._extension)
        return options.Extensions[self._extension] if is_set else None


def fields(files: FileDescriptorSet) -> Iterator[tuple[str, FieldDescriptorProto]]:
    """Give all fields by their full name, in the order of the files."""
    for name, message in messages(files):
        yield from ((f"{name}.{field.name}", field) for field in message.field)


def messages(files: FileDescriptorSet) -> Iterator[tuple[str, DescriptorProto]]:
    """Give all messages by their full name, in the order of the files."""
    for file in files.file:
        yield from _messages(file.message_type, file.package)


def _messages(
    found: Iterable[DescriptorProto], scope: str
) -> Iterator[tuple[str, DescriptorProto]]:
    for message in found:
        name = f"{scope}.{message.name}"
        yield name, message
        yield from _messages(message.nested_type, name)


def _limits(message: Any, field: FieldDescriptorProto) -> Limits:
    def value(name: str) -> Any:
        return getattr(message, name) if message.HasField(name) else None

    number = int if field.type == field.TYPE_INT32 else float
    bounds = ("min", "max", "exclusive_min", "exclusive_max")
    constant: bool | float | str | None = value("default_text")
    if field.type == field.TYPE_BOOL and constant is not None:
        constant = constant == "true"
    elif message.HasField("default"):
        constant = number(message.default)
    return Limits(
        **{name: None if (v := value(name)) is None else number(v) for name in bounds},
        zero_is_off=message.zero_is_off,
        default=constant,
        default_words=message.default_words,
        required=message.required,
        min_items=value("min_items"),
        max_items=value("max_items"),
    )


def sentence(limits: Limits, field: FieldDescriptorProto) -> str:
    """Put range, number of entries and default in words: "In [2, 64]; default: 5."."""
    parts = (
        bounds(limits, is_repeated=field.label == field.LABEL_REPEATED),
        f"default: {words}" if (words := default(limits)) else "",
    )
    text = "; ".join(filter(None, parts))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def bounds(limits: Limits, *, is_repeated: bool) -> str:
    """Put the number of entries and the range in words; empty where there are none."""
    values = _range(limits)
    each = f"each {values}" if values and is_repeated else values
    return "; ".join(
        filter(None, (_entries(limits, "entries" if is_repeated else "letters"), each))
    )


def _range(limits: Limits) -> str:
    low = limits.min if limits.exclusive_min is None else limits.exclusive_min
    high = limits.max if limits.exclusive_max is None else limits.exclusive_max
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f"at most {shown(high)}" if low is None else f"at least {shown(low)}"
    left = "[" if limits.exclusive_min is None else "("
    right = "]" if limits.exclusive_max is None else ")"
    text = f"in {left}{shown(low)}, {shown(high)}{right}"
    return f"0 turns it off, otherwise {text}" if limits.zero_is_off else text


def default(limits: Limits) -> str:
    """Put the default in words; empty where there is none."""
    return limits.default_words if limits.default is None else shown(limits.default)


def _entries(limits: Limits, unit: str) -> str:
    low, high = limits.min_items, limits.max_items
    if low is not None and high is not None:
        return f"{low} to {high} {unit}"
    if low is not None:
        return f"at least {low} {unit}"
    return "" if high is None else f"at most {high} {unit}"


def shown(value: bool | float | str | None) -> str:
    """Write a value as the contract does: false, 10000, 1e-9, SQUARED_ERROR."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.8g}")
