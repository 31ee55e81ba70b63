"""Attributions of rows on trees, exact: values of players, and of their pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Cube, Flags, Indices, Int32Matrix
from onnxplain_server.effects.attributing.games import Attributed, Game, Perturbation, rules_of
from onnxplain_server.trees.attributing.failure_counts import CountedBackground, GameBackground
from onnxplain_server.trees.attributing.leaf_players import find_leaf_players
from onnxplain_server.trees.attributing.leaf_slots import MOST_TABLE_PLAYERS, LeafSlots
from onnxplain_server.trees.attributing.occurring_patterns import (
    Failures,
    add_patterns,
    find_failures,
)
from onnxplain_server.trees.attributing.path_shares import path_shares
from onnxplain_server.trees.attributing.row_sums import RowSums, ToOutputs
from onnxplain_server.trees.attributing.tabulation import (
    GroupTables,
    LeafTables,
    Tabulation,
)
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

MEMO_BYTES = 16 << 20
"""Most bytes of tables that are memoized for further rows."""
_PATH_TABLE_PLAYERS = 9
"""Most players of a leaf that has a table in the path-dependent game."""
_SET_NUMBERS = 1 << 22
"""Numbers of the background's failures that are kept at a time: 32 MiB, and as much for shares."""
_LEAVES = 32
"""Leaves per kernel call."""


class LeafAttributions:
    """Attributions by the leaves of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    boxes : Boxes
    background : GameBackground
    players : sequence of tuples of int
        Features of each player. Each feature is in exactly one.
    game : Game

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
        background: GameBackground,
        players: Sequence[tuple[int, ...]],
        game: Game,
    ) -> None:
        leaves = find_leaf_players(boxes, players)
        player_of = np.empty(len(ensemble.axes), np.int32)
        for number, features in enumerate(players):
            player_of[list(features)] = number
        rules, ratios = rules_of(game.value, int(leaves.counts.max(initial=0))), np.zeros(0)
        if game.perturbation is Perturbation.PATH_DEPENDENT:
            shares, parts = background.leaf_shares, (leaves.player_start, leaves.player)
            ratios = path_shares(ensemble, shares, player_of, *parts)
        counted = player_of, len(players), background
        self._tabulation = Tabulation(ensemble, descent, leaves, *counted, game, rules, ratios)
        self._memo: dict[tuple[int, int], list[LeafTables | GroupTables]] = {}

    @property
    def byte_count(self) -> int:
        """Size of what is memoized, and of the background."""
        memoized = list(self._memo.values())  # other threads add to it
        tables = sum(part.tables.nbytes for parts in memoized for part in parts)
        return tables + self._tabulation.background.byte_count

    def attribute(
        self, codes: Int32Matrix, order: int, to_outputs: ToOutputs, pool: BlockPool
    ) -> Attributed:
        """Compute the values of players at rows given by their cells; for order 2, of pairs too.

        Those of pairs are the interaction index: the average of the mixed derivative, for both
        players together.
        """
        values = self._sum(1, codes, to_outputs, pool)
        pairs = self._sum(2, codes, to_outputs, pool) if order > 1 else values[:, :0]
        return Attributed(values, pairs)

    def _sum(self, order: int, codes: Int32Matrix, to_outputs: ToOutputs, pool: BlockPool) -> Cube:
        leaves, players = self._tabulation.leaves, self._tabulation.player_count
        numbers = players if order == 1 else players * (players - 1) // 2
        sums = RowSums(codes, leaves.values.shape[1], numbers, to_outputs, pool)
        most = self._table_players(codes.shape[1])
        for part in self._tables(order, most, pool):
            sums.add(part.add)
        is_left = self._is_used(order) & (leaves.counts > most)
        self._add_patterns(order, np.flatnonzero(is_left), pool, sums)
        return sums.values

    def _is_used(self, order: int) -> Flags:
        leaves = self._tabulation.leaves
        return leaves.values.any(axis=1) & (leaves.counts >= order)

    def _tables(self, order: int, most: int, pool: BlockPool) -> Iterator[LeafTables | GroupTables]:
        """Yield the tables of leaves of up to `most` players; few of them are memoized."""
        if (order, most) in self._memo:
            yield from self._memo[order, most]
            return
        kept: list[LeafTables | GroupTables] = []
        size = 0
        has_table = self._is_used(order) & (self._tabulation.leaves.counts <= most)
        for part in self._tabulation.tables(order, has_table, pool):
            yield part
            size += part.tables.nbytes
            kept = [*kept, part] if size <= MEMO_BYTES else []
        if size <= MEMO_BYTES:
            self._memo[order, most] = kept

    def _table_players(self, row_count: int) -> int:
        """Return the most players of a leaf that has no more patterns than twice the rows.

        Rows of the background have no patterns in the path-dependent game, whose tables take d
        times as long for each pattern.
        """
        match self._tabulation.game.perturbation:
            case Perturbation.INTERVENTIONAL:
                background = self._tabulation.background
                if not isinstance(background, CountedBackground):
                    return MOST_TABLE_PLAYERS  # nothing else is known of its rows
                row_count += background.row_count
                return min(row_count.bit_length(), MOST_TABLE_PLAYERS)
            case Perturbation.PATH_DEPENDENT:
                return min(row_count.bit_length(), MOST_TABLE_PLAYERS, _PATH_TABLE_PLAYERS)

    def _add_patterns(self, order: int, chosen: Indices, pool: BlockPool, sums: RowSums) -> None:
        """Add the values of leaves that have more patterns than there are rows."""
        counted = self._tabulation
        leaves, rules, ratios = counted.leaves, counted.rules, counted.ratios
        moments = rules.all_moments()
        step = max(1, _SET_NUMBERS // counted.background.row_count)
        for own, slots in counted.laid_out(order, chosen):
            for start in range(0, len(own), step):
                failures = self._failures(own[start : start + step], pool)

                def add(
                    codes: Int32Matrix,
                    added: Cube,
                    slots: LeafSlots = slots,
                    failures: Failures = failures,
                ) -> None:
                    rows = 0, codes.shape[1], order, leaves, slots, codes
                    add_patterns(*rows, failures, moments, ratios, rules, added)

                sums.add(add)

    def _failures(self, leaf: Indices, pool: BlockPool) -> Failures:
        """Find the distinct failures of the background in some leaves."""
        leaves, background = self._tabulation.leaves, self._tabulation.background
        if self._tabulation.game.perturbation is Perturbation.PATH_DEPENDENT:
            none = np.zeros((len(leaf), 0), np.int64), np.zeros((len(leaf), 0))
            return Failures(leaf, *none, np.full(len(leaf), -1))
        assert isinstance(background, CountedBackground)  # noqa: S101 - others have tables of all
        shape = (len(leaf), len(background.shares))
        empty = np.empty(shape, np.int64), np.empty(shape), np.empty(len(leaf), np.int64)
        failures = Failures(leaf, *empty)

        def find(span: tuple[int, int]) -> None:
            find_failures(*span, leaves, background.codes, background.shares, failures)

        pool.run(find, blocks(len(leaf), _LEAVES))
        return failures
