"""Command `settings`: prints what `serve` would start with, and where each value comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer
from pydantic import ByteSize, SecretStr

from onnxplain_server.cli.failure import USAGE_ERROR, CommandError, in_short
from onnxplain_server.cli.requests import setting_flags
from onnxplain_server.config.setting_names import CONFIG_FILE, SettingsError

if TYPE_CHECKING:
    from onnxplain_server.config.loading import SettingValue


def settings(context: typer.Context, **flags: str | bool | None) -> None:  # noqa: ARG001 - as of `serve`
    """Print the settings that `serve` would start with, and where each comes from.

    Takes the flags of `serve`, and checks the settings as `serve` does. The output is a settings
    file: a value's source follows as a comment. Secrets are not printed.
    """
    from onnxplain_server.config.loading import load_with_sources

    with in_short():
        try:
            values = load_with_sources(setting_flags.given(flags))
        except SettingsError as error:
            raise CommandError("INVALID_SETTING", str(error), exit_code=USAGE_ERROR) from None
    typer.echo("\n".join(_lines(values)))


settings.__signature__ = setting_flags.signature()  # type: ignore[attr-defined] # as of `serve`


def _lines(values: Sequence[SettingValue]) -> Iterator[str]:
    entries = [_entry(value) for value in values]
    width = max(map(len, entries))
    for entry, value in zip(entries, values, strict=True):
        yield f"{entry:{width}}  # {value.source}"


def _entry(setting: SettingValue) -> str:
    """Return a line of TOML; a comment for what has no value or must not be shown."""
    value = setting.value
    if value is None:
        return f"# {setting.name}: not set"
    if setting.name == CONFIG_FILE:
        return f"# {setting.name}: {value}"
    if setting.is_secret or isinstance(value, SecretStr):
        return f"# {setting.name}: hidden"
    if isinstance(value, ByteSize):
        return f"{setting.name} = {int(value)}"
    if isinstance(value, bool | int | float):
        return f"{setting.name} = {json.dumps(value)}"
    return f"{setting.name} = {json.dumps(str(value), ensure_ascii=False)}"
