"""Option classes of the methods: a module for each file of the contract that has some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.python_client.contract import Contract, class_name, module_name
from tools.python_client.fields import fields
from tools.python_client.forms import EXAMPLES, FLATTENED, FORMS
from tools.python_client.source import described, docstring, enumeration, head, imports

_DATACLASS = "@dataclass(frozen=True, slots=True, kw_only=True, eq=False)"
_METHODS = "MethodOptions"
_FORMS = (*("to_columns", "to_grids", "to_groups", "to_names", "to_weights", "unless_empty"),)
_IMPORTS = [
    "from collections.abc import Mapping, Sequence",
    "from dataclasses import dataclass",
    "from typing import Any, Literal, TypeAlias",
    f"from onnxplain.requests.forms import {', '.join(_FORMS)}",
    "from onnxplain.requests.written import written",
    "from onnxplain.v1.explanation_service_pb2 import MethodOptions",
]


def modules(contract: Contract) -> dict[str, str]:
    """Return the source of each module, by its name."""
    sources = {}
    for method in contract.message(_METHODS).fields:
        message = method.message_type
        body = "\n\n\n".join(_parts(contract, method))
        others = sorted(
            {_enum_import(kind) for kind in _enums(message) if kind.file != message.file}
        )
        messages = f"from onnxplain.v1 import {module_name(message)}_pb2 as pb"
        lines = imports(body, [*_IMPORTS, *others, messages])
        about = f"Options of the method {class_name(message.name)}."
        sources[module_name(message)] = f"{head(message.file.name, about)}\n{lines}\n\n{body}\n"
    return sources


def _parts(contract: Contract, method: Any) -> Iterator[str]:
    """Give enumerations, classes of nested messages, and the class of the method."""
    message = method.message_type
    own = dict.fromkeys(k.full_name for k in _enums(message) if k.file == message.file)
    kinds = {kind.full_name: kind for kind in _enums(message)}
    yield from (enumeration(contract, kinds[name]) for name in own)
    for inner in _nested(message):
        headline, *rest = contract.text(inner).split("\n\n")
        yield _class(contract, inner, [headline, *rest], "{0}", f"pb.{inner.name}")
    text = [contract.text(method), *contract.text(message).split("\n\n")]
    yield _class(contract, message, text, f"MethodOptions({method.name}={{0}})", "MethodOptions")


def _class(contract: Contract, message: Any, text: list[str], form: str, returned: str) -> str:
    name = class_name(message.name)
    taken = list(fields(contract, message, "self."))
    arguments = [argument for field in taken for argument in field.arguments]
    doc = docstring(
        text,
        [("Attributes", described(arguments, 4)), ("Examples", "\n".join(EXAMPLES.get(name, [])))],
        4,
    )
    declared = "\n".join(
        f"    {a.name}: {a.annotation}" + (f" = {a.default}" if a.default else "")
        for a in arguments
    )
    given = "".join(f"{field.name}={field.expression},\n" for field in taken)
    call = form.format(f"written(pb.{message.name},\n{given})")
    return (
        f"{_DATACLASS}\nclass {name}:\n{doc}\n\n{declared}\n\n"
        f"    def to_message(self) -> {returned}:\n"
        f'        """Write the message of the contract."""\n        return {call}'
    )


def _nested(message: Any) -> Iterator[Any]:
    """Give the messages with classes of their own that a message holds, innermost first."""
    for field in message.fields:
        inner = field.message_type
        if inner and inner.file == message.file and not _has_form(field):
            yield from _nested(inner)
            yield inner


def _has_form(field: Any) -> bool:
    return (
        field.message_type.name in FLATTENED | {"FeatureGroup"}
        or f"{field.containing_type.name}.{field.name}" in FORMS
    )


def _enums(message: Any) -> Iterator[Any]:
    for inner in (*_nested(message), message):
        for field in inner.fields:
            if field.enum_type:
                yield field.enum_type


def _enum_import(kind: Any) -> str:
    return f"from onnxplain.requests.options.{module_name(kind)} import {kind.name}"
