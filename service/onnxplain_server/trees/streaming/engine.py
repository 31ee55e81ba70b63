"""Streamed engine: passes over the blocks of a table, each the sum of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.attributing.games import Attributed, Game, Perturbation
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.attributing.attributions import LeafAttributions
from onnxplain_server.trees.attributing.failure_counts import SummedBackground
from onnxplain_server.trees.counting.pure_effects import evaluate_pure
from onnxplain_server.trees.counting.ranked_rows import cells_of
from onnxplain_server.trees.groups import parts_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.block_effects import AffineOutputs, BlockEffects
from onnxplain_server.trees.streaming.blocks import RowBlocks, S, Sums, add_up, task_ranges
from onnxplain_server.trees.streaming.counts import CountSums, Group, TreeCounts
from onnxplain_server.trees.streaming.failure_pass import (
    MOST_NUMBERS,
    FailurePass,
    ReachPass,
    WeightSums,
    layout_of,
)
from onnxplain_server.trees.streaming.memory import (
    PassSize,
    counts_at_once,
    needed_bytes,
    tasks_at_once,
)
from onnxplain_server.trees.streaming.passes import (
    CheckedOutputs,
    CountPass,
    EffectsPass,
    GroupCountPass,
    KeyedSums,
    Pass,
    RowGrouping,
    TreeSums,
)
from onnxplain_server.trees.streaming.tasks import Tasks, Threads


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
    trees : TreeSums
    tasks : Tasks
        Runs the tasks of passes: the threads of the pool, unless others are set.
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
        self.trees = TreeSums(ensemble, outputs)
        self._leaves = leaves
        self._pool = pool
        self._memory_bytes = memory_bytes
        self.tasks: Tasks = Threads(self.trees, leaves, rows, pool)

    def rounding_error(self) -> Vector:
        """Bound the rounding error of an effect: (n_outputs,), output unit."""
        return AVERAGING * magnitude(self.trees.ensemble)[self.outputs.selected]

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
        counts = counter.finish(cast("CountSums", self._fold(work, PassSize(len(groups)))))
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
        measure : EffectsMeasure
            Other processes compute it only where its class can be encoded.

        Raises
        ------
        ExplainError
            NON_FINITE_PREDICTION; those of the table and of cancellation.
        """
        work = EffectsPass(counts.sums, tuple(groups), measure)
        return cast("S", self._fold(work, PassSize(len(groups))))

    def sum(self, work: Pass) -> Sums:
        """Sum what a pass says over all rows; errors are those of the table and of cancellation."""
        return self._fold(work, PassSize(columns=len(work.columns or ())))

    def count_groups(
        self, groups: Sequence[Group], column: str, grouping: RowGrouping, count: int
    ) -> Iterator[tuple[int, TreeCounts]]:
        """Count as `count` does, in groups of rows; a pass counts as many as memory allows.

        Parameters
        ----------
        column : str
            Divides the rows into groups.
        count : int
            Number of the groups.

        Yields
        ------
        (int, TreeCounts)
            Number of a group that has rows, in ascending order, and its counts.
        """
        counter = CountPass(tuple(groups)).counter(self._leaves, self._pool)
        step = self._groups_at_once(count)
        for start in range(0, count, step):
            wanted = tuple(range(start, min(start + step, count)))
            work = GroupCountPass(tuple(groups), column, grouping, wanted)
            sums = cast("KeyedSums", self._fold(work, PassSize(len(groups), 1, len(wanted))))
            for number in sorted(sums.parts):
                yield number, counter.finish(sums.parts[number])

    def group_passes(self, count: int) -> int:
        """Return how many passes `count_groups` takes for so many groups of rows."""
        return -(-count // self._groups_at_once(count))

    def _groups_at_once(self, count: int) -> int:
        return counts_at_once(self.trees.ensemble, count, self._memory_bytes)

    def curve(self, counts: TreeCounts, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Compute effects at points, as `Effects.curve` does.

        Parameters
        ----------
        counts : TreeCounts
            Of a group of these features.
        """
        ensemble = self.trees.ensemble
        cells = {j: ensemble.codes(j, own) for j, own in zip(features, points, strict=True)}
        whole = np.broadcast_to(counts.mean, (len(points[0]), len(counts.mean)))
        for part in parts_of(tuple(cells)):
            whole = whole + evaluate_pure(ensemble, counts.of(part), [cells[j] for j in part])
        return self.outputs.whole(whole)

    def can_attribute(self, players: Sequence[Group], game: Game) -> bool:
        """Return whether attributions to these players need little memory, whatever the rows."""
        if game.perturbation is Perturbation.PATH_DEPENDENT:
            return True
        layout = layout_of(self.trees.ensemble, self._leaves, players, self._pool)
        return layout.has_tables and int(layout.start[-1]) <= MOST_NUMBERS

    def attribute(
        self, explained: Background, players: Sequence[Group], game: Game
    ) -> tuple[Attributed, Vector]:
        """Attribute predictions of rows against all rows of the table, in one pass.

        Parameters
        ----------
        explained : Background
            The rows, one by one.

        Returns
        -------
        attributed : Attributed
        base : (n_outputs,)
            Average prediction of all rows.

        Raises
        ------
        ExplainError
            EMPTY_TABLE; those of the table and of cancellation.
        """
        ensemble, outputs = self.trees.ensemble, self.outputs
        background, reached = self._summed_background(players, game)
        boxes = self._leaves.boxes(self._pool)
        parts = ensemble, self._leaves.descent(), boxes, background
        leaves = LeafAttributions(*parts, players, game)
        codes = cells_of(ensemble, explained, self._pool)
        attributed = leaves.attribute(codes, game.order, outputs.difference, self._pool)
        base = outputs.whole(reached[np.newaxis] @ boxes.values)[0]
        return attributed, base

    def _summed_background(
        self, players: Sequence[Group], game: Game
    ) -> tuple[SummedBackground, Vector]:
        """Sum what a game needs of all rows; return the shares that reach each leaf, too."""
        none = np.zeros(0)
        match game.perturbation:
            case Perturbation.INTERVENTIONAL:
                start = layout_of(self.trees.ensemble, self._leaves, players, self._pool).start
                size = PassSize(counts=0, numbers=int(start[-1]))
                sums = cast("WeightSums", self._fold(FailurePass(tuple(players)), size))
                shares = sums.shares
                # Rows that reach a leaf fail no player.
                return SummedBackground(shares, start, none, int(sums.rows[0])), shares[start[:-1]]
            case Perturbation.PATH_DEPENDENT:
                size = PassSize(counts=0, numbers=len(self.trees.ensemble.leaf))
                sums = cast("WeightSums", self._fold(ReachPass(), size))
                shares = sums.shares
                return SummedBackground(none, np.zeros(1, int), shares, int(sums.rows[0])), shares

    def pair_allowance(self) -> float:
        """Return 0: effects of pairs are kept for all passes, and the fewest fit any memory."""
        return 0.0

    def release(self, rows: int) -> None:
        """Release a plan of `rows` rows."""
        self._pool.ledger.release(rows)

    def _fold(self, work: Pass, size: PassSize) -> Sums:
        ensemble = self.trees.ensemble
        bytes_of_one = self.tasks.bytes_of_one(ensemble, size)
        at_once = tasks_at_once(ensemble, size, self._memory_bytes, bytes_of_one)
        if not at_once:
            needed = needed_bytes(ensemble, size, bytes_of_one)
            raise ExplainError(
                Reason.OUT_OF_MEMORY,
                f"memory_bytes is {self._memory_bytes:,}; streaming the table through this model's "
                f"trees needs {needed:,}",
                "table",
            )
        total = add_up(self.tasks.run(work, task_ranges(self.rows.row_count), at_once))
        if total is None:
            raise ExplainError(
                Reason.EMPTY_TABLE, "the table has no row of a weight above 0", "table"
            )
        return total
