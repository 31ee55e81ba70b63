"""Binding of a table's rows to a model's features, as data: what is read of each block, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.columns import NamedColumns
from onnxplain_server.core.model import Input
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.core.table import Table, row_weights
from onnxplain_server.effects.background import merge, unmerged
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.row_blocks import TableBlocks


@dataclass(frozen=True, slots=True)
class RowBinding:
    """Columns of a table that are a model's features and the rows' weights.

    Attributes
    ----------
    inputs : tuple of Input
        Of the model.
    feature_columns : tuple of str
        Of the request.
    target_columns : tuple of str
        Of the request.
    weight_column : str
        Of the request; empty where it names none.
    columns : tuple of str
        Columns that are read.
    unit : float
        Weights are divided by it: see `WeightedTable`.
    input_columns : tuple of (str, tuple of str)
        Of the request.
    expected_columns : tuple of str
        `expected_prediction_columns` of the request.
    cluster_column : str
        Of the request; empty where it names none.
    names : tuple of (str, str)
        Name in the table, and the model's name that stands for it here, for columns of an array.
    """

    inputs: tuple[Input, ...]
    feature_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    weight_column: str
    columns: tuple[str, ...]
    unit: float = 1.0
    input_columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    expected_columns: tuple[str, ...] = ()
    cluster_column: str = ""

    def tables(
        self, table: TableBlocks, first: int, last: int, columns: Sequence[str]
    ) -> Iterator[tuple[int, Table]]:
        """Read blocks of some columns; see `TableBlocks.read`."""
        own = {new: old for old, new in self.names}
        for row, block in table.read(first, last, [own.get(name, name) for name in columns]):
            yield row, block.named(dict(self.names))

    def read(
        self, table: TableBlocks, first: int, last: int, columns: tuple[str, ...] | None = None
    ) -> Iterator[RowBlock]:
        """Read blocks of features and weights; see `RowBlocks.read`."""
        names = tuple(dict.fromkeys((*self.columns, *(columns or ()))))
        for _, block in self.tables(table, first, last, names):
            weights = self.weights(block) / self.unit
            used = np.flatnonzero(weights)
            if not len(used):
                continue
            features = self.bind(_only(block, self.columns))
            source = block.as_sent(np.arange(block.n_rows))
            if columns is None:
                yield RowBlock(block.n_rows, merge(features, weights, source, self.unit))
            else:
                rows = unmerged(features.take(used), weights[used], source[used], self.unit)
                yield RowBlock(block.n_rows, rows, block.take(used))

    def weights(self, block: Table) -> Vector:
        """Return the case weights of a block, undivided: (n_rows,)."""
        return row_weights(block, self.weight_column)

    def bind(self, block: Table) -> Features:
        """Return the features of a block."""
        roles = (self.weight_column, self.cluster_column)
        others = (*self.target_columns, *roles, *self.expected_columns)
        by_input = self.input_columns
        return bind(
            self.inputs, block, self.feature_columns, others, is_part=True, input_columns=by_input
        )


def _only(block: Table, names: tuple[str, ...]) -> Table:
    """Keep some columns, as a model may take all columns that there are."""
    columns = NamedColumns({name: block.stored[name] for name in block.names if name in names})
    unreadable = {name: kind for name, kind in block.unreadable.items() if name in names}
    return replace(block, columns=columns, unreadable=unreadable)
