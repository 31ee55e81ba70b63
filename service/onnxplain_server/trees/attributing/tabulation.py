"""Tabulation: the tables of leaves against a background, alone or merged by groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import (
    Counts,
    Cube,
    Flags,
    Indices,
    Int32Matrix,
    Int32Vector,
    Vector,
)
from onnxplain_server.effects.attributing.games import Game, Perturbation, Rules
from onnxplain_server.trees.attributing.failure_counts import (
    GameBackground,
    add_group_failures,
    add_leaf_failures,
)
from onnxplain_server.trees.attributing.group_tables import (
    add_group_tables,
    lay_out_groups,
    merge_tables,
)
from onnxplain_server.trees.attributing.leaf_groups import (
    LeafGroups,
    find_leaf_groups,
    parts_of_groups,
)
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import (
    LeafSlots,
    from_leaf,
    lay_out_slots,
    slot_counts_of,
    spans_of,
    spans_of_slots,
)
from onnxplain_server.trees.attributing.path_tables import tabulate_paths
from onnxplain_server.trees.attributing.pattern_tables import add_tables, tabulate_failures
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

_LEAVES = 128
"""Leaves per kernel call."""
_GROUPS = 32
"""Groups of leaves per kernel call."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafTables:
    """Tables of leaves by their own patterns.

    Attributes
    ----------
    leaves : LeafPlayers
    leaf_span : (int, int)
        First leaf, and the one after the last.
    slots : LeafSlots
    tables : (n_numbers,)
    """

    leaves: LeafPlayers
    leaf_span: tuple[int, int]
    slots: LeafSlots
    tables: Vector

    def add(self, codes: Int32Matrix, sums: Cube) -> None:
        """Add the values of rows: (n_targets, n_numbers, n)."""
        span = 0, codes.shape[1], *self.leaf_span
        add_tables(*span, self.leaves, self.slots, codes, self.tables, sums)


