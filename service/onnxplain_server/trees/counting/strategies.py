r"""Counting strategies: bitsets or descent, and the choice between them by estimated time.

Both count, for a group of features, the leaves with conditions on all of them and the shares
of rows with these conditions lifted; and for single features F_\j at the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix, Vector
from onnxplain_server.trees.counting.all_but_one import all_but_one_effects
from onnxplain_server.trees.counting.bitset_counting import BitsetCounter
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.descent_counting import DescentCounter
from onnxplain_server.trees.counting.descent_tables import DescentTables
from onnxplain_server.trees.counting.missed_conditions import MissedShares, count_missed
from onnxplain_server.trees.counting.ranked_rows import RankedRows, build_bitsets, number_sets
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array

_MAX_EFFECT_BYTES = 256 << 20
"""Size of the all-but-one effects that one pass computes."""
_MAX_BITSET_BYTES = 1 << 30
_PARALLEL_FEATURES = 8
"""Features of one parallel descent."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedLeaves:
    """Leaves with conditions on all of some features, and their shares of rows without these.

    Leaves without any row even then are left out.

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
        """Return leaf values times shares, with these conditions lifted (bits)."""
        product: Matrix = self.boxes.values[self.leaves] * self.shares[:, lifted, np.newaxis]
        return product


@dataclass(frozen=True, slots=True, eq=False)
class CountedFeature:
    r"""Counts for a single feature.

    Attributes
    ----------
    feature : int
    own : CountedLeaves, or (n, n_targets)
        Counts, or the pure effect at the rows.
    others : (n, n_targets)
        F_\j at the rows.
    """

    feature: int
    own: CountedLeaves | Matrix
    others: Matrix


Count = Callable[[tuple[int, ...]], CountedLeaves]
"""Counts for a group of features."""


class CountingStrategy(Protocol):
    """Strategy to count rows in boxes."""

    def prepare(self, groups: Sequence[tuple[int, ...]], pool: BlockPool) -> Count:
        """Count for all groups that one pass over the rows serves.

        Returns
        -------
        callable (group) -> CountedLeaves
            Counts for one of the groups, in the calling thread, which may be one of the pool.
        """

    def mean(self, pool: BlockPool) -> Vector | None:
        """Return the mean sum of leaves over the rows, (n_targets,); None: sum up each row."""

    def singles(self, features: Sequence[int], pool: BlockPool) -> Iterator[CountedFeature]:
        r"""Count for single features, and compute F_\j of each."""

    def sums_at_rows(self, group: tuple[int, ...]) -> bool:
        """Return whether `pure_at_rows` serves, which needs no counts."""

    def pure_at_rows(self, group: tuple[int, ...]) -> Matrix:
        """Compute a pure effect at the rows, in the calling thread: (n, n_targets)."""


class BitsetCounting:
    """Counts leaf by leaf with bitsets over rows: fastest for few leaves.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
        Of its leaves.
    ranked : RankedRows
    """

    def __init__(self, ensemble: Ensemble, boxes: Boxes, ranked: RankedRows) -> None:
        self._ensemble = ensemble
        self._boxes = boxes
        self._ranked = ranked
        self._features = range(len(ranked.codes))
        self._numbers = number_sets(ensemble, list(ranked.codes), self._features)

    def prepare(self, groups: Sequence[tuple[int, ...]], pool: BlockPool) -> Count:
        small = [group for group in groups if len(group) < 3]
        missed = None
        if small:
            missed = count_missed(self._boxes, self._numbers, self._ranked, small, pool)
        if len(small) < len(groups) or (small and missed is None):
            _ = self._counter  # before threads of the pool need it
        return lambda group: self._count(group, missed)

    def mean(self, pool: BlockPool) -> Vector | None:
        missed = count_missed(self._boxes, self._numbers, self._ranked, [], pool)
        if missed is None:
            return None
        shares = missed.reached()
        reached = np.flatnonzero(shares)  # values of other leaves may be infinite
        mean: Vector = shares[reached] @ self._boxes.values[reached]
        return mean

    def _count(self, group: tuple[int, ...], missed: MissedShares | None) -> CountedLeaves:
        leaves, conditions = self._boxes.with_all(group)
        if missed is not None and missed.has(group):
            shares = missed.lifted(leaves, conditions)
        else:
            shares = self._counter.count(leaves, conditions, None)
        reached = np.flatnonzero(shares[:, -1]).astype(np.int32)
        leaves, conditions = leaves[reached], conditions[reached]
        return CountedLeaves(self._boxes, group, leaves, conditions, shares[reached])

    def singles(self, features: Sequence[int], pool: BlockPool) -> Iterator[CountedFeature]:
        count = self.prepare([(j,) for j in features], pool)
        size = 8 * len(self._ranked) * self._boxes.values.shape[1]
        step = max(1, _MAX_EFFECT_BYTES // size)
        for start in range(0, len(features), step):
            part = features[start : start + step]
            effects = all_but_one_effects(self._boxes, self._ranked, self._numbers, part, pool)
            for j, others in zip(part, effects, strict=True):
                yield CountedFeature(j, count((j,)), others)

    def sums_at_rows(self, group: tuple[int, ...]) -> bool:  # noqa: ARG002 - of no group
        return False

    def pure_at_rows(self, group: tuple[int, ...]) -> Matrix:
        raise NotImplementedError(group)

    @cached_property
    def _counter(self) -> BitsetCounter:
        """Counter of groups that no pass serves."""
        bits = build_bitsets(self._ensemble, list(self._ranked.codes), self._features)
        return BitsetCounter(self._boxes, self._ranked, bits)


class DescentCounting:
    """Counts tree by tree as rows descend: fastest for very many leaves.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    has_ends : (n_features,)
        By `find_ends`.
    boxes : callable (BlockPool) -> Boxes
        Builds those of its leaves; called where tables do not serve.
    ranked : RankedRows
    """

    def __init__(
        self,
        ensemble: Ensemble,
        descent: Descent,
        has_ends: Flags,
        boxes: Callable[[BlockPool], Boxes],
        ranked: RankedRows,
    ) -> None:
        self._ensemble = ensemble
        self._descent = descent
        self._ranked = ranked
        self._build_boxes = boxes
        self._tables = DescentTables(ensemble, descent, ranked, has_ends)
        self._counter: DescentCounter | None = None

    def prepare(self, groups: Sequence[tuple[int, ...]], pool: BlockPool) -> Count:
        if groups and self._counter is None:
            boxes = self._build_boxes(pool)
            self._counter = DescentCounter(self._ensemble, self._descent, boxes, self._ranked)
        return lambda group: self._count(group, with_others=False)[0]

    def mean(self, pool: BlockPool) -> None:  # noqa: ARG002 - sums take one descent too
        return None

    def singles(self, features: Sequence[int], pool: BlockPool) -> Iterator[CountedFeature]:
        self.prepare([(j,) for j in features if not self.sums_at_rows((j,))], pool)
        for start in range(0, len(features), _PARALLEL_FEATURES):
            part = features[start : start + _PARALLEL_FEATURES]
            yield from pool.run(self._single, part)

    def _single(self, feature: int) -> CountedFeature:
        if self.sums_at_rows((feature,)):
            return CountedFeature(feature, *self._tables.single(feature))
        return CountedFeature(feature, *self._count((feature,), with_others=True))

    def sums_at_rows(self, group: tuple[int, ...]) -> bool:
        return self._tables.fits(group)

    def pure_at_rows(self, group: tuple[int, ...]) -> Matrix:
        if len(group) == 1:
            return self._tables.single(group[0])[0]
        return self._tables.pair((group[0], group[1]))

    def _count(
        self, features: tuple[int, ...], *, with_others: bool
    ) -> tuple[CountedLeaves, Matrix]:
        counter = self._counter
        assert counter is not None  # noqa: S101 - prepared
        leaves, conditions = counter.boxes.with_all(features)
        reached, shares, others = counter.count(
            features, leaves, conditions, with_others=with_others
        )
        leaves, conditions = leaves[reached], conditions[reached]
        return CountedLeaves(counter.boxes, features, leaves, conditions, shares), others


def prefers_bitsets(ensemble: Ensemble, row_count: int) -> bool:
    """Return whether bitsets are expected to be faster than descent, and fit into memory.

    The costs are nanoseconds, measured for single features with 300 to 1,000 trees of 31 to 3,200
    leaves: per leaf and word of 64 rows, and per condition; per row and level, and per leaf.
    """
    trees, leaves = len(ensemble.roots), len(ensemble.leaf)
    sizes = np.diff(ensemble.first)
    used = int(np.count_nonzero(sizes > 2))
    depth = 1 + np.log2(leaves / trees)
    words = -(-row_count // 64)
    bitset_cost = leaves * (100 * words + 190 * min(depth, used))
    descent_cost = used * (7 * row_count * trees * depth + 60 * leaves)
    fits = bitset_bytes(ensemble, row_count) <= _MAX_BITSET_BYTES
    return bool(bitset_cost <= descent_cost and fits)


def bitset_bytes(ensemble: Ensemble, row_count: int) -> int:
    """Bound the size of the bitsets of rows."""
    sizes = np.diff(ensemble.first)
    set_count = int(np.minimum(sizes, row_count + 1).sum())
    return 8 * set_count * -(-row_count // 64)
