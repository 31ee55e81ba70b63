r"""Two ways to count rows in boxes, and the choice between them.

Both give, for a group of features, the leaves with conditions on all of them and the shares
of rows with these conditions lifted; and for single features F_\j at the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.trees.counting.all_but_one import all_but_one_effects
from onnxplain_server.trees.counting.bitset_counting import BitsetCounter
from onnxplain_server.trees.counting.boxes import Boxes, leaf_boxes
from onnxplain_server.trees.counting.descent_counting import DescentCounter
from onnxplain_server.trees.counting.ranked_rows import RankedRows, build_bitsets
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array

_MOST_BYTES = 256 << 20
"""For the effects of all features but one that are computed in one pass."""
_MOST_BIT_BYTES = 1 << 30
"""For bitsets."""
_AT_ONCE = 8
"""Features whose rows are sent side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedLeaves:
    """Leaves with conditions on all of some features, and how many rows they hold without these.

    Those that hold none even then are left out.

    Attributes
    ----------
    boxes : Boxes
    features : tuple of int
    leaves : (n_leaves,)
    conditions : (n_leaves, n_features)
    shares : (n_leaves, 2 ** n_features)
        Share of the rows that meet all conditions but those whose bit is set in the column.
    """

    boxes: Boxes
    features: tuple[int, ...]
    leaves: Int32Array
    conditions: Int32Array
    shares: Matrix

    def coefficients(self, lifted: int) -> Matrix:
        """Values of the leaves times their shares, with these conditions lifted."""
        product: Matrix = self.boxes.values[self.leaves] * self.shares[:, lifted, np.newaxis]
        return product


class Leaves:
    """The leaves of an ensemble as boxes, once for all rows that are explained.

    Parameters
    ----------
    ensemble : Ensemble
    pool : BlockPool
    """

    def __init__(self, ensemble: Ensemble, pool: BlockPool) -> None:
        self.ensemble = ensemble
        self._pool = pool

    @cached_property
    def boxes(self) -> Boxes:
        """With the conditions on all features."""
        return leaf_boxes(self.ensemble, self._pool)


class CountingStrategy(Protocol):
    """A way to count."""

    def held(self, features: tuple[int, ...], pool: BlockPool | None) -> CountedLeaves:
        """Count for a group of features; without a pool, in the calling thread."""

    def singles(
        self, features: Sequence[int], pool: BlockPool
    ) -> Iterator[tuple[CountedLeaves, Matrix]]:
        r"""Count for single features, and give F_\j of each: (n, n_targets)."""


class BitsetCounting:
    """Leaf by leaf, with bitsets over rows: fastest while leaves are few.

    Parameters
    ----------
    leaves : Leaves
    ranked : RankedRows
    """

    def __init__(self, leaves: Leaves, ranked: RankedRows) -> None:
        self._boxes = leaves.boxes
        self._ranked = ranked
        self._bits = build_bitsets(leaves.ensemble, ranked.codes, range(len(ranked.codes)))
        self._counter = BitsetCounter(self._boxes, ranked, self._bits)

    def held(self, features: tuple[int, ...], pool: BlockPool | None) -> CountedLeaves:
        """See `CountingStrategy.held`."""
        leaves, conditions = self._boxes.holders(features)
        shares = self._counter.lifted(leaves, conditions, pool)
        reached = np.flatnonzero(shares[:, -1]).astype(np.int32)
        leaves, conditions = leaves[reached], conditions[reached]
        return CountedLeaves(self._boxes, features, leaves, conditions, shares[reached])

    def singles(
        self, features: Sequence[int], pool: BlockPool
    ) -> Iterator[tuple[CountedLeaves, Matrix]]:
        """See `CountingStrategy.singles`."""
        size = 8 * len(self._ranked) * self._boxes.values.shape[1]
        step = max(1, _MOST_BYTES // size)
        for start in range(0, len(features), step):
            part = features[start : start + step]
            found = all_but_one_effects(self._boxes, self._ranked, self._bits, part, pool)
            for j, matrix in zip(part, found, strict=True):
                yield self.held((j,), pool), matrix


class DescentCounting:
    """Tree by tree, by sending rows down: fastest for very many leaves.

    Parameters
    ----------
    leaves : Leaves
    ranked : RankedRows
    """

    def __init__(self, leaves: Leaves, ranked: RankedRows) -> None:
        self._boxes = leaves.boxes
        self._spreader = DescentCounter(leaves.ensemble, self._boxes, ranked)

    def held(self, features: tuple[int, ...], pool: BlockPool | None) -> CountedLeaves:  # noqa: ARG002 - sending is one block
        """See `CountingStrategy.held`."""
        return self._send(features, with_others=False)[0]

    def singles(
        self, features: Sequence[int], pool: BlockPool
    ) -> Iterator[tuple[CountedLeaves, Matrix]]:
        """See `CountingStrategy.singles`."""
        for start in range(0, len(features), _AT_ONCE):
            part = features[start : start + _AT_ONCE]
            yield from pool.run(lambda j: self._send((j,), with_others=True), part)

    def _send(
        self, features: tuple[int, ...], *, with_others: bool
    ) -> tuple[CountedLeaves, Matrix]:
        leaves, conditions = self._boxes.holders(features)
        reached, shares, found = self._spreader.lifted(
            features, leaves, conditions, with_others=with_others
        )
        leaves, conditions = leaves[reached], conditions[reached]
        return CountedLeaves(self._boxes, features, leaves, conditions, shares), found


def prefers_bitsets(ensemble: Ensemble, row_count: int) -> bool:
    """Whether counting leaf by leaf is expected to take less time than sending rows.

    In nanoseconds, as measured for single features with 300 to 1,000 trees of 31 to 3,200
    leaves: per leaf and word of 64 rows, and per condition; per row and level, and per leaf.
    """
    trees, leaves = len(ensemble.roots), len(ensemble.leaf)
    sizes = np.diff(ensemble.first)
    used = int(np.count_nonzero(sizes > 2))
    depth = 1 + np.log2(leaves / trees)
    words = -(-row_count // 64)
    counting = leaves * (100 * words + 190 * min(depth, used))
    spreading = used * (7 * row_count * trees * depth + 60 * leaves)
    set_count = int(np.minimum(sizes, row_count + 1).sum())
    return bool(counting <= spreading and 8 * set_count * words <= _MOST_BIT_BYTES)