@dataclass(frozen=True, slots=True, eq=False)
class GroupTables:
    """Tables of groups of leaves, by the outcomes of their tests.

    Attributes
    ----------
    groups : LeafGroups
    descent : Descent
    slots : LeafSlots
    tables : (n_numbers,)
    """

    groups: LeafGroups
    descent: Descent
    slots: LeafSlots
    tables: Vector

    def add(self, codes: Int32Matrix, sums: Cube) -> None:
        """As `LeafTables.add`."""
        parts = self.groups, self.descent, self.slots, codes, self.tables
        rows = sums.reshape(sums.shape[0] * sums.shape[1], -1)
        add_group_tables(0, codes.shape[1], *parts, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Tabulation:
    """Makes the tables of leaves.

    Attributes
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    leaves : LeafPlayers
    player_of : (n_features,)
        Player of each feature.
    player_count : int
    background : GameBackground
    game : Game
    rules : Rules
    ratios : (n_leaf_players,)
        In the path-dependent game.
    """

    ensemble: Ensemble
    descent: Descent
    leaves: LeafPlayers
    player_of: Int32Vector
    player_count: int
    background: GameBackground
    game: Game
    rules: Rules
    ratios: Vector

    def tables(
        self, order: int, has_table: Flags, pool: BlockPool
    ) -> Iterator[LeafTables | GroupTables]:
        """Yield the tables of some leaves, (n_leaves,), in parts that fit into memory.

        Parameters
        ----------
        order : int
            1 for values of players, 2 for those of pairs.
        """
        leaves, parts = self.leaves, (self.ensemble, self.descent, self.leaves, self.player_of)
        groups = find_leaf_groups(*parts, has_table)
        for part in parts_of_groups(groups, leaves, order):
            yield self._group_tables(order, part, pool)
        is_single = has_table.copy()
        is_single[groups.leaf] = False
        for single, slots in self.laid_out(order, np.flatnonzero(is_single)):
            begin, end = int(single[0]), int(single[-1]) + 1
            for first, last in spans_of(slots.table[slots.start[begin : end + 1]]):
                span = begin + first, begin + last
                own = from_leaf(slots, span[0])
                yield LeafTables(leaves, span, own, self._single(order, own, span, pool))

    def laid_out(self, order: int, chosen: Indices) -> Iterator[tuple[Indices, LeafSlots]]:
        """Lay out the numbers of some leaves; yield these in parts whose slots fit into memory."""
        for first, last in spans_of_slots(slot_counts_of(self.leaves.counts[chosen], order)):
            is_used = np.zeros(len(self.leaves.values), np.bool_)
            is_used[chosen[first:last]] = True
            yield chosen[first:last], self.slots(order, is_used)

    def slots(self, order: int, is_used: Flags) -> LeafSlots:
        """Lay out the numbers of some leaves, (n_leaves,): those of players (1) or pairs (2)."""
        return lay_out_slots(self.leaves, order, self.player_count, is_used)

    def _group_tables(self, order: int, groups: LeafGroups, pool: BlockPool) -> GroupTables:
        leaves, players = self.leaves, self.player_count
        is_used = np.zeros(len(leaves.values), np.bool_)
        is_used[groups.leaf] = True
        slots = self.slots(order, is_used)
        tables = self._grouped(order, slots, groups, pool)
        numbers = players if order == 1 else players * (players - 1) // 2
        own, group_slots = lay_out_groups(groups, leaves, slots, numbers)
        merged = np.zeros(int(group_slots.table[-1]))

        def merge(span: tuple[int, int]) -> None:
            merge_tables(*span, groups, leaves, slots, tables, own, group_slots, merged)

        pool.run(merge, blocks(len(groups.start) - 1, _GROUPS))
        return GroupTables(groups, self.descent, group_slots, merged)

    def _single(
        self, order: int, slots: LeafSlots, leaf_span: tuple[int, int], pool: BlockPool
    ) -> Vector:
        """Tabulate the values of some leaves, one table after the other."""

        def count(start: Counts, failures: Vector) -> None:
            add_leaf_failures(self.background, leaf_span, self.leaves, start, failures, pool)

        return self._tabulate(order, slots, leaf_span, count, pool)

    def _grouped(self, order: int, slots: LeafSlots, groups: LeafGroups, pool: BlockPool) -> Vector:
        """Tabulate the values of leaves in groups, as `_single`."""

        def count(start: Counts, failures: Vector) -> None:
            parts = groups, self.descent, self.leaves
            add_group_failures(self.background, *parts, start, failures, pool)

        return self._tabulate(order, slots, (0, len(self.leaves.values)), count, pool)

    def _tabulate(
        self,
        order: int,
        slots: LeafSlots,
        leaf_span: tuple[int, int],
        count: Callable[[Counts, Vector], None],
        pool: BlockPool,
    ) -> Vector:
        """Tabulate the values of the leaves that have slots.

        Parameters
        ----------
        count : callable (start, failures) -> None
            Adds the shares of the background by failures.
        """
        leaves, rules, (first, last) = self.leaves, self.rules, leaf_span
        tables = np.zeros(int(slots.table[slots.start[last]]))
        spans = [(first + a, first + b) for a, b in blocks(last - first, _LEAVES)]
        if self.game.perturbation is Perturbation.PATH_DEPENDENT:
            asked = order, leaves, slots, rules, self.ratios, tables
            pool.run(lambda span: tabulate_paths(span[0], span[1], *asked), spans)
            return tables
        sizes = np.where(np.diff(slots.start) > 0, np.left_shift(1, leaves.counts), 0)
        start = np.zeros(len(sizes) + 1, dtype=np.int64)
        start[first + 1 : last + 1] = np.cumsum(sizes[first:last])
        failures = np.zeros(int(start[last]))
        count(start, failures)
        counted = order, leaves, slots, rules, start, failures, tables
        pool.run(lambda span: tabulate_failures(span[0], span[1], *counted), spans)
        return tables
