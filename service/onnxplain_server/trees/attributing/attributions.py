"""Attributions of rows on trees, exact: values of players, and of their pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Cube, Flags, Indices, Int32Matrix, Vector
from onnxplain_server.effects.attributing.games import Game, Perturbation, rules_of
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers, find_leaf_players
from onnxplain_server.trees.attributing.occurring_patterns import (
    Failures,
    add_patterns,
    find_failures,
)
from onnxplain_server.trees.attributing.path_shares import path_shares
from onnxplain_server.trees.attributing.pattern_tables import (
    LeafSlots,
    NodeRules,
    add_tables,
    count_failures,
    tabulate_failures,
    tabulate_paths,
)
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array

MOST_LEAF_PLAYERS = 62
"""Players of a leaf, whose patterns are numbers of 64 bits."""
_TABLE_PLAYERS = 16
"""Most players of a leaf whose values are tabulated for all patterns, whatever the rows."""
_CHUNK_NUMBERS = 1 << 22
"""Numbers of the tables that are kept at a time: 32 MiB."""
_LEAVES = 32
"""Leaves per kernel call."""
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
        Shares of the rows that reach each leaf.
    """

    codes: Int32Matrix
    shares: Vector
    leaf_shares: Vector


class LeafAttributions:
    """Attributions by the leaves of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
    background : CountedBackground
    players : sequence of tuples of int
        Features of each player. Each feature is in exactly one.
    game : Game
    pool : BlockPool

    Notes
    -----
    Cost: with d players of a leaf at most, time grows with leaves times background plus rows, and
    with leaves times d² 2^d. Leaves with more patterns than there are rows have no table:
    there, it grows with the distinct patterns of rows times those of the background.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        boxes: Boxes,
        background: CountedBackground,
        players: Sequence[tuple[int, ...]],
        game: Game,
        pool: BlockPool,
    ) -> None:
        self._leaves = find_leaf_players(boxes, players)
        self._background = background
        self._player_count = len(players)
        self._game = game
        self._pool = pool
        self._rules = rules_of(game.value, int(self._leaves.counts.max(initial=0)))
        self._ratios = self._path_ratios(ensemble, players)

    @property
    def most_players(self) -> int:
        """Most players of a leaf; more than `MOST_LEAF_PLAYERS` cannot be attributed."""
        return int(self._leaves.counts.max(initial=0))

    def values(self, codes: Int32Matrix) -> Cube:
        """Compute the values of players at rows given by their cells: (n_targets, n_players, n)."""
        return self._sum(1, codes)

    def pairs(self, codes: Int32Matrix) -> Cube:
        """Compute those of pairs, in lexicographic order: (n_targets, n_pairs, n).

        The interaction index: the average of the mixed derivative, for both players together.
        """
        return self._sum(2, codes)

    def _path_ratios(self, ensemble: Ensemble, players: Sequence[tuple[int, ...]]) -> Vector:
        match self._game.perturbation:
            case Perturbation.INTERVENTIONAL:
                return np.zeros(0)
            case Perturbation.PATH_DEPENDENT:
                player_of = np.empty(len(ensemble.axes), dtype=np.int32)
                for number, features in enumerate(players):
                    player_of[list(features)] = number
                leaves, shares = self._leaves, self._background.leaf_shares
                parts = leaves.player_start, leaves.player
                return path_shares(ensemble, shares, player_of, *parts)

    def _sum(self, order: int, codes: Int32Matrix) -> Cube:
        leaves, players = self._leaves, self._player_count
        numbers = players if order == 1 else players * (players - 1) // 2
        sums = np.zeros((leaves.values.shape[1], numbers, codes.shape[1]))
        is_used = leaves.values.any(axis=1) & (leaves.counts >= order)
        has_table = is_used & (leaves.counts <= self._table_players(codes.shape[1]))
        self._add_tables(order, has_table, codes, sums)
        self._add_patterns(order, np.flatnonzero(is_used & ~has_table), codes, sums)
        return sums

    def _table_players(self, row_count: int) -> int:
        """Return the most players of a leaf that has no more patterns than twice the rows."""
        if self._game.perturbation is Perturbation.INTERVENTIONAL:
            row_count += len(self._background.shares)
        return min(row_count.bit_length(), _TABLE_PLAYERS)

    def _add_tables(self, order: int, has_table: Flags, codes: Int32Matrix, sums: Cube) -> None:
        """Add the values of leaves with a table for all their patterns."""
        slots = _slots(self._leaves, order, self._player_count, has_table)
        for first, last in _chunks(slots):
            tables, own = self._tabulate(order, slots, first, last), _of_chunk(slots, first)

            def add(
                span: tuple[int, int],
                leaf_span: tuple[int, int] = (first, last),
                own: LeafSlots = own,
                tables: Vector = tables,
            ) -> None:
                add_tables(*span, *leaf_span, self._leaves, own, codes, tables, sums)

            self._pool.run(add, blocks(codes.shape[1], _ROWS))

    def _add_patterns(self, order: int, chosen: Indices, codes: Int32Matrix, sums: Cube) -> None:
        """Add the values of leaves that have more patterns than there are rows."""
        is_used = np.zeros(len(self._leaves.values), dtype=np.bool_)
        is_used[chosen] = True
        slots = _slots(self._leaves, order, self._player_count, is_used)
        moments, rules = self._rules.all_moments(), NodeRules(*self._rules.parts)
        step = max(1, _CHUNK_NUMBERS // len(self._background.shares))
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

    def _tabulate(self, order: int, slots: LeafSlots, first: int, last: int) -> Vector:
        """Tabulate the values of leaves from `first` to `last`, one table after the other."""
        leaves, rules, background = self._leaves, self._rules, self._background
        own = _of_chunk(slots, first)
        tables = np.zeros(int(own.table[slots.start[last]]))
        nodes = NodeRules(*rules.parts)
        spans = [(first + a, first + b) for a, b in blocks(last - first, _LEAVES)]
        if self._game.perturbation is Perturbation.PATH_DEPENDENT:
            ratios = self._ratios
            self._pool.run(
                lambda span: tabulate_paths(*span, order, leaves, own, nodes, ratios, tables),
                spans,
            )
            return tables
        start = np.zeros(len(leaves.values) + 1, dtype=np.int64)
        sizes = np.where(np.diff(slots.start) > 0, np.left_shift(1, leaves.counts), 0)
        start[first + 1 : last + 1] = np.cumsum(sizes[first:last])
        failures = np.zeros(int(start[last]))

        def tabulate(span: tuple[int, int]) -> None:
            count_failures(*span, leaves, background.codes, background.shares, start, failures)
            tabulate_failures(*span, order, leaves, own, nodes, start, failures, tables)

        self._pool.run(tabulate, spans)
        return tables


def _slots(leaves: LeafPlayers, order: int, player_count: int, is_used: Flags) -> LeafSlots:
    """Lay out the slots and tables of leaves; those that are not used have none."""
    counts = leaves.counts
    slot_counts = np.where(is_used, counts if order == 1 else counts * (counts - 1) // 2, 0)
    start = np.zeros(len(counts) + 1, dtype=np.int64)
    start[1:] = np.cumsum(slot_counts)
    number = np.empty(int(start[-1]), dtype=np.int32)
    for size in np.unique(counts[slot_counts > 0]):
        own = np.flatnonzero((counts == size) & (slot_counts > 0))
        player = leaves.player[leaves.player_start[own][:, None] + np.arange(size)]
        numbers = player if order == 1 else _pair_numbers(player, player_count)
        number[start[own][:, None] + np.arange(numbers.shape[1])] = numbers
    sizes = np.repeat(np.left_shift(1, np.minimum(counts, _TABLE_PLAYERS)), slot_counts)
    table = np.zeros(len(sizes) + 1, dtype=np.int64)
    table[1:] = np.cumsum(sizes)
    return LeafSlots(start, number, table)


def _pair_numbers(player: Int32Array, player_count: int) -> Int32Array:
    """Number the pairs of players of leaves, in lexicographic order: (n_leaves, n_pairs)."""
    one, two = np.triu_indices(player.shape[1], 1)
    first, second = player[:, one].astype(np.int64), player[:, two]
    numbers = first * (2 * player_count - first - 1) // 2 + second - first - 1
    return numbers.astype(np.int32)


def _chunks(slots: LeafSlots) -> Iterator[tuple[int, int]]:
    """Divide the leaves so that the tables of each part fit into memory."""
    ends = slots.table[slots.start]
    first, count = 0, len(slots.start) - 1
    while first < count:
        last = int(np.searchsorted(ends, ends[first] + _CHUNK_NUMBERS, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _of_chunk(slots: LeafSlots, first: int) -> LeafSlots:
    """Let tables begin with that of a leaf."""
    return slots._replace(table=slots.table - slots.table[slots.start[first]])
