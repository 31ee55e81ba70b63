"""Attributions of rows on trees, exact: values of players, and of their pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import (
    Counts,
    Cube,
    Indices,
    Int32Matrix,
    Vector,
)
from onnxplain_server.effects.attributing.games import Game, Perturbation, rules_of
from onnxplain_server.trees.attributing.group_tables import (
    add_group_tables,
    count_group_failures,
    lay_out_groups,
    merge_tables,
)
from onnxplain_server.trees.attributing.leaf_groups import (
    LeafGroups,
    find_leaf_groups,
    parts_of_groups,
)
from onnxplain_server.trees.attributing.leaf_players import find_leaf_players
from onnxplain_server.trees.attributing.leaf_slots import (
    MOST_TABLE_PLAYERS,
    LeafSlots,
    from_leaf,
    lay_out_slots,
    spans_of,
)
from onnxplain_server.trees.attributing.occurring_patterns import (
    Failures,
    add_patterns,
    find_failures,
)
from onnxplain_server.trees.attributing.path_shares import path_shares
from onnxplain_server.trees.attributing.pattern_tables import (
    NodeRules,
    add_tables,
    count_failures,
    tabulate_failures,
    tabulate_paths,
)
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

_SET_NUMBERS = 1 << 22
"""Numbers of the background's failures that are kept at a time: 32 MiB, and as much for shares."""
_LEAVES = 32
"""Leaves per kernel call."""
_GROUPS = 8
"""Groups of leaves per kernel call."""
_ROWS = 1024
"""Rows per kernel call."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedBackground:
    """The background of a game on trees.

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


