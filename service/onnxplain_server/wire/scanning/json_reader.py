"""Streaming reader of JSON objects, guided by what is expected: it ends at the first fault.

Members of messages are read one by one, and checked before the next one is read; lists of numbers
and other values without known members are read by Python's own scanner, written in C.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined] # not in typeshed
from typing import Any, NamedTuple, Protocol

from google.protobuf.descriptor import FieldDescriptor

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.scanning import json_shape

_SPACE = frozenset(" \t\n\r")


class Shape(Protocol):
    """Expectation of a value."""

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:
        """Read the value that begins at an offset; return it, and the offset after it.

        Raises
        ------
        ExplainError
            For the first fault.
        ValueError
            If it is no JSON.
        """


class JsonReader:
    """Text that is read.

    Parameters
    ----------
    text : str
    decoder : json.JSONDecoder
        Reads values without known members.
    """

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder

    def read(self, shape: Shape) -> Any:
        """Read the whole text as one value."""
        if (start := self._skip(0)) == len(self._text):
            raise json.JSONDecodeError("Expecting value", self._text, start)
        value, at = shape.read(self, start, "")
        if (at := self._skip(at)) < len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, at)
        return value

    def starts(self, at: int, marks: str) -> bool:
        """Return whether one of these letters stands at an offset."""
        return at < len(self._text) and self._text[at] in marks

    def scan(self, at: int) -> tuple[Any, int]:
        """Read any value."""
        try:
            scan: Any = self._decoder.scan_once  # type: ignore[attr-defined] # not in typeshed
            value, end = scan(self._text, at)
        except StopIteration as stop:
            raise json.JSONDecodeError("Expecting value", self._text, stop.value) from None
        return value, end

    def members(
        self, at: int, path: str, expect: Callable[[str, Mapping[str, Any]], Shape]
    ) -> tuple[dict[str, Any], int]:
        """Read an object; `expect` returns the shape of a member, given those before it."""
        found: dict[str, Any] = {}
        at = self._skip(at + 1)
        if self.starts(at, "}"):
            return found, at + 1
        while True:
            if not self.starts(at, '"'):
                message = "Expecting property name enclosed in double quotes"
                raise json.JSONDecodeError(message, self._text, at)
            name, at = scanstring(self._text, at + 1, True)
            if name in found:
                raise ValueError(f'the name "{name[:100]}" stands twice in one object')
            shape = expect(name, found)
            at = self._skip(self._pass(at, ":"))
            found[name], at = shape.read(self, at, json_shape.join(path, name[:100]))
            at = self._skip(at)
            if self.starts(at, "}"):
                return found, at + 1
            at = self._skip(self._pass(at, ","))

    def items(self, at: int, path: str, shape: Shape) -> tuple[list[Any], int]:
        """Read a list of messages."""
        found: list[Any] = []
        at = self._skip(at + 1)
        if self.starts(at, "]"):
            return found, at + 1
        while True:
            if len(found) == json_shape.ITEM_LIMIT:
                raise _of(json_shape.too_many(path))
            item, at = shape.read(self, at, f"{path}[{len(found)}]")
            found.append(item)
            at = self._skip(at)
            if self.starts(at, "]"):
                return found, at + 1
            at = self._skip(self._pass(at, ","))

    def _pass(self, at: int, mark: str) -> int:
        at = self._skip(at)
        if not self.starts(at, mark):
            raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", self._text, at)
        return at + 1

    def _skip(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _SPACE:
            at += 1
        return at


class AnyShape:
    """Any value."""

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:  # noqa: ARG002
        """See `Shape.read`."""
        return reader.scan(at)


class ObjectShape(NamedTuple):
    """An object with these members and no others; other values are read as they are.

    Attributes
    ----------
    shapes : mapping of str to Shape
    unknown : callable (name) -> ExplainError
        Error of another member.
    """

    shapes: Mapping[str, Shape]
    unknown: Callable[[str], ExplainError]

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:
        """See `Shape.read`."""
        if not reader.starts(at, "{"):
            return reader.scan(at)

        def expect(name: str, _found: Mapping[str, Any]) -> Shape:
            if name not in self.shapes:
                raise self.unknown(name)
            return self.shapes[name]

        return reader.members(at, path, expect)


class MessageShape:
    """A message in canonical JSON, of which `find_fault` need not be asked again.

    Parameters
    ----------
    kind : Descriptor
    others : mapping of str to Shape, optional
        Further members, which are left to the caller.
    """

    def __init__(self, kind: Any, others: Mapping[str, Shape] | None = None) -> None:
        self._kind = kind
        self._fields = {f.json_name: f for f in kind.fields} | {f.name: f for f in kind.fields}
        self._others = others or {}

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:
        """See `Shape.read`."""
        if not reader.starts(at, "{"):
            raise _of(json_shape.no_object(path))

        def expect(name: str, found: Mapping[str, Any]) -> Shape:
            if name in self._others:
                return self._others[name]
            if name not in self._fields:
                raise _of(json_shape.unknown_field(name, self._kind, path))
            if twice := json_shape.named_twice(self._fields[name], found, path):
                raise _of(twice)
            return _FieldShape(self._fields[name], path)

        return reader.members(at, path, expect)


class _FieldShape(NamedTuple):
    """Value of a field of a message whose path is known."""

    field: FieldDescriptor
    parent: str

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:
        """See `Shape.read`."""
        field, path = self.field, json_shape.join(self.parent, self.field.name)
        is_message = json_shape.has_members(field)
        if is_message and field.is_repeated and reader.starts(at, "["):
            return reader.items(at, path, MessageShape(field.message_type))
        if is_message and not field.is_repeated and reader.starts(at, "{"):
            return MessageShape(field.message_type).read(reader, at, path)
        # Another kind of value than expected is refused unread, however long it is.
        for mark, example in (("[", []), ("{", {})):
            if reader.starts(at, mark) and (wrong := json_shape.field_fault(example, field, path)):
                raise _of(wrong)
        value, end = reader.scan(at)
        if wrong := json_shape.field_fault(value, field, path):
            raise _of(wrong)
        return value, end


def _of(fault: json_shape.Fault) -> ExplainError:
    path = fault.path
    message = f"{path} {fault.rule}" if path else f"the JSON {fault.rule}"
    return ExplainError(Reason.INVALID_REQUEST, message, path)


ANY = AnyShape()
