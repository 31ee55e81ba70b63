"""Fields of the contract's messages as arguments of Python, by rule: type, default, docstring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.python_client.contract import Contract, class_name
from tools.python_client.forms import FLATTENED, FORMS, GROUP_NOTE, Form

_SCALARS = {"CPPTYPE_INT32": "int", "CPPTYPE_DOUBLE": "float", "CPPTYPE_BOOL": "bool"}
_SCALARS |= {"CPPTYPE_STRING": "str"}
_REQUIRED = ""
_LONGEST_LIST = 75
"""Most characters of a list of values in a docstring."""


@dataclass(frozen=True)
class Argument:
    """An argument of a class or function.

    Attributes
    ----------
    annotation, default : str
        As in code; no default where it must be given.
    kind, text : str
        Type and description, as in a docstring.
    """

    name: str
    annotation: str
    default: str
    kind: str
    text: str


@dataclass(frozen=True)
class Field:
    """A field of a message: the arguments it is given by, and the expression that writes it."""

    name: str
    arguments: tuple[Argument, ...]
    expression: str


def fields(contract: Contract, message: Any, owner: str = "") -> Iterator[Field]:
    """Give the fields of a message, in the contract's order.

    Parameters
    ----------
    owner : str
        In front of each argument in an expression: "self." in a class.
    """
    for field in message.fields:
        if field.message_type and field.message_type.name in FLATTENED:
            yield _flattened(contract, field, owner)
        else:
            yield _field(contract, field, owner)


def literal(kind: Any) -> list[str]:
    """Return the values of an enumeration that can be sent."""
    return [f'"{value.name}"' for value in kind.values if value.number]


def listed(values: list[str]) -> str:
    """Join alternatives: a, b or c."""
    return " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))


def _flattened(contract: Contract, field: Any, owner: str) -> Field:
    """Take the fields of a message in the place of the message."""
    inner = list(fields(contract, field.message_type, owner))
    given = ", ".join(f"{f.name}={f.expression}" for f in inner)
    arguments = tuple(argument for f in inner for argument in f.arguments)
    return Field(field.name, arguments, f"unless_empty(pb.{field.message_type.name}({given}))")


def _field(contract: Contract, field: Any, owner: str) -> Field:
    form = FORMS.get(f"{field.containing_type.name}.{field.name}") or _form(contract, field)
    text = form.text or contract.text(field)
    name = f"{owner}{field.name}"
    arguments = [Argument(field.name, form.annotation, form.default, form.kind, text + form.note)]
    for other in form.beside:
        message, _, inner = other.partition(".")
        beside = _field(contract, contract.message(message).fields_by_name[inner], owner)
        arguments += beside.arguments
    return Field(field.name, tuple(arguments), form.expression.format(name, field.name, owner))


def _form(contract: Contract, field: Any) -> Form:
    if field.is_repeated:
        return _repeated(contract, field)
    if field.message_type:
        kind = class_name(field.message_type.name)
        return Form(
            f"{kind} | None",
            "None",
            f"{kind}, optional",
            "None if {0} is None else {0}.to_message()",
        )
    if field.enum_type:
        return Form(f"{field.enum_type.name} | None", "None", _choice(field.enum_type))
    return _scalar(contract, field)


def _choice(kind: Any) -> str:
    """Return the type of an enumeration in a docstring: its values, or its name where many."""
    values = listed(literal(kind))
    return f"{values if len(values) <= _LONGEST_LIST else kind.name}, optional"


def _repeated(contract: Contract, field: Any) -> Form:
    limits = contract.limits(field)
    default = _REQUIRED if limits and limits.required else "()"
    if field.enum_type:
        kinds = listed(literal(field.enum_type))
        return Form(f"Sequence[{field.enum_type.name}]", default, f"sequence of {kinds}")
    if not field.message_type:
        kind = _SCALARS[_type(field)]
        names = 'to_names({0}, "{1}")' if kind == "str" else "{0}"
        return Form(f"Sequence[{kind}]", default, f"sequence of {kind}", names)
    kind = class_name(field.message_type.name)
    if kind == "FeatureGroup":
        groups = 'to_groups({0}, "{1}")'
        if field.name == "groups":  # of two features or more
            own = "Sequence[Sequence[str]]", "()", "sequence of several str"
            return Form(*own, groups, note=' ("age", "bmi") count as one.')
        annotation = "Sequence[str | Sequence[str]]"
        return Form(annotation, "()", "sequence of str or of several str", groups, note=GROUP_NOTE)
    written = "[entry.to_message() for entry in {0}]"
    return Form(f"Sequence[{kind}]", default, f"sequence of {kind}", written)


def _scalar(contract: Contract, field: Any) -> Form:
    """Give a value that stands for absence: None, unless the contract cannot tell it either."""
    kind = _SCALARS[_type(field)]
    limits = contract.limits(field)
    default = None if limits is None else limits.default
    if kind == "bool" and default is not None:
        return Form(kind, str(default), kind)
    if not field.has_presence and not (kind == "str" and default):
        return Form(kind, {"str": '""', "bool": "False", "float": "0.0"}[kind], kind)
    return Form(f"{kind} | None", "None", f"{kind}, optional")


def _type(field: Any) -> str:
    return next(name for name in _SCALARS if getattr(field, name) == field.cpp_type)
