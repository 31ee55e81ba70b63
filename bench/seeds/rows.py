"""Rows of the page on the seeds: what a seed prints, and where ours comes from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

METHODS = ("hstats", "swarm", "firm", "feature_vectors")
_ROOT = Path(__file__).parents[2]
_FOLDER = Path(__file__).parent / "entries"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, table, equation or printed number of a seed.

    Attributes
    ----------
    id
        As the inventory has it ("Figure 1"), or another for a number in the text ("Section 3.2").
    shows
        What it shows, in a line.
    seed
        Printed numbers by name, as text with all printed digits; "85%" is .85.
    published
        Where printed numbers are kept as data, instead of `seed`: [FILE, KEY, ...], where a list of
        several numbers gives the names "KEY (1)", "KEY (2)".
    claims
        What a picture or sentence states, by the names of truths in the kept result.
    result
        Key of the kept result: of the row's method, or "METHOD:KEY". Empty: there are no numbers.
    measure
        How a difference is told: "relative", or "absolute" in the unit of the number.
    code, tests
        Where an equation is, and the tests that show it: "tests/FOLDER/test_FILE.py::test_NAME".
    pictures
        Files of docs/images.
    command
        What makes the result, where the result's own command is not all.
    also
        Keys of further kept results, whose numbers cause and note may tell.
    cause
        Why ours differs; "{NAME:.3f}" is a number of the kept result.
    search
        Why it cannot be had: what was looked for, and where.
    note
        What else a reader should know; with numbers as the cause.
    """

    id: str
    shows: str
    seed: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    result: str = ""
    measure: str = "relative"
    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    command: str = ""
    also: tuple[str, ...] = ()
    cause: str = ""
    search: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Seed:
    """What the page says of a seed before its rows."""

    title: str
    source: str
    about: str


def read_rows(method: str) -> list[Row]:
    """Read the rows of a method in their order; unknown fields are refused."""
    rows = _read(method)["row"]
    return [
        Row(**{key: _frozen(value) for key, value in _with_published(row).items()}) for row in rows
    ]


def read_seed(method: str) -> Seed:
    return Seed(**_read(method)["seed"])


def _with_published(row: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(row)
    if "published" not in row:
        return row
    file, *keys = row.pop("published")
    found = json.loads((_ROOT / file).read_text(encoding="utf-8"), parse_float=str, parse_int=str)
    for key in keys:
        found = found[key]
    return {
        **row,
        "seed": {
            f"{name} ({i})" if len(numbers) > 1 else name: number
            for name, numbers in found.items()
            for i, number in enumerate(numbers, 1)
        },
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read(method: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{method}.toml").read_text(encoding="utf-8"))
