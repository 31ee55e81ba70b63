"""Parsers of the values of flags: names of the contract, numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxplain.enumerations.values import value_name, value_rule

from onnxplain_server.cli.failure import UsageFault

_ALL_ROWS = 2**31 - 1
"""Largest `row_count` of the contract: all rows, as no table has more."""


def one_of(enum: Any) -> Callable[[str], str]:
    """Return a parser of the values, by names in any case, or those of others."""

    def parse(text: str) -> str:
        name = value_name(text, enum.DESCRIPTOR)
        if name is None:
            raise UsageFault(f"{text!r}: {value_rule(text, enum.DESCRIPTOR)}")
        return name

    return parse


def parse_row_count(text: str) -> int:
    """Parse a number of rows; "all" is more than any table has."""
    if text == "all":
        return _ALL_ROWS
    try:
        return int(text)
    except ValueError:
        raise UsageFault(f'{text!r} is neither a whole number nor "all"') from None


def names_of(enum: Any) -> list[str]:
    """Return the names of the values except the unspecified one, number 0."""
    return [name for name, number in enum.items() if number]


def parse_byte_count(text: str) -> int:
    """Read a number of bytes as settings have it, with a unit or without."""
    from pydantic import ByteSize, TypeAdapter, ValidationError  # noqa: PLC0415 - for a flag

    try:
        count = int(TypeAdapter(ByteSize).validate_python(text))
    except (ValidationError, OverflowError):
        count = 0
    if count < 1:
        raise UsageFault(f'"{text}" is no number of bytes above 0, such as 512MiB')
    return count
