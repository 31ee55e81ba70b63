"""Odd columns, drawn by a seed: mass points, infinities, ends of types, text like numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

Rng = np.random.Generator
Cells = list[Any]
"""Numbers, booleans, texts, dates or durations; None where a value is missing."""

_LONG = "a category with a long name, of which the part at the end tells it apart"
_TEXTS: list[list[str | None]] = [
    ["red", "green", "blue"],
    ["missing", "red", None],
    ["(others)", "other", None],
    ["u / v", "u", "w"],
    ["v / w", "u", "w"],
    [f"{_LONG} {end}" for end in "abc"],
    [f"{_LONG[:30]} {middle} {_LONG[:30]}" for middle in ("aa", "bb", "cc")],
    ["a", " a", "a ", "A"],
    ["constructor", "toString", "__proto__"],
    ["[0,1]", "(1,2]", "3"],
    ["missing", "missing (no value)", None],
    [f"c{k}" for k in range(40)],
]
_NUMBER_LIKE: list[list[str | None]] = [
    ["007", "7", "07"],
    ["1e3", "1000", "1000.0"],
    ["nan", "inf", "-inf"],
    ["true", "false", "1"],
    ["1,5", "2,5", None],
]
_LARGE = (1.7e308, -1.7e308, 1.6e308, -1.6e308, 1e160, -1e160, 3e306)
_LARGE_SINGLE = (3.4e38, -3.4e38, 3e38, 1e30, -1e30)
_TINY = (5e-324, 1e-310, -1e-310, 1e-45, 1e-40, 0.0, -0.0)
_START = datetime(2026, 1, 1)


@dataclass(frozen=True, eq=False)
class Column:
    """A column.

    Attributes
    ----------
    kind : str
        One of `NUMBERS` or `OTHERS`.
    cells : list
    """

    kind: str
    cells: Cells

    @property
    def is_text(self) -> bool:
        return self.kind in {"text", "number-like text", "constant text"}

    @property
    def truth(self) -> np.ndarray[Any, Any]:
        """What a model gets of it: float64, NaN for what is missing; or text, "" likewise."""
        if self.is_text or self.kind == "date":
            return np.array([str(cell or "") for cell in self.cells], dtype=object)
        return np.array([np.nan if cell is None else _number(cell) for cell in self.cells])


def _number(cell: Any) -> float:
    return cell.total_seconds() if isinstance(cell, timedelta) else float(cell)


def _pick(rng: Rng, values: Any, count: int) -> Cells:
    return [values[k] for k in rng.integers(len(values), size=count)]


def _plain(rng: Rng, count: int) -> Cells:
    cells: Cells = (rng.normal(size=count) * 10.0 ** rng.integers(-2, 4)).tolist()
    return cells


def _mass(rng: Rng, count: int) -> Cells:
    """Mostly one value, the others elsewhere: to one side, to both, or few ones."""
    share = rng.choice([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
    common = float(rng.choice([0.0, 0.0, 1.0, -3.5]))
    others = rng.exponential(size=count) * rng.choice([1.0, 20_000.0])
    others = others * rng.choice([1, -1], size=count) if rng.random() < 0.3 else others
    is_other = rng.random(count) >= share
    is_other[rng.integers(count)] = True
    return [float(other) if odd else common for other, odd in zip(others, is_other, strict=True)]


def _with(odd: Any) -> Callable[[Rng, int], Cells]:
    """Return a drawing of plain numbers of which some are replaced."""

    def draw(rng: Rng, count: int) -> Cells:
        cells = _plain(rng, count)
        for row in rng.integers(count, size=max(1, int(count * rng.choice([0.02, 0.3, 0.9])))):
            cells[row] = odd[rng.integers(len(odd))]
        return cells

    return draw


def _constant(rng: Rng, count: int) -> Cells:
    value = _pick(rng, [0.0, 7.0, -0.0, 1e300, 1e-310, 0.1, 3.4e38], 1)[0]
    return [value] * count


def _two_values(rng: Rng, count: int) -> Cells:
    pairs = [[0.0, 1.0], [-1.0, 1.0], [0.1, 0.1 + 1e-12], [1e6, 1e6 + 1e-3], [0.0, 1e300]]
    return _pick(rng, pairs[rng.integers(len(pairs))], count)


def _near(rng: Rng, count: int) -> Cells:
    """Numbers that differ in their last digits."""
    start = float(rng.choice([1.0, 1e9, 16_777_216.0]))
    return [start * (1 + 1e-15 * k) for k in rng.integers(0, 40, size=count).tolist()]


def _durations(rng: Rng, count: int) -> Cells:
    return [timedelta(seconds=int(s)) for s in rng.integers(0, 90_000, size=count)]


def _dates(rng: Rng, count: int) -> Cells:
    return [_START + timedelta(days=int(day)) for day in rng.integers(0, 900, size=count)]


def _texts(choices: list[list[str | None]]) -> Callable[[Rng, int], Cells]:
    return lambda rng, count: _pick(rng, choices[rng.integers(len(choices))], count)


NUMBERS: dict[str, Callable[[Rng, int], Cells]] = {
    "plain": _plain,
    "mass point": _mass,
    "constant": _constant,
    "two values": _two_values,
    "near values": _near,
    "infinite": _with([np.inf]),
    "infinite at both ends": _with([np.inf, -np.inf]),
    "all infinite but one": lambda rng, count: [*[np.inf] * (count - 1), float(rng.normal())],
    "missing": _with([None]),
    "missing and infinite": _with([None, np.inf, -np.inf]),
    "subnormal": lambda rng, count: _pick(rng, _TINY, count),
    "ends of double": lambda rng, count: _pick(rng, (*_LARGE, 0.0, 1.0), count),
    "ends of single": lambda rng, count: _pick(rng, (*_LARGE_SINGLE, 0.0), count),
    "some ends": _with(_LARGE),
    "boolean": lambda rng, count: _pick(rng, [True, False], count),
    "whole": lambda rng, count: rng.integers(-3, 12, size=count).tolist(),
    "large integers": lambda rng, count: _pick(rng, [2**53, 2**53 + 1, -(2**60), 5], count),
    "duration": _durations,
}
"""Columns that a model of numbers takes, if it takes their values."""

OTHERS: dict[str, Callable[[Rng, int], Cells]] = {
    "text": _texts(_TEXTS),
    "number-like text": _texts(_NUMBER_LIKE),
    "constant text": _texts([["only"]]),
    "date": _dates,
}

USUAL = ("plain", "mass point", "two values", "whole", "missing", "boolean")


def draw_column(rng: Rng, count: int, kinds: tuple[str, ...]) -> Column:
    """Draw a column of one of some kinds; of two, the usual ones are taken more often."""
    kind = kinds[rng.integers(len(kinds))]
    return Column(kind, {**NUMBERS, **OTHERS}[kind](rng, count))
