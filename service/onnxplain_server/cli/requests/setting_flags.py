"""Flags of settings: one for each, shared by the commands `serve` and `settings`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from onnxplain_server.config.setting_names import PREFIX, flag
from onnxplain_server.config.settings import Settings

NO_ALIASES: Mapping[str, Sequence[str]] = MappingProxyType({})


def given(flags: Mapping[str, str | bool | None]) -> dict[str, str | bool]:
    """Return the flags that were given, by the names of their settings."""
    return {name: value for name, value in flags.items() if value is not None}


def signature(aliases: Mapping[str, Sequence[str]] = NO_ALIASES) -> inspect.Signature:
    """Return a signature with the context and a flag for each setting.

    Parameters
    ----------
    aliases : mapping of setting to flags
        Further flags, each with a value, also of switches.
    """
    context = inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    parameters = (
        _parameter(name, field, aliases.get(name, ()))
        for name, field in Settings.model_fields.items()
    )
    return inspect.Signature([context, *parameters])


def _parameter(name: str, field: FieldInfo, aliases: Sequence[str]) -> inspect.Parameter:
    """Make the flag of a setting; the settings parse its text, like a variable's."""
    help_text = f"{field.description} {PREFIX}{name.upper()}{_default(field.default)}"
    name_of_flag, kind = flag(name), inspect.Parameter.KEYWORD_ONLY
    form: Any = Annotated[
        str | None, typer.Option(name_of_flag, *aliases, metavar="VALUE", help=help_text)
    ]
    if field.annotation is bool and not aliases:
        switch = f"{name_of_flag}/--no-{name_of_flag.removeprefix('--')}"
        form = Annotated[bool | None, typer.Option(switch, help=help_text)]
    return inspect.Parameter(name, kind, default=None, annotation=form)


def _default(value: Any) -> str:
    if value is None:
        return ""
    human = getattr(value, "human_readable", None)
    return f"  [default: {human(separator='') if human else value}]"
