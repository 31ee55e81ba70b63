"""A file of settings: TOML, whose keys are the settings' names."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo


def read(file: Path, fields: Mapping[str, FieldInfo], hidden: Collection[str]) -> dict[str, Any]:
    """Read a file of settings; all of it is checked, even what is set otherwise too.

    Parameters
    ----------
    fields : mapping of str to FieldInfo
        What can be set in it.
    hidden : collection of str
        Settings whose values are never repeated.

    Raises
    ------
    ValueError
        With one line that names the file, and the key.
    """
    content = _parsed(file)
    try:
        _form(fields).model_validate(content)
    except ValidationError as error:
        faults = [_fault(item, fields, hidden) for item in error.errors()]
        raise ValueError("; ".join(f"{file}: {fault}" for fault in faults)) from None
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


def _form(fields: Mapping[str, FieldInfo]) -> type[BaseModel]:
    """Make a model of the file: the same settings, from nowhere else, and no others."""
    given: dict[str, Any] = {name: (field.annotation, field) for name, field in fields.items()}
    return create_model("SettingsFile", __config__=ConfigDict(extra="forbid"), **given)


def _fault(item: Mapping[str, Any], fields: Collection[str], hidden: Collection[str]) -> str:
    name = str(item["loc"][0])
    if item["type"] != "extra_forbidden":
        told = "" if name in hidden else f", not {item['input']!r}"
        return f"{name}: {item['msg']}{told}"
    near = difflib.get_close_matches(name, list(fields), 1)
    return f"{name}: there is no such setting" + "".join(f"; is it {each}?" for each in near)
