"""Settings file in TOML, whose keys are the names of the settings."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from onnxplain_server.config.setting_names import unknown


def read(file: Path, fields: Mapping[str, FieldInfo], hidden: Collection[str]) -> dict[str, Any]:
    """Read a settings file and check all of it, including values that flags override.

    Parameters
    ----------
    fields : mapping of str to FieldInfo
        Settings that it may contain.
    hidden : collection of str
        Settings whose values never appear in messages.

    Raises
    ------
    ValueError
        One line that names the file and the key.
    """
    content = _parsed(file)
    try:
        _model(fields).model_validate(content)
    except ValidationError as error:
        messages = [_message(item, fields, hidden) for item in error.errors()]
        raise ValueError("; ".join(f"{file}: {message}" for message in messages)) from None
    return content


def _parsed(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not TOML, which is UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: not TOML: {error}") from None


def _model(fields: Mapping[str, FieldInfo]) -> type[BaseModel]:
    """Make a pydantic model of the file: these settings, from no other source, and no others."""
    definitions: dict[str, Any] = {
        name: (field.annotation, field) for name, field in fields.items()
    }
    return create_model("SettingsFile", __config__=ConfigDict(extra="forbid"), **definitions)


def _message(item: Mapping[str, Any], fields: Collection[str], hidden: Collection[str]) -> str:
    name = str(item["loc"][0])
    if item["type"] != "extra_forbidden":
        shown = "" if name in hidden else f", not {item['input']!r}"
        return f"{name}: {item['msg']}{shown}"
    return unknown(name, fields)
