"""Counts of a pass over the rows: their weight in the boxes of leaves, with conditions lifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.trees.counting.bitset_counting import BitsetCounter
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.descent_counting import DescentCounter
from onnxplain_server.trees.counting.missed_conditions import MissedShares, count_missed
from onnxplain_server.trees.counting.ranked_rows import (
    RankedRows,
    build_bitsets,
    number_sets,
    rank_rows,
)
from onnxplain_server.trees.counting.strategies import CountedLeaves, prefers_bitsets
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

Group = tuple[int, ...]


@dataclass(slots=True, eq=False)
class CountSums:
    """Weights of the rows of some blocks.

    Attributes
    ----------
    weight : float
        Of all rows; sums of whole weights are exact.
    below : (n_borders,)
        Of the rows below each border.
    missed : MissedShares or None
        Of the rows that miss none, one or two conditions of each leaf: weights, not shares.
    lifted : dict of group to (n_leaves, 2 ** n_features)
        Of the rows that meet the conditions of each leaf, as `BitsetCounter.count` returns them;
        for groups that `missed` has not.
    sums : (n_targets,)
        Sums of leaves, times weights; 0 with `missed`, from which the mean follows.
    """

    weight: float
    below: Vector
    missed: MissedShares | None
    lifted: dict[Group, Matrix]
    sums: Vector

    def add(self, later: CountSums) -> None:
        """Add the weights of later rows."""
        self.weight += later.weight
        self.below += later.below
        self.sums += later.sums
        if self.missed is not None and later.missed is not None:
            self.missed.shares[:] += later.missed.shares
        for group, weights in later.lifted.items():
            self.lifted[group] += weights


class LeafCounter:
    """Counter of rows in the boxes of leaves, for one pass.

    Parameters
    ----------
    leaves : Leaves
    boxes : Boxes
        Of the leaves.
    groups : sequence of tuples of int
        Groups of features whose conditions are lifted.
    """

    def __init__(self, leaves: Leaves, boxes: Boxes, groups: Sequence[Group]) -> None:
        self._leaves = leaves
        self._ensemble = leaves.ensemble
        self._boxes = boxes
        self._groups = groups
        self._spreads = not prefers_bitsets(leaves.ensemble, BLOCK_ROWS)
        self._leaves.descent()  # before threads need it

    def count(self, background: Background, pool: BlockPool) -> CountSums:
        """Count the rows of one block."""
        ranked = rank_rows(self._ensemble, background, pool, total=1.0)
        small = [group for group in self._groups if len(group) < 3]
        missed = None if self._spreads else self._missed(ranked, small, pool)
        others = [group for group in self._groups if missed is None or not missed.has(group)]
        lifted = self._spread(ranked, others) if self._spreads else self._count(ranked, others)
        weight = float(background.weights.sum())
        sums = np.zeros(self._ensemble.values.shape[1])
        if missed is None:
            descent = self._leaves.descent()
            leaves = sum_leaves(self._ensemble, ranked.codes, pool, descent=descent)
            sums = weight * mean(leaves, background.weights)
        return CountSums(weight, ranked.below, missed, lifted, sums)

    def _missed(
        self, ranked: RankedRows, groups: Sequence[Group], pool: BlockPool
    ) -> MissedShares | None:
        features = range(len(ranked.codes))
        numbers = number_sets(self._ensemble, list(ranked.codes), features)
        return count_missed(self._boxes, numbers, ranked, groups, pool)

    def _count(self, ranked: RankedRows, groups: Sequence[Group]) -> dict[Group, Matrix]:
        if not groups:
            return {}
        bits = build_bitsets(self._ensemble, list(ranked.codes), range(len(ranked.codes)))
        counter = BitsetCounter(self._boxes, ranked, bits)
        return {group: counter.count(*self._boxes.with_all(group), None) for group in groups}

    def _spread(self, ranked: RankedRows, groups: Sequence[Group]) -> dict[Group, Matrix]:
        """Count as rows descend, for each group."""
        counter = DescentCounter(self._ensemble, self._leaves.descent(), self._boxes, ranked)
        lifted: dict[Group, Matrix] = {}
        for group in groups:
            leaves, conditions = self._boxes.with_all(group)
            reached, weights, _ = counter.count(group, leaves, conditions, with_others=False)
            lifted[group] = np.zeros((len(leaves), 1 << len(group)))
            lifted[group][reached] = weights
        return lifted

    def finish(self, sums: CountSums) -> TreeCounts:
        """Return the counts of all rows."""
        return TreeCounts(self._leaves, self._boxes, sums, spreads=self._spreads)


class TreeCounts:
    """Counts of all rows of a table.

    Parameters
    ----------
    leaves : Leaves
    boxes : Boxes
    sums : CountSums
    spreads : bool
        Whether rows were counted as they descended.

    Attributes
    ----------
    weight : float
        Of all rows.
    below : (n_borders,)
        Share of the rows below each border.
    mean : (n_targets,)
        Mean sum of leaves.
    sums : CountSums
    """

    def __init__(self, leaves: Leaves, boxes: Boxes, sums: CountSums, *, spreads: bool) -> None:
        self.leaves = leaves
        self.boxes = boxes
        self.spreads = spreads
        self.weight = sums.weight
        self.below = sums.below / sums.weight
        self.sums = sums
        self.mean = self._mean()

    def _mean(self) -> Vector:
        missed = self.sums.missed
        if missed is None:
            return self.sums.sums / self.weight
        shares = missed.reached() / self.weight
        reached = np.flatnonzero(shares)  # values of other leaves may be infinite
        total: Vector = shares[reached] @ self.boxes.values[reached]
        return total

    def of(self, group: Group) -> CountedLeaves:
        """Return the counts for one of the groups."""
        leaves, conditions = self.boxes.with_all(group)
        missed = self.sums.missed
        if missed is not None and missed.has(group):
            weights = missed.lifted(leaves, conditions)
        else:
            weights = self.sums.lifted[group]
        reached = np.flatnonzero(weights[:, -1]).astype(np.int32)
        leaves, conditions = leaves[reached], conditions[reached]
        return CountedLeaves(self.boxes, group, leaves, conditions, weights[reached] / self.weight)
