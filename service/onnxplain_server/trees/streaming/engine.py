"""Streamed engine: passes over the blocks of a table, each a fold of pure tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.groups import parts_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.block_effects import AffineOutputs, BlockEffects
from onnxplain_server.trees.streaming.blocks import RowBlock, RowBlocks, S, fold
from onnxplain_server.trees.streaming.counts import CountSums, Group, LeafCounter, TreeCounts
from onnxplain_server.trees.streaming.memory import needed_bytes, tasks_at_once
from onnxplain_server.trees.streaming.pure_tables import PureTables


class StreamedTrees:
    """Effects of sums over trees on a table that is read block by block.

    Parameters
    ----------
    ensemble : Ensemble
    leaves : Leaves
        Of the ensemble, or of one that differs in `matrix` and `offset` only.
    rows : RowBlocks
    outputs : AffineOutputs
    pool : BlockPool
    memory_bytes : int
        Memory of the computation, which bounds the tasks that run at the same time.

    Attributes
    ----------
    rows, outputs
        As the parameters.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        leaves: Leaves,
        rows: RowBlocks,
        outputs: AffineOutputs,
        pool: BlockPool,
        memory_bytes: int,
    ) -> None:
        self.rows = rows
        self.outputs = outputs
        self._ensemble = ensemble
        self._leaves = leaves
        self._pool = pool
        self._memory_bytes = memory_bytes

    def rounding_error(self) -> Vector:
        """Bound the rounding error of an effect: (n_outputs,), output unit."""
        return AVERAGING * magnitude(self._ensemble)[self.outputs.selected]

    def count(self, groups: Sequence[Group]) -> TreeCounts:
        """Count rows for groups of features and all parts of them, in one pass.

        Raises
        ------
        ExplainError
            EMPTY_TABLE where no row has a weight; NON_FINITE_PREDICTION; those of the table and
            of cancellation.
        """
        counter = LeafCounter(self._leaves, self._leaves.boxes(self._pool), _all_parts(groups))

        def counted(block: RowBlock, pool: BlockPool) -> CountSums:
            self._pool.ledger.spend(block.row_count, 0)
            return counter.count(block.background, pool)

        counts = counter.finish(self._fold(counted, len(groups)))
        if not np.isfinite(counts.mean).all():
            self.measure(counts, [], _Checked)  # names the rows
        return counts

    def measure(
        self, counts: TreeCounts, groups: Sequence[Group], measure: Callable[[BlockEffects], S]
    ) -> S:
        """Sum what a measure makes of the effects at the rows of each block, in one pass.

        Parameters
        ----------
        counts : TreeCounts
            Of `groups`.
        groups : sequence of tuples of int
            Those that `measure` asks for.

        Raises
        ------
        ExplainError
            NON_FINITE_PREDICTION; those of the table and of cancellation.
        """
        tables = PureTables(self._ensemble, counts, _all_parts(groups))

        def measured(block: RowBlock, pool: BlockPool) -> S:
            self._pool.ledger.spend(block.row_count * len(groups), 0)
            rows = block.background
            effects = BlockEffects(self._ensemble, self.outputs, counts, tables, rows, pool)
            return measure(effects)

        return self._fold(measured, len(groups))

    def release(self, rows: int) -> None:
        """Release a plan of `rows` rows."""
        self._pool.ledger.release(rows)

    def _fold(self, summed: Callable[[RowBlock, BlockPool], S], group_count: int) -> S:
        at_once = tasks_at_once(self._ensemble, group_count, self._memory_bytes)
        if not at_once:
            needed = needed_bytes(self._ensemble, group_count)
            raise ExplainError(
                Reason.OUT_OF_MEMORY,
                f"memory_bytes is {self._memory_bytes:,}; streaming the table through this model's "
                f"trees needs {needed:,}",
                "table",
            )
        total = fold(self.rows, summed, self._pool, at_once)
        if total is None:
            raise ExplainError(
                Reason.EMPTY_TABLE, "the table has no row of a weight above 0", "table"
            )
        return total


class _Checked:
    """Sums of nothing: predictions that are checked."""

    def __init__(self, effects: BlockEffects) -> None:
        effects.outputs()

    def add(self, later: _Checked) -> None:
        """Add nothing."""


def _all_parts(groups: Sequence[Group]) -> list[Group]:
    """Return all groups of some of the features of a group, each once."""
    return list(dict.fromkeys(part for group in groups for part in parts_of(group)))
