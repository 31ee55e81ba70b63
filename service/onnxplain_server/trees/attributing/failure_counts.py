"""Failures of the background: shares of its rows by the players of a leaf that they fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Counts, Int32Matrix, Vector
from onnxplain_server.trees.attributing.group_tables import count_group_failures
from onnxplain_server.trees.attributing.leaf_groups import LeafGroups, find_leaf_groups
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers, find_leaf_players
from onnxplain_server.trees.attributing.leaf_slots import MOST_TABLE_PLAYERS
from onnxplain_server.trees.attributing.pattern_tables import count_failures
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

_LEAVES = 128
"""Leaves per kernel call."""
_GROUPS = 32
"""Groups of leaves per kernel call."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedBackground:
    """Background of rows in memory.

    Attributes
    ----------
    codes : (n_features, n)
        Cells of its rows.
    shares : (n,)
    leaf_shares : (n_leaves,)
        Shares of the rows that reach each leaf; only of the path-dependent game.
    """

    codes: Int32Matrix
    shares: Vector
    leaf_shares: Vector

    @property
    def row_count(self) -> int:
        return len(self.shares)

    @property
    def byte_count(self) -> int:
        return self.codes.nbytes + self.shares.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class SummedBackground:
    """Background of which only what its game needs is known, summed over blocks of rows.

    Attributes
    ----------
    failures : (n_numbers,)
        2^d shares for each leaf; only of the interventional game.
    start : (n_leaves + 1,)
        First of each leaf.
    leaf_shares : (n_leaves,)
        As in `CountedBackground`.
    row_count : int
    """

    failures: Vector
    start: Counts
    leaf_shares: Vector
    row_count: int

    @property
    def byte_count(self) -> int:
        return self.failures.nbytes + self.start.nbytes + self.leaf_shares.nbytes

    def add(self, leaves: Iterable[int], start: Counts, failures: Vector) -> None:
        """Add the failures of some leaves: 2^d numbers for each, from `start`."""
        for leaf in leaves:
            own = failures[start[leaf] : start[leaf + 1]]
            own += self.failures[self.start[leaf] : self.start[leaf] + len(own)]


GameBackground: TypeAlias = CountedBackground | SummedBackground
"""Background of a game on trees."""


def add_group_failures(
    background: GameBackground,
    groups: LeafGroups,
    descent: Descent,
    leaves: LeafPlayers,
    start: Counts,
    failures: Vector,
    pool: BlockPool,
) -> None:
    """Add the failures of the leaves in groups: 2^d numbers for each leaf, from `start`."""
    match background:
        case CountedBackground():
            rows = background.codes, background.shares
            asked = groups, descent, leaves, *rows, start, failures
            spans = blocks(len(groups.start) - 1, _GROUPS)
            pool.run(lambda span: count_group_failures(span[0], span[1], *asked), spans)
        case SummedBackground():
            background.add(groups.leaf, start, failures)


def add_leaf_failures(
    background: GameBackground,
    leaf_span: tuple[int, int],
    leaves: LeafPlayers,
    start: Counts,
    failures: Vector,
    pool: BlockPool,
) -> None:
    """Add the failures of the leaves of a span, likewise."""
    first, last = leaf_span
    match background:
        case CountedBackground():
            asked = leaves, background.codes, background.shares, start, failures
            spans = [(first + a, first + b) for a, b in blocks(last - first, _LEAVES)]
            pool.run(lambda span: count_failures(span[0], span[1], *asked), spans)
        case SummedBackground():
            background.add(range(first, last), start, failures)


@dataclass(frozen=True, slots=True, eq=False)
class FailureLayout:
    """Numbers of the failures of all leaves, one leaf after the other.

    Attributes
    ----------
    descent : Descent
    leaves : LeafPlayers
    groups : LeafGroups
        Leaves whose patterns are found together.
    start : (n_leaves + 1,)
    """

    descent: Descent
    leaves: LeafPlayers
    groups: LeafGroups
    start: Counts

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        descent: Descent,
        boxes: Boxes,
        players: Sequence[tuple[int, ...]],
    ) -> FailureLayout:
        """Lay out the leaves of an ensemble; each feature is in exactly one of the players."""
        leaves = find_leaf_players(boxes, players)
        player_of = np.empty(len(ensemble.axes), np.int32)
        for number, features in enumerate(players):
            player_of[list(features)] = number
        is_asked = np.ones(len(leaves.values), dtype=np.bool_)
        groups = find_leaf_groups(ensemble, descent, leaves, player_of, is_asked)
        start = np.zeros(len(is_asked) + 1, dtype=np.int64)
        counted = np.minimum(leaves.counts, MOST_TABLE_PLAYERS)
        start[1:] = np.cumsum(np.left_shift(1, counted, dtype=np.int64))
        return cls(descent, leaves, groups, start)

    @property
    def has_tables(self) -> bool:
        """Return whether each leaf has few enough players for a table."""
        return int(self.leaves.counts.max(initial=0)) <= MOST_TABLE_PLAYERS

    def count(self, codes: Int32Matrix, weights: Vector, pool: BlockPool) -> Vector:
        """Sum the weights of rows by the players of each leaf that they fail: (n_numbers,)."""
        rows = CountedBackground(codes, weights, np.zeros(0))
        failures = np.zeros(int(self.start[-1]))
        groups = self.groups, self.descent, self.leaves
        add_group_failures(rows, *groups, self.start, failures, pool)
        is_single = np.ones(len(self.leaves.values), dtype=np.bool_)
        is_single[self.groups.leaf] = False
        own = np.where(is_single, np.diff(self.start), 0)
        start = np.zeros_like(self.start)
        start[1:] = np.cumsum(own)
        singles = np.zeros(int(start[-1]))
        add_leaf_failures(rows, (0, len(own)), self.leaves, start, singles, pool)
        failures[np.repeat(is_single, np.diff(self.start))] = singles
        return failures
