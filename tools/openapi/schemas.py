"""The messages of the contract as JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from tools.contract.limits import Limits
from tools.openapi import bounds, values
from tools.openapi.values import Schema, component, enum, nullable, reference

_NO_LIMITS: Mapping[str, Any] = MappingProxyType({})
_TIMES = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})
_ONE_OF_JSON = {
    FieldDescriptor.TYPE_MESSAGE: "object",
    FieldDescriptor.TYPE_BYTES: "string",
    FieldDescriptor.TYPE_STRING: "string",
}


class Schemas:
    """Schemas of all messages that are sent or come back.

    Parameters
    ----------
    taken, given : sequence of Descriptor
        The messages of requests, and those of responses.
    comments, limits : mapping by full name
        Of fields, comments with limits in words; and those limits as data.
    """

    def __init__(
        self,
        taken: Sequence[Descriptor],
        given: Sequence[Descriptor],
        comments: Mapping[str, str],
        limits: Mapping[str, Limits],
    ) -> None:
        self._comments, self._limits = comments, limits
        self._taken = {kind.full_name for kind in _reachable(taken)}
        self._messages = list(_reachable([*taken, *given]))

    def components(self) -> dict[str, Schema]:
        """Describe every message and enum, by its name."""
        found = {component(kind): self.message(kind) for kind in self._messages}
        for kind in self._messages:
            for field in kind.fields:
                if field.enum_type is not None:
                    found[component(field.enum_type)] = self._enum(field.enum_type)
        return dict(sorted({**found, **values.COMPONENTS}.items()))

    def message(self, kind: Descriptor) -> Schema:
        """Describe a message."""
        taken = kind.full_name in self._taken
        required = [field.json_name for field in kind.fields if self._is_required(field, taken)]
        schema: Schema = {"description": self._comments.get(kind.full_name, ""), "type": "object"}
        schema["properties"] = {field.json_name: self._field(field, taken) for field in kind.fields}
        if required:
            schema["required"] = required
        if choices := [self._choice(oneof, taken) for oneof in _choices(kind)]:
            schema.update(choices[0] if len(choices) == 1 else {"allOf": choices})
        return {**schema, "additionalProperties": False}

    def _is_required(self, field: FieldDescriptor, taken: bool) -> bool:
        """Tell whether a field always comes back, or must be sent."""
        if taken:
            return field.full_name in self._limits and self._limits[field.full_name].required
        return not field.has_presence

    def _field(self, field: FieldDescriptor, taken: bool) -> Schema:
        schema = _values(field, taken=taken, limits=self._limits.get(field.full_name))
        if taken and not self._is_required(field, taken):
            schema = nullable(schema)
        return {"description": self._comment(field), **schema}

    def _choice(self, oneof: Any, taken: bool) -> Schema:
        """Describe that exactly one field of several is there; null is as if it were not."""
        branches: list[Schema] = [{"required": [field.json_name]} for field in oneof.fields]
        if taken:
            for branch, field in zip(branches, oneof.fields, strict=True):
                branch["properties"] = {field.json_name: {"type": _ONE_OF_JSON[field.type]}}
        return {"oneOf": branches}

    def _enum(self, kind: EnumDescriptor) -> Schema:
        meanings = (f"- `{v.name}`: {self._comments.get(_value_name(v), '')}" for v in kind.values)
        text = "\n".join([self._comments.get(kind.full_name, ""), "", *meanings])
        return {"description": text, "type": "string", "enum": [v.name for v in kind.values]}

    def _comment(self, field: FieldDescriptor) -> str:
        return self._comments.get(field.full_name, "")


def _values(field: FieldDescriptor, *, taken: bool, limits: Limits | None) -> Schema:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        return {"type": "object", "additionalProperties": _value(value, taken=taken)}
    if field.is_repeated:
        count = bounds.of_count(limits, "Items") if limits else {}
        return {"type": "array", "items": _value(field, taken=taken), **count}
    if field.type == FieldDescriptor.TYPE_STRING and limits:
        return {**_value(field, taken=taken), **bounds.of_count(limits, "Length")}
    return _value(field, taken=taken, limits=bounds.of_number(limits) if limits else {})


def _value(
    field: FieldDescriptor, *, taken: bool, limits: Mapping[str, Any] = _NO_LIMITS
) -> Schema:
    if field.message_type is not None:
        return reference(component(field.message_type))
    if field.enum_type is not None:
        return enum(field.enum_type, taken=taken)
    return values.taken(field.type, limits) if taken else values.given(field.type)


def _value_name(value: Any) -> str:
    return f"{value.type.full_name}.{value.name}"


def _choices(kind: Descriptor) -> Iterator[Any]:
    """Give the oneofs that the contract has; protobuf adds one for each optional field."""
    return (oneof for oneof in kind.oneofs if not oneof.name.startswith("_"))


def _reachable(kinds: Iterable[Descriptor]) -> Iterator[Descriptor]:
    """Give messages, and those that they consist of, each once."""
    waiting, seen = list(kinds), set()
    while waiting:
        kind = waiting.pop(0)
        if kind.full_name in seen or kind.full_name in _TIMES:
            continue
        seen.add(kind.full_name)
        if not kind.GetOptions().map_entry:
            yield kind
            waiting += [field.message_type for field in kind.fields if field.message_type]
