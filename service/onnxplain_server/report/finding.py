"""A table of texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """Head of a column; numbers are set to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A table: what it says, how to read it, and its cells."""

    title: str
    note: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
