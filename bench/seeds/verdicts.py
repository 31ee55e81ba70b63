"""Verdicts on rows, computed from the seed's printed numbers and the kept results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum

from bench.seeds.kept import Result
from bench.seeds.rows import Row

# Up to here numbers are "within": of the printed number, or in standard errors.
SHARE = 0.01
ERRORS = 4.0


class Kind(StrEnum):
    """Kinds of verdicts, from the best to the worst."""

    PRINTED = "as printed"
    WITHIN = "within"
    DIFFERS = "differs"
    MISSING = "cannot be had"


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one number is from the printed one."""

    name: str
    printed: str
    ours: float
    equal: bool
    close: bool
    extent: float
    unit: str

    @property
    def size(self) -> str:
        digits = f"{self.extent:.0f}" if self.extent >= 10 else f"{self.extent:.2g}"
        return digits + self.unit


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict in words, with its reason and the differences that it rests on."""

    kind: Kind
    words: str
    reason: str = ""
    differences: tuple[Difference, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{self.words}, because {self.reason}" if self.reason else self.words


def judge(row: Row, results: Mapping[str, Result]) -> Verdict:
    """Compare a row with its kept result.

    Raises
    ------
    ValueError
        A number or claim has no counterpart, a difference no cause, or a cause no difference.
    """
    if row.search:
        _refuse(row, bool(row.cause), "has a cause and a search: one verdict only")
        return Verdict(Kind.MISSING, "differs", f"it cannot be had: {row.search}")
    if not row.result:
        _refuse(row, bool(row.seed or row.claims), "has numbers or claims, and no result")
        return _judge_without_numbers(row)
    result = results[row.result]
    _refuse(row, not row.seed and not row.claims, "has a result, and nothing to compare it with")
    absent = [
        *(row.seed.keys() - result.values.keys()),
        *(row.claims.keys() - result.claims.keys()),
    ]
    _refuse(row, bool(absent), f"is not all in result {row.result}: {', '.join(sorted(absent))}")
    found = tuple(_compare(name, row, result) for name in row.seed)
    false = [words for name, words in row.claims.items() if not result.claims[name]]
    return _judge_numbers(row, told_numbers(row, results), found, false)


def told_numbers(row: Row, results: Mapping[str, Result]) -> dict[str, float]:
    """Return the numbers that the cause and the note of a row may tell, by name."""
    keys = [*row.also, row.result] if row.result else row.also
    return {name: value for key in keys for name, value in results[key].values.items()}


def _judge_without_numbers(row: Row) -> Verdict:
    if row.cause:
        return Verdict(Kind.DIFFERS, "differs", row.cause)
    _refuse(row, not row.tests, "has no result, test, cause or search")
    return Verdict(Kind.PRINTED, "as printed")


def _judge_numbers(
    row: Row, numbers: Mapping[str, float], found: tuple[Difference, ...], false: list[str]
) -> Verdict:
    apart = [one for one in found if not one.equal]
    largest = max(apart, key=lambda one: one.extent, default=None)
    close = not false and all(one.close for one in found)
    _refuse(row, close and bool(row.cause), "has a cause, and does not differ")
    _refuse(row, not close and not row.cause, f"differs without a cause: {_told(found, false)}")
    if largest is None and not false:
        return Verdict(Kind.PRINTED, "as printed", "", found)
    extent = largest.size if largest else ""
    if close:
        return Verdict(Kind.WITHIN, f"within {extent}", "", found)
    upto = f" by up to {extent}" if extent else ""
    return Verdict(Kind.DIFFERS, f"differs{upto}", row.cause.format_map(numbers), found)


def _compare(name: str, row: Row, result: Result) -> Difference:
    printed, ours = row.seed[name], result.values[name]
    value, same = number(printed), equal(printed, ours)
    off = abs(ours - value)
    limit, extent, unit = SHARE * abs(value), off, ""
    if error := result.errors.get(name):
        limit, extent, unit = ERRORS * error, max(off / error, 0.01), " standard errors"
    elif row.measure == "relative" and value:
        extent, unit = max(100 * off / abs(value), 0.001), " %"
    return Difference(name, printed, ours, same, same or off <= limit, extent, unit)


def number(printed: str) -> float:
    """Return the value of a printed number; "85%" is .85."""
    return float(Decimal(printed.removesuffix("%")).scaleb(-2 * printed.endswith("%")))


def equal(printed: str, ours: float) -> bool:
    """Whether a number, rounded to the digits that are printed, is the printed one."""
    if not math.isfinite(ours):
        return False
    wanted = Decimal(printed.removesuffix("%"))
    found = Decimal(repr(float(ours))).scaleb(2 * printed.endswith("%"))
    return (
        found.quantize(Decimal(1).scaleb(int(wanted.as_tuple().exponent)), ROUND_HALF_EVEN)
        == wanted
    )


def _told(found: tuple[Difference, ...], false: list[str]) -> str:
    apart = [f"{one.name} {one.printed}, ours {one.ours:.6g}" for one in found if not one.close]
    return "; ".join([*apart, *false])


def _refuse(row: Row, wrong: bool, why: str) -> None:
    if wrong:
        raise ValueError(f"{row.id} {why}")
