"""Distinct values and quantiles of columns that are read in blocks, exact on all rows.

A quantile is an order statistic. The first pass counts rows between quantiles of the sample; each
further one divides the cell that has the place asked for, until all rows of a cell have one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.table import Table
from onnxplain_server.effects.quantiles import quantile_places
from onnxplain_server.trees.streaming.blocks import Sums
from onnxplain_server.trees.streaming.column_sums import (
    CellPass,
    CellSums,
    LevelPass,
    LevelSums,
    Several,
)
from onnxplain_server.trees.streaming.passes import Pass

_FIRST_CELLS = 4_096
_CELLS = 1_024
_MAX_RANGES = 256
"""Of a pass: 6 MB."""


class Found(NamedTuple):
    """Value at a place among the ascending values of a column.

    Attributes
    ----------
    start, end : int
        First place of this value, and first one after it.
    following : float
        Next distinct value; infinity after the last one.
    """

    value: float
    start: int
    end: int
    following: float


class Summing(Protocol):
    """Sums passes over a table, as `StreamedTrees` does."""

    def sum(self, work: Pass) -> Sums:
        """Sum what a pass says over all rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSummary:
    """Implements `ColumnDistribution` on a column in blocks.

    Attributes
    ----------
    sums : LevelSums
    places : dict of int to Found
        Values at the places, among the ascending ones, that quantiles were asked of.
    """

    sums: LevelSums
    places: dict[int, Found] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        return bool(self.sums.levels.dtype == object)

    @property
    def is_whole(self) -> bool:
        return self.sums.is_whole

    @property
    def missing(self) -> Array:
        count = 1 if self.sums.missing_rows else 0
        return np.full(count, "" if self.is_text else np.nan, self.sums.levels.dtype)

    def levels(self, limit: int) -> Array | None:  # noqa: ARG002 - more are no harm
        return self.sums.levels if self.sums.is_complete else None

    def quantiles(self, probabilities: Vector) -> Vector:
        places = self.places_of(probabilities).tolist()
        return np.array([self.places[place].value for place in places])

    def places_of(self, probabilities: Vector) -> Indices:
        """Return the places of quantiles of type 1 among the values."""
        return quantile_places(int(self.sums.known_rows), probabilities)


def summarize(
    trees: Summing, sample: Table, wanted: Mapping[str, Vector]
) -> dict[str, ColumnSummary]:
    """Find the distinct values of columns, and quantiles of those with many.

    Parameters
    ----------
    sample : Table
        Some rows of the table, on which the number of passes depends, and nothing else.
    wanted : mapping of str to (n,)
        Names of columns, and the probabilities of their quantiles.
    """
    if not wanted:
        return {}
    names = tuple(wanted)
    levels = cast("Sequence[LevelSums]", cast("Several", trees.sum(LevelPass(names))).parts)
    found = {name: ColumnSummary(sums) for name, sums in zip(names, levels, strict=True)}
    find_places(
        trees,
        sample,
        found,
        {name: np.unique(found[name].places_of(ranks)).tolist() for name, ranks in wanted.items()},
    )
    return found


def find_places(
    trees: Summing,
    sample: Table,
    summaries: Mapping[str, ColumnSummary],
    wanted: Mapping[str, Sequence[int]],
) -> None:
    """Find the values at places among the ascending ones of columns of numbers, and keep them.

    Parameters
    ----------
    sample : Table
        As of `summarize`.
    wanted : mapping of str to sequence of int
        Names of columns, and the places, ascending.
    """
    ranges = []
    for name, places in wanted.items():
        summary = summaries[name]
        if summary.is_text or not summary.sums.known_rows:
            continue
        if summary.sums.is_complete:
            summary.places.update({place: _at(summary.sums, place) for place in places})
        else:
            edges = _sampled(sample, name)
            ranges.append(_Range(name, -np.inf, np.inf, 0, np.inf, edges, tuple(places)))
    _search(trees, ranges, summaries)


def _at(sums: LevelSums, place: int) -> Found:
    """Find the value at a place where all distinct values are known."""
    ends = np.cumsum(sums.rows).astype(np.int64)
    at = int(np.searchsorted(ends, place, side="right"))
    following = float(sums.levels[at + 1]) if at + 1 < len(ends) else np.inf
    end = int(ends[at])
    return Found(float(sums.levels[at]), end - int(sums.rows[at]), end, following)


@dataclass(frozen=True, slots=True, eq=False)
class _Range:
    """Range of a column that has the values at some places.

    Attributes
    ----------
    low, high : float
        Least and largest value.
    before : int
        Rows with smaller values.
    following : float
        Next distinct value after the range; infinity where there is none.
    edges : (n_cells - 1,)
    places : tuple of int
    """

    name: str
    low: float
    high: float
    before: int
    following: float
    edges: Vector
    places: tuple[int, ...]


def _search(trees: Summing, ranges: Sequence[_Range], found: Mapping[str, ColumnSummary]) -> None:
    """Narrow ranges until each has a single value."""
    waiting = list(ranges)
    while waiting:
        now, waiting = waiting[:_MAX_RANGES], waiting[_MAX_RANGES:]
        names = tuple(dict.fromkeys(each.name for each in now))
        work = CellPass(
            names,
            tuple((each.name, each.low, each.high) for each in now),
            tuple(each.edges for each in now),
        )
        cells = cast("Sequence[CellSums]", cast("Several", trees.sum(work)).parts)
        for each, sums in zip(now, cells, strict=True):
            waiting += _narrowed(each, sums, found[each.name].places)


def _narrowed(of: _Range, sums: CellSums, values: dict[int, Found]) -> list[_Range]:
    """Note values that are found, and return the smaller ranges of the others."""
    ends = of.before + np.cumsum(sums.rows).astype(np.int64)
    cell_of = np.searchsorted(ends, of.places, side="right")
    smaller = []
    for cell in np.unique(cell_of).tolist():
        places = tuple(place for place, c in zip(of.places, cell_of, strict=True) if c == cell)
        low, high = float(sums.low[cell]), float(sums.high[cell])
        before = int(ends[cell] - sums.rows[cell])
        following = min(of.following, float(sums.low[cell + 1 :].min(initial=np.inf)))
        if low == high:
            values.update(dict.fromkeys(places, Found(low, before, int(ends[cell]), following)))
            continue
        edges = _divided(low, high)
        smaller.append(_Range(of.name, low, high, before, following, edges, places))
    return smaller


def _sampled(sample: Table, name: str) -> Vector:
    """Return quantiles of a column in the sample, as edges."""
    values = sample.column(name)
    known = np.sort(values[~np.isnan(values)])
    at = np.linspace(0, len(known) - 1, min(_FIRST_CELLS, len(known))).astype(np.intp)
    return np.unique(known[at])


def _divided(low: float, high: float) -> Vector:
    """Divide a range, in equal numbers of float64 numbers: (n_cells - 1,), all above `low`."""
    first, last = _order(low), _order(high)
    count = min(_CELLS, last - first + 1)
    keys = [first + (last - first + 1) * i // count for i in range(1, count)]
    return np.array([_number(key) for key in keys])


def _order(number: float) -> int:
    """Return the place of a number among all of float64; 0 and -0 have the same."""
    bits = int(np.float64(abs(number)).view(np.int64))
    return bits if number >= 0 else -bits


def _number(order: int) -> float:
    """Return the number at a place."""
    magnitude = float(np.int64(abs(order)).view(np.float64))
    return magnitude if order >= 0 else -magnitude
