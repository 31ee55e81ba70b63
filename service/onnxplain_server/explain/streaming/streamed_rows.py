"""A table that is read block by block, bound to a model: what is known of all rows, and a sample.

Methods that are not streamed are computed on the sample, as if it were the table; their answers
tell the rows used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector
from onnxplain_server.core.binding.text_columns import text_columns
from onnxplain_server.core.columns import NamedColumns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import HasInputs, Note
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features, is_missing, no_value
from onnxplain_server.core.table import Table
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.binding.model_names import model_names
from onnxplain_server.explain.binding.weighted_table import unit_of
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import RowsUsed, check_row_count
from onnxplain_server.explain.streaming.row_binding import RowBinding
from onnxplain_server.methods.registry import method_of
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, LargeTable, whole_bytes

SAMPLED_ROWS = BLOCK_ROWS
"""Rows of the sample for methods that are not streamed."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Survey of a table, by a first pass.

    Attributes
    ----------
    used_count : int
        Rows of weight above 0.
    weight, smallest_weight, largest_weight : float
        Sum of the case weights, the smallest one above 0, and the largest.
    sample : Table
        Rows drawn uniformly, with all columns, in their order.
    """

    used_count: int
    weight: float
    smallest_weight: float
    largest_weight: float
    sample: Table


class StreamedRows:
    """Implements `RowBlocks` on a table, for a model and a question.

    Parameters
    ----------
    given : LargeTable
    model : HasInputs
    question : Question

    Raises
    ------
    ExplainError
        Those of a table in memory; INVALID_OPTION for methods that explain rows by their number.

    Attributes
    ----------
    row_count : int
        Rows of the table.
    memory_bytes : int
    table : TableBlocks
    remote : RemoteTable or None
    binding : RowBinding
    survey : Survey
    """

    def __init__(self, given: LargeTable, model: HasInputs, question: Question) -> None:
        _refuse_row_indices(question)
        others = question.non_features
        asked = (given.blocks.names, question.feature_columns, others, question.input_columns)
        table = given.blocks.with_texts(text_columns(model.inputs, *asked))
        self.row_count = table.row_count
        self.memory_bytes = given.memory_bytes
        self.remote = given.remote
        self.table = table
        self._question = question
        names = model_names(table.names, question, model)
        self.binding = RowBinding(
            tuple(model.inputs),
            question.feature_columns,
            question.targets,
            question.weight_column,
            tuple(names.get(name, name) for name in table.names),
            input_columns=question.input_columns,
            names=tuple(names.items()),
            expected_columns=question.expected_prediction_columns,
            cluster_column=question.cluster_column,
        )
        self.survey = self._survey()

    def read(
        self, first: int, last: int, columns: tuple[str, ...] | None = None
    ) -> Iterator[RowBlock]:
        """Read blocks of features and weights; see `RowBlocks.read`."""
        return self.binding.read(self.table, first, last, columns)

    @property
    def unit(self) -> float:
        """Case weight that a weight of 1 in a block stands for."""
        return self.binding.unit

    def used(self) -> RowsUsed:
        """Count the rows, for methods that use all of them."""
        survey = self.survey
        return RowsUsed(survey.used_count, survey.used_count, survey.weight, self._question.seed)

    def note(self) -> Note:
        """Return the warning that tells which rows methods use."""
        whole = whole_bytes(self.table)
        cause = (
            f"would need about {whole:,} bytes, more than memory_bytes = {self.memory_bytes:,}."
            if whole > self.memory_bytes
            else "is read in blocks, as it is for workers of a cluster."
        )
        message = (
            f"The table has {self.row_count:,} rows and {cause} "
            "What is exact in blocks (interactions, partial dependence, average loss, FIRM and the "
            "background of attributions, of sums over trees) uses all rows; everything else, also "
            "what is said of constant columns, rests on at most "
            f"{self.survey.sample.n_rows:,} rows drawn from them. The rows of each explanation "
            "tell how many."
        )
        return Note(InputWarning.TABLE_STREAMED, message)

    def _survey(self) -> Survey:
        """Read all rows once; raise what a table in memory would."""
        drawn = _drawn(self.row_count, self._question.seed)
        tally, parts = _Tally(), []
        binding = self.binding
        last = -(-self.row_count // BLOCK_ROWS)
        for row, table in binding.tables(self.table, 0, last, binding.columns):
            tally.add(binding.weights(table), binding.bind(table))
            parts.append(table.take(drawn[(drawn >= row) & (drawn < row + table.n_rows)] - row))
        tally.check(self.row_count)
        columns = tuple(filter(None, (*tally.names, self._question.weight_column)))
        self.binding = replace(binding, columns=columns, unit=unit_of(tally.largest))
        return Survey(tally.used_count, tally.weight, tally.smallest, tally.largest, _joined(parts))


class _Tally:
    """Sums of a survey over blocks."""

    def __init__(self) -> None:
        self.used_count = 0
        self.weight = 0.0
        self.smallest, self.largest = np.inf, 0.0
        self.names: tuple[str, ...] = ()
        self._has_value: set[str] = set()

    def add(self, weights: Vector, features: Features) -> None:
        self.names = features.names
        self.used_count += int(np.count_nonzero(weights))
        self.weight += float(weights.sum())
        self.smallest = min(self.smallest, float(weights[weights > 0].min(initial=np.inf)))
        self.largest = max(self.largest, float(weights.max()))
        for name, column in zip(features.names, features.stored, strict=True):
            if not is_missing(column[weights > 0]).all():
                self._has_value.add(name)

    def check(self, row_count: int) -> None:
        """Raise where rows or values are too few."""
        check_row_count(self.used_count, row_count)
        for name in self.names:
            if name not in self._has_value:
                raise no_value(name, self.used_count)


def _drawn(row_count: int, seed: int) -> Indices:
    """Draw the rows of the sample, in memory for a block and the sample: (n,), ascending."""
    drawn = np.arange(0)
    for first in range(0, row_count, BLOCK_ROWS):
        candidates = np.r_[drawn, first : min(first + BLOCK_ROWS, row_count)]
        drawn = candidates[draw(candidates, SAMPLED_ROWS, seed)]
    return drawn


def _joined(parts: Sequence[Table]) -> Table:
    """Put tables with the same columns one below the other; what one cannot read, none can."""
    unreadable = {name: kind for part in parts for name, kind in part.unreadable.items()}
    columns = {
        name: np.concatenate([part.stored[name] for part in parts])
        for name in parts[0].names
        if name not in unreadable
    }
    rows = np.concatenate([part.as_sent(np.arange(part.n_rows)) for part in parts])
    return replace(
        parts[0],
        columns=NamedColumns(columns),
        n_rows=len(rows),
        unreadable=unreadable,
        sent_rows=rows,
    )


def _refuse_row_indices(question: Question) -> None:
    for options in question.methods:
        if method_of(options).row_indices(options):
            raise ExplainError(
                Reason.INVALID_OPTION,
                "row_indices cannot be asked of a table that is read in blocks, as too large for "
                "memory_bytes; raise memory_bytes, or send these rows as a table of their own",
                "methods",
            )
