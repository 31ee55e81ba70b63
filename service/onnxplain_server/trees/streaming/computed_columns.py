"""Passes over expressions of columns: each block's expressions take the place of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from onnxplain_server.core.columns import NamedColumns
from onnxplain_server.core.table import Table
from onnxplain_server.language import (
    ColumnValues,
    Expression,
    ValueKind,
    evaluate_stored,
    parse,
)
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.blocks import RowBlock, Sums
from onnxplain_server.trees.streaming.passes import Summed, TreeSums


class NamedPass(Protocol):
    """A pass over named columns."""

    @property
    def evaluations(self) -> int:
        """As of `Pass`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """As of `Pass`."""

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        """As of `Pass`."""


@dataclass(frozen=True, slots=True, eq=False)
class ComputedPass:
    """A pass whose columns are expressions over those of the table.

    Attributes
    ----------
    work : NamedPass
        Names its columns by the texts of the expressions.
    kinds : mapping of str to str
        Names of the columns of the table, and their kinds.
    paths : mapping of str to str
        Request field of each expression.
    """

    work: NamedPass
    kinds: Mapping[str, str]
    paths: Mapping[str, str]

    @property
    def evaluations(self) -> int:
        return self.work.evaluations

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for own in self._expressions() for name in own.columns))

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        summed, expressions = self.work.prepare(trees, leaves, pool), self._expressions()

        def computed(block: RowBlock, pool: BlockPool) -> Sums:
            return summed(replace(block, rows=compute_columns(block.rows, expressions)), pool)

        return computed

    def _expressions(self) -> list[Expression]:
        kinds = {name: ValueKind(kind) for name, kind in self.kinds.items()}
        return [parse(text, kinds, self.paths[text]) for text in self.work.columns]


def compute_columns(rows: Table, expressions: Sequence[Expression]) -> Table:
    """Return a table of expressions, by their texts."""
    values = ColumnValues(rows.columns)
    columns = {each.text: evaluate_stored(each, values) for each in expressions}
    return Table(NamedColumns(columns), rows.n_rows, sent_rows=rows.sent_rows)
