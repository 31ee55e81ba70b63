"""Finding: a table of texts with its title, note and limits; formatting of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.number_texts import between_zero_and_one
from onnxplain_server.plots.elements.labels import clean, quoted
from onnxplain_server.plots.elements.number_formats import not_finite, scale_format, spell

_MOST_COLUMNS = 7
"""Columns of a table that has one for each output."""

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


def by_output(finding: Finding) -> Finding:
    """Give each output a column, where a table has a row per output and few columns then."""
    titles = [column.title for column in finding.columns]
    if "output" not in titles:
        return finding
    place = titles.index("output")
    keys, numbers = finding.columns[:place], finding.columns[place + 1 :]
    outputs = list(dict.fromkeys(row[place] for row in finding.rows))
    rows: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    for row in finding.rows:
        rows.setdefault(row[:place], {})[row[place]] = row[place + 1 :]
    is_regular = all(list(own) == outputs for own in rows.values())
    is_regular = is_regular and len(rows) * len(outputs) == len(finding.rows)
    is_narrow = len(keys) + len(outputs) * len(numbers) <= _MOST_COLUMNS
    if not (keys and is_regular and is_narrow and all(column.is_number for column in numbers)):
        return finding
    columns = [
        Heading(output if len(numbers) == 1 else f"{output}: {column.title}", is_number=True)
        for output in outputs
        for column in numbers
    ]
    cells = [(*key, *(cell for own in row.values() for cell in own)) for key, row in rows.items()]
    return replace(finding, columns=(*keys, *columns), rows=tuple(cells))


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
    if not np.isfinite(value):
        return not_finite(value)
    return between_zero_and_one(value, spell(value, scale_format(others)))
