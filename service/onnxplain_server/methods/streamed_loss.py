"""Average loss on a table that is read block by block: one pass, which averages losses by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.table import Table
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import Comparison, RowContext
from onnxplain_server.methods.groups import Grouping, rows_by_group
from onnxplain_server.methods.loss_notes import are_floored
from onnxplain_server.methods.target import complete_column
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.passes import KeyedSums, Summed, TreeSums, predicting

ONE_GROUP = Grouping(("",), np.zeros(0), np.zeros(0, np.intp), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class TargetReader:
    """True values of the rows of a block.

    Attributes
    ----------
    names : tuple of str
        Columns with the true values: one, or one per output.
    field : str
        Request field that names them.
    output_count : int
    levels : (n_levels,)
        Class labels, ascending; empty for a target of numbers.
    indicators : (n_levels, n_outputs)
        1 where a label is an output's class, otherwise 0.
    """

    names: tuple[str, ...]
    field: str
    output_count: int
    levels: Array
    indicators: Matrix

    def read(self, rows: Table) -> Matrix:
        """Return the true values: (n_rows, n_outputs); INVALID_TABLE where one is missing."""
        columns = [complete_column(rows, name, self.field) for name in self.names]
        if not len(self.levels):
            return np.broadcast_to(np.stack(columns, axis=1), (rows.n_rows, self.output_count))
        labels, inverse = np.unique(columns[0], return_inverse=True)
        found: Matrix = self.indicators[np.searchsorted(self.levels, labels)[inverse]]
        return found


@dataclass(slots=True, eq=False)
class LossSums:
    """Average loss of some rows, which those of later rows are added to.

    Attributes
    ----------
    weight : float
    average : (n_columns,)
    floored_rows, rows : float
        Rows whose log loss is that of the floor, and all; none of weight 0.
    """

    weight: float
    average: Vector
    floored_rows: float
    rows: float

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        actual: Matrix,
        predicted: Matrix,
        weights: Vector,
        beside: RowContext | None = None,
    ) -> LossSums:
        """Average over rows, not all of weight 0; later rows cannot be added to a score."""
        average = comparison.average(actual, predicted, weights, beside)
        is_weighted = weights > 0
        floored = are_floored(comparison, actual, predicted) & is_weighted
        counts = float(np.count_nonzero(floored)), float(np.count_nonzero(is_weighted))
        return cls(float(weights.sum()), average, *counts)

    def add(self, later: LossSums) -> None:
        """Add later rows."""
        weights = np.array([self.weight, later.weight])
        self.average = mean(np.stack([self.average, later.average]), weights)
        self.weight += later.weight
        self.floored_rows += later.floored_rows
        self.rows += later.rows


@dataclass(frozen=True, slots=True, eq=False)
class LossPass:
    """Losses of all rows: sums are `KeyedSums` of `LossSums`, by group.

    Attributes
    ----------
    target : TargetReader
    comparison : Comparison
        Resolved, by a loss that is an average over rows.
    group_column : str
        Empty if rows are not grouped.
    grouping : Grouping
        `ONE_GROUP` if rows are not grouped.
    """

    target: TargetReader
    comparison: Comparison
    group_column: str
    grouping: Grouping

    @property
    def evaluations(self) -> int:
        return 1

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(filter(None, (*self.target.names, self.group_column)))

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        predict = predicting(trees, leaves)
        return lambda block, pool: self._sum(block, predict(block, pool))

    def _sum(self, block: RowBlock, predicted: Matrix) -> KeyedSums:
        actual, weights = self.target.read(block.rows), block.background.weights
        return KeyedSums(
            {
                group: LossSums.of(self.comparison, actual[own], predicted[own], weights[own])
                for group, own in enumerate(self._rows(block.rows))
                if len(own)
            }
        )

    def _rows(self, rows: Table) -> list[Indices]:
        """Return the rows of each group."""
        if not self.group_column:
            return [np.arange(rows.n_rows)]
        return rows_by_group(self.grouping, rows.column(self.group_column))
