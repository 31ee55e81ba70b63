r"""Missed conditions: the shares of rows that miss none, one or two conditions of each leaf.

    C[F minus A] = Σ over B in A of (share of rows that miss the leaf's conditions on B, no others)

so for all groups of one and two features one pass over the rows is enough. A thread holds the
bitsets of a few thousand rows; condition by condition it divides the rows of a leaf into those
that have missed none, each one, and each two. Rows that have missed more are of no use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from onnxplain_server.core.arrays import Indices, Int32Matrix, Int32Vector, Matrix, Vector
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.missed_kernel import MissPlan, WeighedRows, count_misses
from onnxplain_server.trees.counting.ranked_rows import RankedRows, SetNumbers
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks

_MAX_SCRATCH_WORDS = 1 << 18
"""Of a thread's bitsets, so that they fit into the second-level cache."""
_MIN_WORDS, _MAX_WORDS = 8, 64
"""Of one bitset, each of 64 rows."""
_TASKS = 8
"""Blocks of one pass: of rows, or also of leaves where the rows are few."""
_MAX_COUNTS = 1 << 23
"""Counts of one pass, over all blocks of rows: 64 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class MissedLayout:
    """Positions of counts.

    Attributes
    ----------
    groups : set of tuples of int
        Groups of one and two features for which rows are counted.
    entry : (n_leaves + 1,)
        As in `MissPlan`.
    place : (n_conditions,)
        Position of a condition among those of its leaf that are counted when missed, or -1.
    width : (n_leaves,)
        Number of these.
    """

    groups: frozenset[tuple[int, ...]]
    entry: Indices
    place: Int32Vector
    width: Int32Vector

    def pair_entries(self, leaves: Int32Vector, conditions: Int32Matrix) -> Indices:
        """Return the positions of the counts of two missed conditions: (n_leaves,)."""
        places = self.place[conditions].astype(np.intp)
        low, high = places.min(axis=1), places.max(axis=1)
        found: Indices = self.entry[leaves] + 1 + self.width[leaves] + high * (high - 1) // 2 + low
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MissedShares:
    """Shares of rows by the conditions of a leaf that they miss.

    Attributes
    ----------
    layout : MissedLayout
    shares : (n_counts,)
    """

    layout: MissedLayout
    shares: Vector

    def has(self, group: tuple[int, ...]) -> bool:
        """Return whether rows were counted for a group."""
        return group in self.layout.groups

    def reached(self) -> Vector:
        """Return the share of the rows that reach each leaf: (n_leaves,)."""
        return self.shares[self.layout.entry[:-1]]

    def lifted(self, leaves: Int32Vector, conditions: Int32Matrix) -> Matrix:
        """Return the shares of rows with one or two conditions of each leaf lifted.

        Parameters
        ----------
        leaves : (n_leaves,)
        conditions : (n_leaves, n_lifted)

        Returns
        -------
        (n_leaves, 2 ** n_lifted)
            As `BitsetCounter.count` returns them.
        """
        entry = self.layout.entry[leaves]
        none = self.shares[entry]
        ones = [self.shares[entry + 1 + own] for own in self.layout.place[conditions].T]
        lifted = [none, *(none + one for one in ones)]
        if len(ones) == 2:
            two = self.shares[self.layout.pair_entries(leaves, conditions)]
            lifted.append(none + ones[0] + ones[1] + two)
        return np.stack(lifted, axis=1)


def count_missed(
    boxes: Boxes,
    numbers: SetNumbers,
    ranked: RankedRows,
    groups: Iterable[tuple[int, ...]],
    pool: BlockPool,
) -> MissedShares | None:
    """Count the rows that miss no condition of each leaf, or those on a group at the most.

    Parameters
    ----------
    groups : iterable of tuples of int
        Of one or two features.

    Returns
    -------
    MissedShares or None
        None where the counts would take too much memory.
    """
    layout = _layout(boxes, frozenset(groups))
    n_counts, n_leaves = int(layout.entry[-1]), len(layout.width)
    size = int(np.clip(_MAX_SCRATCH_WORDS // numbers.start[-1], _MIN_WORDS, _MAX_WORDS))
    size = min(size, -(-len(ranked) // 64))
    copies = min(_TASKS, -(-len(ranked) // (64 * size)), _MAX_COUNTS // n_counts)
    if copies < 1:
        return None
    plan = _plan(boxes, numbers, layout)
    planes = ranked.planes.reshape(len(ranked.planes), np.prod(ranked.planes.shape[1:]))
    rows = WeighedRows(ranked.codes, numbers.position, numbers.start, planes, ranked.shares)
    leaf_blocks = blocks(n_leaves, -(-n_leaves // (_TASKS // copies)))
    row_blocks = blocks(len(ranked), 64 * size * -(-len(ranked) // (64 * size * copies)))
    counts = np.zeros((len(row_blocks), n_counts))

    def count(block: tuple[int, tuple[int, int]]) -> None:
        copy, leaves = block
        count_misses(*leaves, *row_blocks[copy], size, plan, rows, counts[copy])

    pool.run(count, product(range(len(row_blocks)), leaf_blocks))
    unit = ranked.unit if len(planes) else 1.0
    return MissedShares(layout, unit * counts.sum(axis=0))


def _layout(boxes: Boxes, groups: frozenset[tuple[int, ...]]) -> MissedLayout:
    """Number the counts of all leaves."""
    is_wanted = np.zeros(len(boxes.feature_start) - 1, np.bool_)
    is_wanted[[j for group in groups for j in group]] = True
    wanted = is_wanted[boxes.feature]
    before = np.append(0, np.cumsum(wanted, dtype=np.int32))
    first = before[boxes.start]
    width = np.diff(first)
    place = np.where(wanted, before[:-1] - first[boxes.leaf], -1).astype(np.int32)
    entry = np.append(0, np.cumsum(1 + width.astype(np.intp) * (width + 1) // 2))
    return MissedLayout(groups, entry, place, width)


def _plan(boxes: Boxes, numbers: SetNumbers, layout: MissedLayout) -> MissPlan:
    """Order the conditions of each leaf."""
    start, leaf, place = boxes.start, boxes.leaf, layout.place
    split = start[1:] - layout.width
    skipped = np.append(0, np.cumsum(place < 0))
    others = start[leaf] + skipped[:-1] - skipped[start[leaf]]
    order = np.empty(len(leaf), np.int32)
    order[np.where(place < 0, others, split[leaf] + place)] = np.arange(len(leaf))
    is_counted = np.zeros(layout.entry[-1], np.bool_)
    for group in layout.groups:
        if len(group) == 2:
            is_counted[layout.pair_entries(*boxes.with_all(group))] = True
    sets, width = numbers.to_positions(boxes.met), int(np.diff(layout.entry).max(initial=1))
    return MissPlan(start, split.astype(np.int32), order, layout.entry, is_counted, sets, width)
