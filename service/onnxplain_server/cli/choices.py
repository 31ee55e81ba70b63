"""Enumerations of the contract as values of flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer


def choices(enum: Any) -> str:
    """Show the values as help does: "A|B"."""
    return "|".join(_names(enum))


def one_of(enum: Any) -> Callable[[str], str]:
    """Make a parser that takes the values, in any case."""

    def parse(text: str) -> str:
        if text.upper() not in _names(enum):
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(_names(enum))}")
        return text.upper()

    return parse


def _names(enum: Any) -> list[str]:
    """Name the values but the unspecified one, which is number 0."""
    return [name for name, number in enum.items() if number]
