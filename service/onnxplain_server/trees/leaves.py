"""Leaves of one ensemble, memoized for all requests: their boxes, and rows that were counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from cachetools import LRUCache

from onnxplain_server.core.arrays import Flags, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.trees.attributing.attributions import LeafAttributions
from onnxplain_server.trees.counting.boxes import Boxes, leaf_boxes
from onnxplain_server.trees.counting.descent_tables import find_ends
from onnxplain_server.trees.counting.ranked_rows import RankedRows, rank_rows
from onnxplain_server.trees.counting.strategies import (
    BitsetCounting,
    Count,
    CountedLeaves,
    CountingStrategy,
    DescentCounting,
    bitset_bytes,
    prefers_bitsets,
)
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.descent import Descent, build_descent
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble

_ROWS_BYTE_LIMIT = 16 * 2**20
"""Of all memoized rows. Counting more rows is cheap compared with what is asked about them."""
_ATTRIBUTIONS_BYTE_LIMIT = 16 * 2**20
"""Of the memoized tables of all games."""
_COUNTED_LEAF_BYTES = 32
"""Size of a leaf in `CountedLeaves` of one feature."""


class Leaves:
    """Leaf boxes of an ensemble, and counts of rows in them; safe for threads.

    Boxes and descent are memoized as long as this lives, rows and tables of games in LRU caches.
    None of it depends on the ensemble's `matrix` and `offset`.

    Parameters
    ----------
    ensemble : Ensemble
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self._boxes: Boxes | None = None
        self._descent: Descent | None = None
        self._has_ends: Flags | None = None
        self._rows: LRUCache[str, CountedRows] = LRUCache(
            _ROWS_BYTE_LIMIT, lambda rows: rows.byte_count
        )
        self._attributions: LRUCache[Hashable, LeafAttributions] = LRUCache(
            _ATTRIBUTIONS_BYTE_LIMIT, lambda game: game.byte_count
        )
        self._lock = threading.Lock()

    def boxes(self, pool: BlockPool) -> Boxes:
        """Return the leaves with their conditions on all features."""
        if self._boxes is None:
            self._boxes = leaf_boxes(self.ensemble, pool)
        return self._boxes

    def descent(self) -> Descent:
        """Return the table by which rows descend."""
        if self._descent is None:
            self._descent = build_descent(self.ensemble)
        return self._descent

    def has_ends(self) -> Flags:
        """Return the features of which each node separates values at one end: (n_features,)."""
        if self._has_ends is None:
            self._has_ends = find_ends(self.ensemble, self.descent())
        return self._has_ends

    def attributions(self, key: Hashable, make: Callable[[], LeafAttributions]) -> LeafAttributions:
        """Return what is known of a game under a key, or make it; to be kept by `keep`."""
        with self._lock:
            known: LeafAttributions | None = self._attributions.get(key)
        return make() if known is None else known

    def keep(self, key: Hashable, attributions: LeafAttributions) -> None:
        """Keep the tables of a game for further rows, where they are small."""
        if attributions.byte_count <= _ATTRIBUTIONS_BYTE_LIMIT:
            with self._lock:
                self._attributions[key] = attributions

    def rows(self, background: Background) -> CountedRows:
        """Return the counts of a background, which requests on equal rows share."""
        made = CountedRows(self, len(background))
        if made.byte_count > _ROWS_BYTE_LIMIT:
            return made
        with self._lock:
            rows: CountedRows = self._rows.setdefault(background.digest, made)
        return rows


class CountedRows:
    """Rows of one background as cells of an ensemble, and their counts, each computed once.

    Parameters
    ----------
    leaves : Leaves
    row_count : int

    Attributes
    ----------
    byte_count : int
        Upper bound of the memory of all that is memoized here.
    """

    def __init__(self, leaves: Leaves, row_count: int) -> None:
        self._leaves = leaves
        self._ensemble = leaves.ensemble
        self._ranked: RankedRows | None = None
        self._sums: Matrix | None = None
        self._strategy: CountingStrategy | None = None
        self._mean: Vector | None = None
        self._counted: dict[tuple[int, ...], CountedLeaves] = {}
        self.byte_count = _byte_count(self._ensemble, row_count)

    def ranked(self, background: Background, pool: BlockPool) -> RankedRows:
        """Return the rows as cells."""
        if self._ranked is None:
            self._ranked = rank_rows(self._ensemble, background, pool)
        return self._ranked

    def descent(self) -> Descent:
        """Return the table by which rows descend."""
        return self._leaves.descent()

    def sums(
        self,
        background: Background,
        pool: BlockPool,
        advance: Callable[[int], None] = lambda _rows: None,
    ) -> Matrix:
        """Return the sums of the leaves that each row reaches: (n, n_targets).

        Parameters
        ----------
        advance : callable (int) -> None
            As of `sum_leaves`.
        """
        if self._sums is not None:
            advance(len(self._sums))
            return self._sums
        codes = self.ranked(background, pool).codes
        descent = self._leaves.descent()
        self._sums = sum_leaves(self._ensemble, codes, pool, advance, descent)
        return self._sums

    def strategy(self, background: Background, pool: BlockPool) -> CountingStrategy:
        """Return the counting strategy that is expected to be faster."""
        if self._strategy is None:
            self._strategy = self._choose(self.ranked(background, pool), pool)
        return self._strategy

    def _choose(self, ranked: RankedRows, pool: BlockPool) -> CountingStrategy:
        ensemble, leaves = self._ensemble, self._leaves
        if prefers_bitsets(ensemble, len(ranked)):
            return BitsetCounting(ensemble, leaves.boxes(pool), ranked)
        descent, has_ends = leaves.descent(), leaves.has_ends()
        return DescentCounting(ensemble, descent, has_ends, leaves.boxes, ranked)

    def mean(self, background: Background, pool: BlockPool) -> Vector | None:
        """Return the mean sum of leaves over the rows, or None: see `CountingStrategy`."""
        if self._mean is None:
            self._mean = self.strategy(background, pool).mean(pool)
        return self._mean

    def prepare(
        self, groups: Sequence[tuple[int, ...]], background: Background, pool: BlockPool
    ) -> Count:
        """Count for groups of features, as a `CountingStrategy` does; single ones are memoized."""
        missing = [group for group in groups if group not in self._counted]
        count = self.strategy(background, pool).prepare(missing, pool)

        def counted(group: tuple[int, ...]) -> CountedLeaves:
            if group in self._counted:
                return self._counted[group]
            found = count(group)
            if len(group) == 1:
                self._counted[group] = found
            return found

        return counted


def _byte_count(ensemble: Ensemble, row_count: int) -> int:
    features, leaves = len(ensemble.axes), len(ensemble.leaf)
    targets = int(ensemble.values.shape[1])
    row_bytes = 4 * features + 8 * (2 + targets)
    counted_bytes = _COUNTED_LEAF_BYTES * leaves * min(features, ensemble.depth)
    border_bytes = 16 * int(ensemble.first[-1])
    bits = bitset_bytes(ensemble, row_count) if prefers_bitsets(ensemble, row_count) else 0
    return row_count * row_bytes + counted_bytes + border_bytes + bits
