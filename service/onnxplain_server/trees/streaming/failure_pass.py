"""Passes of attributions: what values of any row need to know of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Int32Matrix, Vector
from onnxplain_server.trees.attributing.failure_counts import FailureLayout
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.leaf_visits import leaf_shares
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.counts import Group
from onnxplain_server.trees.streaming.passes import FeaturePass, Summed, TreeSums

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
class FailurePass(FeaturePass):
    """Weights of the rows by the players of each leaf that they fail, as `FailureLayout` has them.

    Attributes
    ----------
    players : tuple of tuples of int
        Features of each player. Each feature is in exactly one.
    """

    players: tuple[Group, ...]

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        return _weighing(trees, layout_of(trees.ensemble, leaves, self.players, pool).count)


@dataclass(frozen=True, slots=True, eq=False)
class ReachPass(FeaturePass):
    """Weights of the rows that reach each leaf."""

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        descent = leaves.descent()
        return _weighing(trees, lambda codes, weights, _pool: leaf_shares(descent, codes, weights))


def _weighing(trees: TreeSums, count: Callable[[Int32Matrix, Vector, BlockPool], Vector]) -> Summed:
    """Return what sums the weights that a function finds for rows, given by cells and weights."""

    def weighed(block: RowBlock, pool: BlockPool) -> WeightSums:
        rows = rank_rows(trees.ensemble, block.background, pool, total=1.0)
        counted = count(rows.codes, rows.shares, pool)
        return WeightSums(counted, np.array([len(rows), rows.shares.sum()]))

    return weighed


def layout_of(
    ensemble: Ensemble, leaves: Leaves, players: Sequence[Group], pool: BlockPool
) -> FailureLayout:
    """Lay out the failures of an ensemble's leaves."""
    return FailureLayout.of(ensemble, leaves.descent(), leaves.boxes(pool), players)


CLASSES: tuple[type, ...] = (FailurePass, ReachPass, WeightSums)
