"""A table of texts, and how its cells are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.plots.elements.labels import clean, scale_format, spell

MOST_ROWS = 30
"""Rows that somebody reads; the JSON has all."""

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class Heading:
    """Head of a column; numbers are set to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A table.

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
        What else was found but is not in here; empty where nothing.
    """

    title: str
    note: str
    limit: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""


def truncate(entries: Sequence[_Entry], width: int, kind: str) -> tuple[Sequence[_Entry], str]:
    """Keep as many entries as somebody reads, and say what is left out.

    Parameters
    ----------
    entries : sequence
    width : int
        Rows that each of them takes.
    kind : str
        What those left out are, like "weaker ones".
    """
    most = max(1, MOST_ROWS // max(1, width))
    rest = len(entries) - most
    return entries[
        :most
    ], f"{rest:,} {kind} are left out here; the JSON has all." if rest > 0 else ""


def joined(features: Sequence[str], sign: str = " × ") -> str:
    """Name features that go together."""
    return sign.join(clean(name) for name in features)


def if_several(outputs: Sequence[str], cell: _Entry) -> tuple[_Entry, ...]:
    """Give the cell of an output where there are several to be told apart."""
    return (cell,) if len(outputs) > 1 else ()


def number(value: float, others: Vector, absent: str = "no number") -> str:
    """Write a number as precisely as shows along the scale of the others."""
    return spell(value, scale_format(others)) if np.isfinite(value) else absent


def unit(outputs: Sequence[str]) -> str:
    """Name the unit of predictions."""
    return f"unit of {outputs[0]}" if len(outputs) == 1 else "unit of the output"
