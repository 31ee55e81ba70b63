"""The messages of the contract as JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from tools.contract.limits import Limits
from tools.openapi import bounds, values
from tools.openapi.values import Schema, component, reference

_TIMES = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})


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
        # An answer in a request is sent as it came back.
        self._taken = {kind.full_name for kind in _reachable(taken, set(given))}
        self._messages = list(_reachable([*taken, *given]))

    def components(self) -> dict[str, Schema]:
        """Describe every message and enum, by its name."""
        found = {component(kind): self.message(kind) for kind in self._messages}
        for kind in self._messages:
            found |= self.forms(kind)
            for field in kind.fields:
                if field.enum_type is not None:
                    found[component(field.enum_type)] = self._enum(field.enum_type)
        return dict(sorted({**found, **values.COMPONENTS}.items()))

    def message(self, kind: Descriptor) -> Schema:
        """Describe a message; one of a request that has a choice, by the names of its forms."""
        if kind.full_name in self._taken and _choices(kind):
            forms = [reference(name) for name in self.forms(kind)]
            return {"description": self._comments.get(kind.full_name, ""), "oneOf": forms}
        return self._object(kind, kind.fields)

    def forms(self, kind: Descriptor) -> dict[str, Schema]:
        """Describe the forms that a choice gives to a message of a request, by their names.

        Generators of clients make one type of each; most cannot read a choice beside properties.
        """
        if kind.full_name not in self._taken or not _choices(kind):
            return {}
        (choice,) = _choices(kind)
        name, others = component(kind), [f for f in kind.fields if f not in choice.fields]
        return {
            f"{name}By{_capital(chosen.json_name)}": {
                **self._object(kind, [chosen, *others], chosen),
                "description": f"{name} by `{chosen.json_name}`: {self._comment(chosen)}",
            }
            for chosen in choice.fields
        }

    def _object(
        self,
        kind: Descriptor,
        fields: Iterable[FieldDescriptor],
        chosen: FieldDescriptor | None = None,
    ) -> Schema:
        taken = kind.full_name in self._taken
        fields = list(fields)
        required = [f.json_name for f in fields if f is chosen or self._is_required(f, taken)]
        schema: Schema = {"description": self._comments.get(kind.full_name, ""), "type": "object"}
        schema["properties"] = {field.json_name: self._field(field, taken) for field in fields}
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False}

    def _is_required(self, field: FieldDescriptor, taken: bool) -> bool:
        """Tell whether a field always comes back, or must be sent."""
        if taken:
            return field.full_name in self._limits and self._limits[field.full_name].required
        return not field.has_presence

    def _field(self, field: FieldDescriptor, taken: bool) -> Schema:
        schema = _values(field, taken=taken, limits=self._limits.get(field.full_name))
        return {"description": self._comment(field), **schema}

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
        item = _value(field, taken=taken, limits={} if limits else None)
        return {"type": "array", "items": item, **count}
    if field.type == FieldDescriptor.TYPE_STRING and limits:
        return {**_value(field, taken=taken), **bounds.of_count(limits, "Length")}
    return _value(field, taken=taken, limits=bounds.of_number(limits) if limits else None)


def _value(
    field: FieldDescriptor, *, taken: bool, limits: Mapping[str, Any] | None = None
) -> Schema:
    if field.message_type is not None:
        return reference(component(field.message_type))
    if field.enum_type is not None:
        return reference(component(field.enum_type))
    if not taken:
        return values.given(field.type)
    # Numbers without limits are data, where one may be missing.
    if field.type == FieldDescriptor.TYPE_DOUBLE and limits is None:
        return values.given(field.type)
    return values.taken(field.type, limits or {})


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _value_name(value: Any) -> str:
    return f"{value.type.full_name}.{value.name}"


def _choices(kind: Descriptor) -> list[Any]:
    """Give the oneofs that the contract has; protobuf adds one for each optional field."""
    return [oneof for oneof in kind.oneofs if not oneof.name.startswith("_")]


def _reachable(
    kinds: Iterable[Descriptor], without: Set[Descriptor] = frozenset()
) -> Iterator[Descriptor]:
    """Give messages, and those that they consist of, each once."""
    waiting, seen = list(kinds), set()
    while waiting:
        kind = waiting.pop(0)
        if kind.full_name in seen or kind.full_name in _TIMES:
            continue
        seen.add(kind.full_name)
        if not kind.GetOptions().map_entry:
            yield kind
            parts = {field.message_type: None for field in kind.fields if field.message_type}
            waiting += [part for part in parts if part not in without]
