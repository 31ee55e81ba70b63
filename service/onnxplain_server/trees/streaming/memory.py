"""Memory of streaming: what a task holds, and what is kept between passes; estimates in bytes."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

_NUMBER = 8
_COLUMN_COPIES = 5
"""Of a block's columns: as in the file, as values, in the model's type, as cells, merged."""
_COUNT_COPIES = 9
"""Of the counts in a task: by parts of the rows, and their sum."""
_SUM_COPIES = 3
"""Of further numbers in a task: of a block, and of the blocks before."""
_MAX_TABLE_BYTES = 8 << 20
"""Of a table of pure effects."""


@dataclass(frozen=True, slots=True)
class PassSize:
    """Size of a pass beside the trees, on which its memory depends.

    Attributes
    ----------
    groups : int
        Groups of features that it tabulates.
    columns : int
        Columns that it reads beside the features.
    counts : int
        Counts of all leaves that it makes.
    numbers : int
        Further numbers of its sums.
    """

    groups: int = 0
    columns: int = 0
    counts: int = 1
    numbers: int = 0


def task_bytes(ensemble: Ensemble, size: PassSize) -> int:
    """Estimate what one task holds while it runs."""
    features, targets = len(ensemble.axes), int(ensemble.values.shape[1])
    numbers = _COLUMN_COPIES * (features + size.columns) + (4 * features + 8) * targets
    counts = _COUNT_COPIES * size.counts * counts_bytes(ensemble)
    return _NUMBER * (BLOCK_ROWS * numbers + _SUM_COPIES * size.numbers) + counts


def counts_bytes(ensemble: Ensemble) -> int:
    """Bound the counts of leaves for all groups of one and two features."""
    conditions = min(len(ensemble.axes), ensemble.depth)
    per_leaf = 1 + conditions * (conditions + 1) // 2
    return _NUMBER * (len(ensemble.leaf) * per_leaf + int(ensemble.first[-1]))


def kept_bytes(ensemble: Ensemble, size: PassSize) -> int:
    """Bound what is kept between passes: counts, and a table for each group of features."""
    counts = 3 * size.counts * counts_bytes(ensemble)
    return counts + size.groups * _MAX_TABLE_BYTES + _NUMBER * size.numbers


def reply_bytes(ensemble: Ensemble, size: PassSize) -> int:
    """Bound what the sums of a task hold that another process computes: as bytes, and decoded."""
    return 2 * (size.counts * counts_bytes(ensemble) + _NUMBER * size.numbers)


def tasks_at_once(ensemble: Ensemble, size: PassSize, memory_bytes: int, bytes_of_one: int) -> int:
    """Return how many tasks may run or wait within `memory_bytes`; 0 where not even one.

    Parameters
    ----------
    bytes_of_one : int
        `task_bytes` or `reply_bytes`.
    """
    return max(0, (memory_bytes - kept_bytes(ensemble, size)) // bytes_of_one)


def needed_bytes(ensemble: Ensemble, size: PassSize, bytes_of_one: int) -> int:
    """Return the least `memory_bytes` with which one task can run."""
    return kept_bytes(ensemble, size) + bytes_of_one


def counts_at_once(ensemble: Ensemble, wanted: int, memory_bytes: int) -> int:
    """Return how many of the counts wanted one pass may make, with two tasks; at least one."""
    first = 2 * task_bytes(ensemble, PassSize(counts=0))
    each = (3 + 2 * _COUNT_COPIES) * counts_bytes(ensemble)
    return max(1, min(wanted, (memory_bytes - first) // each))
