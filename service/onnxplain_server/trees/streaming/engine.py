"""Streamed engine: passes over the blocks of a table, each the sum of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.block_effects import AffineOutputs, BlockEffects
from onnxplain_server.trees.streaming.blocks import RowBlocks, S, Sums, add_up, task_ranges
from onnxplain_server.trees.streaming.counts import CountSums, Group, TreeCounts
from onnxplain_server.trees.streaming.memory import needed_bytes, tasks_at_once
from onnxplain_server.trees.streaming.passes import (
    CheckedOutputs,
    CountPass,
    EffectsPass,
    Pass,
    TreeSums,
)
from onnxplain_server.trees.streaming.tasks import Threads


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
        self._trees = TreeSums(ensemble, outputs)
        self._leaves = leaves
        self._pool = pool
        self._memory_bytes = memory_bytes
        self._tasks = Threads(self._trees, leaves, rows, pool)

    def rounding_error(self) -> Vector:
        """Bound the rounding error of an effect: (n_outputs,), output unit."""
        return AVERAGING * magnitude(self._trees.ensemble)[self.outputs.selected]

    def count(self, groups: Sequence[Group]) -> TreeCounts:
        """Count rows for groups of features and all parts of them, in one pass.

        Raises
        ------
        ExplainError
            EMPTY_TABLE where no row has a weight; NON_FINITE_PREDICTION; those of the table and
            of cancellation.
        """
        work = CountPass(tuple(groups))
        counter = work.counter(self._leaves, self._pool)
        counts = counter.finish(cast("CountSums", self._fold(work, len(groups))))
        if not np.isfinite(counts.mean).all():
            self.measure(counts, [], CheckedOutputs())  # names the rows
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
        measure : Measure
            Other processes compute it only where its class can be encoded.

        Raises
        ------
        ExplainError
            NON_FINITE_PREDICTION; those of the table and of cancellation.
        """
        work = EffectsPass(counts.sums, tuple(groups), measure)
        return cast("S", self._fold(work, len(groups)))

    def sum(self, work: Pass) -> Sums:
        """Sum what a pass says over all rows; errors are those of the table and of cancellation."""
        return self._fold(work, 0)

    def release(self, rows: int) -> None:
        """Release a plan of `rows` rows."""
        self._pool.ledger.release(rows)

    def _fold(self, work: Pass, group_count: int) -> Sums:
        at_once = tasks_at_once(self._trees.ensemble, group_count, self._memory_bytes)
        if not at_once:
            needed = needed_bytes(self._trees.ensemble, group_count)
            raise ExplainError(
                Reason.OUT_OF_MEMORY,
                f"memory_bytes is {self._memory_bytes:,}; streaming the table through this model's "
                f"trees needs {needed:,}",
                "table",
            )
        total = add_up(self._tasks.run(work, task_ranges(self.rows.row_count), at_once))
        if total is None:
            raise ExplainError(
                Reason.EMPTY_TABLE, "the table has no row of a weight above 0", "table"
            )
        return total
