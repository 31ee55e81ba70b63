"""Options of the methods, as the contract describes them: names, types, limits and defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("method_options.json")


@dataclass(frozen=True, slots=True)
class MethodOption:
    """One option of a method.

    Attributes
    ----------
    name : str
        Below the name of the object that it is part of: "sequences.alphabet", "pairs[].features".
    type : str
        In words: "integer", "list of texts".
    limits, default : str
        In words; empty where there are none.
    enum : str
        The enumeration of the values; empty for other types.
    values : mapping of str to str
        Names of the enumeration, and what they mean.
    """

    name: str
    type: str
    limits: str
    default: str
    text: str
    enum: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MethodHelp:
    """Help of a method: message of its options, description, default rows, options."""

    message: str
    text: str
    rows: str
    options: tuple[MethodOption, ...]


@cache
def methods() -> Mapping[str, MethodHelp]:
    """Return all methods by name, in the order of the contract."""
    content: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))["methods"]
    return {
        name: MethodHelp(
            method["message"],
            method["text"],
            method["rows"],
            tuple(MethodOption(**option) for option in method["options"]),
        )
        for name, method in content.items()
    }
