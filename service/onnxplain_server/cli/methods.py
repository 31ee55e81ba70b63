"""Methods on the command line: --method NAME, each with the --set OPTION=VALUE after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import typer
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from typer.core import TyperCommand

from onnxplain_server.wire import canonical

METHOD_NAMES = tuple(method.name for method in MethodOptions.DESCRIPTOR.fields)

_KEY = "onnxplain.methods"


@dataclass(slots=True)
class _Asked:
    """A method as it was asked for: its name, and its settings as they were typed."""

    name: str
    settings: list[str] = field(default_factory=list)


class MethodCommand(TyperCommand):
    """A command that remembers in which order --method and --set were given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note the order, then parse as always."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(list(args))
            names = [param.name for param in order if param.name in ("method", "set_")]
            ctx.meta[_KEY] = _grouped(names, {name: list(values.get(name) or ()) for name in names})
        return super().parse_args(ctx, args)


def from_context(context: typer.Context) -> list[MethodOptions]:
    """Read the methods that the command line asks for.

    Raises
    ------
    typer.BadParameter
        Where a method has no such option, or the option cannot have that value.
    """
    return [_message(asked) for asked in context.meta[_KEY]]


def _grouped(names: Sequence[str | None], values: dict[str | None, list[str]]) -> list[_Asked]:
    """Give each setting to the method before it; those before the first, to the only one."""
    methods: list[_Asked] = []
    early: list[str] = []
    for name in names:
        value = values[name].pop(0)
        if name == "method":
            methods.append(_Asked(value))
        else:
            (methods[-1].settings if methods else early).append(value)
    if early and len(methods) != 1:
        raise typer.BadParameter(f"--set {early[0]} belongs after the --method that it is for")
    if early:
        methods[0].settings[:0] = early
    return methods


def _message(asked: _Asked) -> MethodOptions:
    """Read one method: its name as in the contract, or in camelCase as JSON has it."""
    found = [m for m in MethodOptions.DESCRIPTOR.fields if asked.name in (m.name, m.json_name)]
    if not found:
        raise typer.BadParameter(
            f"no method is named {asked.name!r}; there are {', '.join(METHOD_NAMES)}"
        )
    (method,) = found
    options = dict(_option(method, setting) for setting in asked.settings)
    return canonical.to_message({method.name: options}, MethodOptions)


def _option(method: Any, setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise typer.BadParameter(f"--set takes OPTION=VALUE, not {setting!r}")
    options = [o for o in method.message_type.fields if name in (o.name, o.json_name)]
    if not options:
        known = ", ".join(option.name for option in method.message_type.fields)
        raise typer.BadParameter(f"{method.name} has no option {name!r}; it has {known}")
    (option,) = options
    return option.name, _value(option, text)


def _value(option: Any, text: str) -> Any:
    """Read a value as JSON, or else as the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A column may be called 2020 or true.
    is_text = option.type == option.TYPE_STRING and not option.is_repeated
    return text if is_text and not isinstance(value, str) else value
