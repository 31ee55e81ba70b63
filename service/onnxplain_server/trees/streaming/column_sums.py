"""Sums over the values of columns: distinct values, and the mass of rows between edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.rows import is_missing
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.passes import Summed, TreeSums

MAX_LEVELS = 1 << 14
"""Distinct values of a column that are kept."""
KEPT_LEVELS = 1_000
"""Smallest ones that are kept of more."""


@dataclass(slots=True, eq=False)
class LevelSums:
    """Distinct values of a column.

    Attributes
    ----------
    levels : (n_levels,)
        Ascending, none of them missing: float64, or str objects.
    rows, weights : (n_levels,)
        Rows of each, and their weight.
    known_rows, missing_rows, missing_weight : float
        Rows with a value, and without, and the weight of these.
    is_complete : bool
        Whether these are all distinct values; else they are the smallest `KEPT_LEVELS`.
    is_whole : bool
        Whether all values are whole numbers; True for text.
    """

    levels: Array
    rows: Vector
    weights: Vector
    known_rows: float
    missing_rows: float
    missing_weight: float
    is_complete: bool
    is_whole: bool

    @classmethod
    def of(cls, column: Array, weights: Vector) -> LevelSums:
        """Count the values of a column: (n,), with weights (n,)."""
        missing = is_missing(column)
        known = column[~missing]
        levels, place, counts = np.unique(known, return_inverse=True, return_counts=True)
        is_whole = column.dtype == object or bool((levels == np.floor(levels)).all())
        own = np.bincount(place, weights[~missing], len(levels)).astype(np.float64)
        rows, count = counts.astype(np.float64), float(missing.sum())
        absent = float(weights[missing].sum())
        sums = cls(levels, rows, own, float(len(known)), count, absent, True, is_whole)
        sums._limit()
        return sums

    def add(self, later: LevelSums) -> None:
        """Add the values of later rows."""
        self.levels, place = np.unique(
            np.concatenate([self.levels, later.levels]), return_inverse=True
        )
        for name in ("rows", "weights"):
            both = np.concatenate([getattr(self, name), getattr(later, name)])
            setattr(self, name, np.bincount(place, both, len(self.levels)).astype(np.float64))
        self.known_rows += later.known_rows
        self.missing_rows += later.missing_rows
        self.missing_weight += later.missing_weight
        self.is_complete &= later.is_complete
        self.is_whole &= later.is_whole
        self._limit()

    def _limit(self) -> None:
        self.is_complete &= len(self.levels) <= MAX_LEVELS
        if not self.is_complete:
            self.levels, self.rows = self.levels[:KEPT_LEVELS], self.rows[:KEPT_LEVELS]
            self.weights = self.weights[:KEPT_LEVELS]


@dataclass(slots=True, eq=False)
class CellSums:
    """Rows whose values are in some range, by cells of it.

    Attributes
    ----------
    rows : (n_cells,)
    low, high : (n_cells,)
        Least and largest value; infinity and its negative for empty cells.
    """

    rows: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, ordered: Vector, edges: Vector) -> CellSums:
        """Count ascending values in the cells between edges, (n_cells - 1,): [edge, next edge)."""
        ends = np.append(np.searchsorted(ordered, edges, side="left"), len(ordered))
        starts = np.append(0, ends[:-1])
        filled = np.flatnonzero(ends > starts)
        low, high = np.full(len(ends), np.inf), np.full(len(ends), -np.inf)
        low[filled], high[filled] = ordered[starts[filled]], ordered[ends[filled] - 1]
        return cls((ends - starts).astype(np.float64), low, high)

    def add(self, later: CellSums) -> None:
        """Add later rows, counted in the same cells."""
        self.rows += later.rows
        np.minimum(self.low, later.low, out=self.low)
        np.maximum(self.high, later.high, out=self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """Several sums.

    Attributes
    ----------
    parts : sequence of Sums
    """

    parts: Sequence[Any]

    def add(self, later: Several) -> None:
        """Add each to its own."""
        for own, other in zip(self.parts, later.parts, strict=True):
            own.add(other)


class _ColumnPass:
    """Pass over columns alone, which evaluates no trees."""

    __slots__ = ()

    @property
    def evaluations(self) -> int:
        return 0

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        return lambda block, _pool: self._sum(block)

    def _sum(self, block: RowBlock) -> Several:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LevelPass(_ColumnPass):
    """Distinct values of columns: the sums are `LevelSums` of each.

    Attributes
    ----------
    columns : tuple of str
    """

    columns: tuple[str, ...]

    def _sum(self, block: RowBlock) -> Several:
        weights = block.background.weights
        return Several([LevelSums.of(block.rows.column(name), weights) for name in self.columns])


@dataclass(frozen=True, slots=True, eq=False)
class CellPass(_ColumnPass):
    """Rows in cells of ranges: the sums are `CellSums` of each.

    Attributes
    ----------
    columns : tuple of str
    ranges : tuple of (str, float, float)
        Column, and the least and largest value that counts.
    edges : tuple of (n_cells - 1,)
        Ascending, of each range.
    """

    columns: tuple[str, ...]
    ranges: tuple[tuple[str, float, float], ...]
    edges: tuple[Vector, ...]

    def _sum(self, block: RowBlock) -> Several:
        ordered = {name: np.sort(block.rows.column(name)) for name in self.columns}
        return Several(
            [
                CellSums.of(_between(ordered[name], low, high), edges)
                for (name, low, high), edges in zip(self.ranges, self.edges, strict=True)
            ]
        )


def _between(ordered: Vector, low: float, high: float) -> Vector:
    """Return the values in [low, high], of ascending ones with NaN last."""
    start = np.searchsorted(ordered, low, side="left")
    part: Vector = ordered[start : np.searchsorted(ordered, high, side="right")]
    return part


CLASSES: tuple[type, ...] = (LevelPass, LevelSums, CellPass, CellSums, Several)
"""Classes of passes over columns and of their sums, for their encoding."""
