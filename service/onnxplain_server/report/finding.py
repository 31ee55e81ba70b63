"""Finding: a table of texts with its title, note and limits; formatting of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.plots.elements.labels import clean, quoted
from onnxplain_server.plots.elements.number_formats import not_finite, scale_format, spell

MAX_ROWS = 30
"""Largest number of rows of a table; the JSON has all."""

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a column; numbers are aligned to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A table of a report.

    Attributes
    ----------
    title : str
    note : str
        How to read its numbers.
    limit : str
        When not to rely on them.
    columns : tuple of Heading
    rows : tuple of tuples of str
        The cells.
    left_out : str
        Sentence on rows that are left out; empty if there are none.
    """

    title: str
    note: str
    limit: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""


def truncate(entries: Sequence[_Entry], width: int, kind: str) -> tuple[Sequence[_Entry], str]:
    """Return the first entries that fit into a table, and a sentence on those left out.

    Parameters
    ----------
    entries : sequence
    width : int
        Number of rows of each entry.
    kind : str
        Name of the entries left out, like "weaker ones".
    """
    limit = max(1, MAX_ROWS // max(1, width))
    rest = len(entries) - limit
    left_out = f"{rest:,} {kind} are left out here; the JSON has all." if rest > 0 else ""
    return entries[:limit], left_out


def joined(features: Sequence[str], sign: str = " × ") -> str:
    """Join the names of features; those that hold the sign are in quotation marks."""
    return sign.join(quoted(clean(name), sign) for name in features)


def if_several(outputs: Sequence[str], cell: _Entry) -> tuple[_Entry, ...]:
    """Return the cell of an output; nothing if there is only one output."""
    return (cell,) if len(outputs) > 1 else ()


def number(value: float, others: Vector) -> str:
    """Format a number with the precision of the others' scale."""
    return spell(value, scale_format(others)) if np.isfinite(value) else not_finite(value)


def unit(outputs: Sequence[str]) -> str:
    """Return the unit of predictions."""
    return f"unit of {outputs[0]}" if len(outputs) == 1 else "unit of the output"
