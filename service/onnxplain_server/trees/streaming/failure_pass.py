"""Passes of attributions: what values of any row need to know of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.trees.attributing.failure_counts import FailureLayout
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.leaf_visits import leaf_shares
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.counts import Group
from onnxplain_server.trees.streaming.passes import Summed, TreeSums

MOST_NUMBERS = 1 << 22
"""Most numbers of failures that are summed over blocks: 32 MiB for each sum that waits."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightSums:
    """Weights of rows by what they meet.

    Attributes
    ----------
    weights : (n_numbers,)
    rows : (2,)
        Number of the rows, of which equal ones of a block count once, and their weight.
    """

    weights: Vector
    rows: Vector

    def add(self, later: WeightSums) -> None:
        """Add the sums of later rows, in place."""
        np.add(self.weights, later.weights, out=self.weights)
        np.add(self.rows, later.rows, out=self.rows)

    @property
    def shares(self) -> Vector:
        """Shares of the weight of all rows: (n_numbers,)."""
        shares: Vector = self.weights / self.rows[1]
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class FailurePass:
    """Weights of the rows by the players of each leaf that they fail, as `FailureLayout` has them.

    Attributes
    ----------
    players : tuple of tuples of int
        Features of each player. Each feature is in exactly one.
    """

    players: tuple[Group, ...]

    @property
    def evaluations(self) -> int:
        return 1

    @property
    def columns(self) -> None:
        return None

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        layout = layout_of(trees.ensemble, leaves, self.players, pool)

        def counted(block: RowBlock, pool: BlockPool) -> WeightSums:
            ranked = rank_rows(trees.ensemble, block.background, pool, total=1.0)
            failures = layout.count(ranked.codes, ranked.shares, pool)
            return WeightSums(failures, np.array([len(ranked), ranked.shares.sum()]))

        return counted


@dataclass(frozen=True, slots=True, eq=False)
class ReachPass:
    """Weights of the rows that reach each leaf."""

    @property
    def evaluations(self) -> int:
        return 1

    @property
    def columns(self) -> None:
        return None

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        descent = leaves.descent()

        def counted(block: RowBlock, pool: BlockPool) -> WeightSums:
            ranked = rank_rows(trees.ensemble, block.background, pool, total=1.0)
            reached = leaf_shares(descent, ranked.codes, ranked.shares)
            return WeightSums(reached, np.array([len(ranked), ranked.shares.sum()]))

        return counted


def layout_of(
    ensemble: Ensemble, leaves: Leaves, players: Sequence[Group], pool: BlockPool
) -> FailureLayout:
    """Lay out the failures of an ensemble's leaves."""
    return FailureLayout.of(ensemble, leaves.descent(), leaves.boxes(pool), players)


CLASSES: tuple[type, ...] = (FailurePass, ReachPass, WeightSums)