class LeafAttributions:
    """Attributions by the leaves of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    boxes : Boxes
    background : CountedBackground
    players : sequence of tuples of int
        Features of each player. Each feature is in exactly one.
    game : Game
    pool : BlockPool

    Raises
    ------
    ExplainError
        INVALID_OPTION where a leaf has more than 62 players.

    Notes
    -----
    Cost: with d players of a leaf at most, time grows with leaves times background plus rows, and
    with leaves times d² 2^d. Leaves with more patterns than there are rows have no table:
    there, it grows with the distinct patterns of rows times those of the background.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        descent: Descent,
        boxes: Boxes,
        background: CountedBackground,
        players: Sequence[tuple[int, ...]],
        game: Game,
        pool: BlockPool,
    ) -> None:
        self._leaves = find_leaf_players(boxes, players)
        self._ensemble, self._descent = ensemble, descent
        self._player_of = np.empty(len(ensemble.axes), dtype=np.int32)
        for number, features in enumerate(players):
            self._player_of[list(features)] = number
        self._background = background
        self._player_count = len(players)
        self._game = game
        self._pool = pool
        self._rules = rules_of(game.value, int(self._leaves.counts.max(initial=0)))
        self._ratios = self._path_ratios()

    def values(self, codes: Int32Matrix) -> Cube:
        """Compute the values of players at rows given by their cells: (n_targets, n_players, n)."""
        return self._sum(1, codes)

    def pairs(self, codes: Int32Matrix) -> Cube:
        """Compute those of pairs, in lexicographic order: (n_targets, n_pairs, n).

        The interaction index: the average of the mixed derivative, for both players together.
        """
        return self._sum(2, codes)

    def _path_ratios(self) -> Vector:
        match self._game.perturbation:
            case Perturbation.INTERVENTIONAL:
                return np.zeros(0)
            case Perturbation.PATH_DEPENDENT:
                leaves, shares = self._leaves, self._background.leaf_shares
                parts = self._player_of, leaves.player_start, leaves.player
                return path_shares(self._ensemble, shares, *parts)

    def _sum(self, order: int, codes: Int32Matrix) -> Cube:
        leaves, players = self._leaves, self._player_count
        numbers = players if order == 1 else players * (players - 1) // 2
        sums = np.zeros((leaves.values.shape[1], numbers, codes.shape[1]))
        is_used = leaves.values.any(axis=1) & (leaves.counts >= order)
        has_table = is_used & (leaves.counts <= self._table_players(codes.shape[1]))
        parts = self._ensemble, self._descent, leaves, self._player_of
        groups = find_leaf_groups(*parts, has_table)
        for part in parts_of_groups(groups, leaves, order):
            self._add_groups(order, part, codes, sums)
        is_single = has_table.copy()
        is_single[groups.leaf] = False
        slots = lay_out_slots(leaves, order, players, is_single)
        for leaf_span in spans_of(slots.table[slots.start]):
            self._add_tables(order, slots, leaf_span, codes, sums)
        self._add_patterns(order, np.flatnonzero(is_used & ~has_table), codes, sums)
        return sums

    def _table_players(self, row_count: int) -> int:
        """Return the most players of a leaf that has no more patterns than twice the rows."""
        if self._game.perturbation is Perturbation.INTERVENTIONAL:
            row_count += len(self._background.shares)
        return min(row_count.bit_length(), MOST_TABLE_PLAYERS)

    def _add_groups(self, order: int, groups: LeafGroups, codes: Int32Matrix, sums: Cube) -> None:
        """Add the values of leaves in groups, whose tables are merged."""
        leaves, descent, (targets, numbers, _) = self._leaves, self._descent, sums.shape
        rows, is_used = sums.reshape(targets * numbers, -1), np.zeros(len(leaves.values), np.bool_)
        is_used[groups.leaf] = True
        slots = lay_out_slots(leaves, order, self._player_count, is_used)
        tables = self._tabulate_groups(order, slots, groups)
        own, group_slots = lay_out_groups(groups, leaves, slots, numbers)
        merged = np.zeros(int(group_slots.table[-1]))

        def merge(span: tuple[int, int]) -> None:
            merge_tables(*span, groups, leaves, slots, tables, own, group_slots, merged)

        def add(span: tuple[int, int]) -> None:
            add_group_tables(*span, groups, descent, group_slots, codes, merged, rows)

        self._pool.run(merge, blocks(len(groups.start) - 1, _GROUPS))
        self._pool.run(add, blocks(codes.shape[1], _ROWS))

    def _add_tables(
        self,
        order: int,
        slots: LeafSlots,
        leaf_span: tuple[int, int],
        codes: Int32Matrix,
        sums: Cube,
    ) -> None:
        """Add the values of leaves with a table for all their patterns."""
        leaves, own = self._leaves, from_leaf(slots, leaf_span[0])
        tables = self._tabulate(order, own, leaf_span)

        def add(span: tuple[int, int]) -> None:
            add_tables(*span, *leaf_span, leaves, own, codes, tables, sums)

        self._pool.run(add, blocks(codes.shape[1], _ROWS))

    def _add_patterns(self, order: int, chosen: Indices, codes: Int32Matrix, sums: Cube) -> None:
        """Add the values of leaves that have more patterns than there are rows."""
        is_used = np.zeros(len(self._leaves.values), dtype=np.bool_)
        is_used[chosen] = True
        slots = lay_out_slots(self._leaves, order, self._player_count, is_used)
        moments, rules = self._rules.all_moments(), NodeRules(*self._rules.parts)
        step = max(1, _SET_NUMBERS // len(self._background.shares))
        for start in range(0, len(chosen), step):
            failures = self._failures(chosen[start : start + step])

            def add(span: tuple[int, int], failures: Failures = failures) -> None:
                first, last = span
                leaves, ratios = self._leaves, self._ratios
                add_patterns(
                    first, last, order, leaves, slots, codes, failures, moments, ratios, rules, sums
                )

            self._pool.run(add, blocks(codes.shape[1], _ROWS))

    def _failures(self, leaf: Indices) -> Failures:
        """Find the distinct failures of the background in some leaves."""
        background = self._background
        if self._game.perturbation is Perturbation.PATH_DEPENDENT:
            none = np.zeros((len(leaf), 0), np.int64), np.zeros((len(leaf), 0))
            return Failures(leaf, *none, np.full(len(leaf), -1))
        shape = (len(leaf), len(background.shares))
        empty = np.empty(shape, np.int64), np.empty(shape), np.empty(len(leaf), np.int64)
        failures = Failures(leaf, *empty)

        def find(span: tuple[int, int]) -> None:
            find_failures(*span, self._leaves, background.codes, background.shares, failures)

        self._pool.run(find, blocks(len(leaf), _LEAVES))
        return failures

    def _tabulate(self, order: int, slots: LeafSlots, leaf_span: tuple[int, int]) -> Vector:
        """Tabulate the values of some leaves, one table after the other."""
        leaves, background, (first, last) = self._leaves, self._background, leaf_span
        spans = [(first + a, first + b) for a, b in blocks(last - first, _LEAVES)]

        def count(start: Counts, failures: Vector) -> None:
            asked = leaves, background.codes, background.shares, start, failures
            self._pool.run(lambda span: count_failures(span[0], span[1], *asked), spans)

        return self._tables(order, slots, leaf_span, count)

    def _tabulate_groups(self, order: int, slots: LeafSlots, groups: LeafGroups) -> Vector:
        """Tabulate the values of leaves in groups, as `_tabulate`."""
        parts = groups, self._descent, self._leaves

        def count(start: Counts, failures: Vector) -> None:
            asked = *parts, self._background.codes, self._background.shares, start, failures
            spans = blocks(len(groups.start) - 1, _GROUPS)
            self._pool.run(lambda span: count_group_failures(span[0], span[1], *asked), spans)

        return self._tables(order, slots, (0, len(self._leaves.values)), count)

    def _tables(
        self,
        order: int,
        slots: LeafSlots,
        leaf_span: tuple[int, int],
        count: Callable[[Counts, Vector], None],
    ) -> Vector:
        """Tabulate the values of the leaves that have slots.

        Parameters
        ----------
        count : callable (start, failures) -> None
            Adds the shares of the background by failures.
        """
        leaves, rules, (first, last) = self._leaves, NodeRules(*self._rules.parts), leaf_span
        tables = np.zeros(int(slots.table[slots.start[last]]))
        spans = [(first + a, first + b) for a, b in blocks(last - first, _LEAVES)]
        if self._game.perturbation is Perturbation.PATH_DEPENDENT:
            asked = order, leaves, slots, rules, self._ratios, tables
            self._pool.run(lambda span: tabulate_paths(span[0], span[1], *asked), spans)
            return tables
        sizes = np.where(np.diff(slots.start) > 0, np.left_shift(1, leaves.counts), 0)
        start = np.zeros(len(sizes) + 1, dtype=np.int64)
        start[first + 1 : last + 1] = np.cumsum(sizes[first:last])
        failures = np.zeros(int(start[last]))
        count(start, failures)
        counted = order, leaves, slots, rules, start, failures, tables
        self._pool.run(lambda span: tabulate_failures(span[0], span[1], *counted), spans)
        return tables
