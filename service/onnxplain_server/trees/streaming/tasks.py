"""Runners of the tasks of a pass: here, the threads of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.blocks import CallingThread, RowBlocks, Sums
from onnxplain_server.trees.streaming.memory import PassSize, task_bytes
from onnxplain_server.trees.streaming.passes import Pass, TreeSums, run_task
from onnxplain_server.trees.streaming.workers import Range

_MAX_THREADED = 8
"""Tasks that run or wait in this process."""


class Tasks(Protocol):
    """Runs the tasks of passes over one table with one model."""

    def bytes_of_one(self, ensemble: Ensemble, size: PassSize) -> int:
        """Bound the memory of this process for a task of a pass that runs or waits."""

    def run(self, work: Pass, ranges: Sequence[Range], at_once: int) -> Iterator[Sums | None]:
        """Yield the sums of tasks, in their order.

        Parameters
        ----------
        at_once : int
            Tasks that run or wait.

        Raises
        ------
        ExplainError
            Those of the table, the predictions and of cancellation.
        """


class Threads:
    """Implements `Tasks` by the threads of this process.

    Parameters
    ----------
    trees : TreeSums
    leaves : Leaves
        As `Pass.prepare` takes them.
    rows : RowBlocks
    pool : BlockPool
    """

    def __init__(self, trees: TreeSums, leaves: Leaves, rows: RowBlocks, pool: BlockPool) -> None:
        self._trees = trees
        self._leaves = leaves
        self._rows = rows
        self._pool = pool

    def bytes_of_one(self, ensemble: Ensemble, size: PassSize) -> int:
        return task_bytes(ensemble, size)

    def run(self, work: Pass, ranges: Sequence[Range], at_once: int) -> Iterator[Sums | None]:
        """Yield the sums of tasks; see `Tasks.run`."""
        pool, ledger = self._pool, self._pool.ledger
        summed = work.prepare(self._trees, self._leaves, pool)
        alone = BlockPool(CallingThread(), ledger)

        def advance(row_count: int) -> None:
            ledger.spend(row_count * work.evaluations, 0)

        def run(task: Range) -> Sums | None:
            return run_task(summed, self._rows.read(*task, work.columns), alone, advance)

        return pool.stream(run, ranges, min(at_once, _MAX_THREADED))
