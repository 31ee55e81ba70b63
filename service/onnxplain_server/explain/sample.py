"""The table bound to the model, and the rows drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Indices, Vector
from onnxplain_server.effects.background import Background, keep, merge
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.groups import Group, split
from onnxplain_server.model import Model, Note
from onnxplain_server.rows import Features, bind
from onnxplain_server.table import Table, draw, listed, weights

_ROW_COUNT = 500
"""Rows where the cost grows with their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table and the rows of it that are used.

    Attributes
    ----------
    table : Table
    features, weights
        Of all its rows.
    drawn : (n_drawn,)
        Rows for methods whose cost grows with their square.
    asked_row_count : int or None
        As the question has it.
    seed : int
    """

    table: Table
    features: Features
    weights: Vector
    drawn: Indices
    asked_row_count: int | None
    seed: int

    def merged(self, rows: Indices) -> Background:
        """Take rows for averages over them: equal ones merged."""
        return merge(self.features.take(rows), self.weights[rows], rows)

    def each(self, rows: Indices) -> Background:
        """Take rows of which every one is wanted."""
        return keep(self.features.take(rows), self.weights[rows], rows)

    def draw(self, rows: Indices, most: int | None = None) -> Indices:
        """Draw from rows as many as asked for; by default `most`, or as many as are drawn."""
        count = self.asked_row_count or most or _ROW_COUNT
        return rows[draw(len(rows), count, self.seed)]

    def groups(self, column: str, group_count: int, path: str) -> tuple[Group, ...]:
        """Split all rows by a column, refusing a group of which no row weighs anything."""
        groups = split(self.table.column(column, path), group_count)
        for group in groups:
            if not self.weights[group.rows].any():
                raise ExplainError(
                    Reason.INVALID_WEIGHTS,
                    f"all rows with {column} {group.label} have weight 0; "
                    "a group must weigh something",
                    path,
                )
        return groups

    def notes(self) -> tuple[Note, ...]:
        """Say what of the table should temper the trust in the numbers."""
        notes = []
        if len(self.drawn) < self.table.n_rows:
            notes.append(_rows_drawn(len(self.drawn), self.table.n_rows, self.seed))
        columns = zip(self.features.names, self.features.columns, strict=True)
        constant = tuple(name for name, column in columns if len(np.unique(column)) == 1)
        if constant:
            message = f"Constant in this table, so nothing can be said of them: {listed(constant)}."
            notes.append(Note("CONSTANT_FEATURE", message))
        return tuple(notes)


def bind_and_draw(model: Model, table: Table, question: Question) -> Sample:
    """Find the model's columns in the table, and draw rows.

    Raises
    ------
    ExplainError
        EMPTY_TABLE, MISSING_COLUMN, WRONG_TYPE, INVALID_WEIGHTS and others of the table.
    """
    if table.n_rows < 2:
        raise ExplainError(
            Reason.EMPTY_TABLE,
            f"the table has {table.n_rows} rows; an explanation needs at least 2",
            "table",
        )
    if question.target_column:
        table.column(question.target_column, "target_column")
    others = (question.target_column, question.weight_column)
    features = bind(model.inputs, table, question.feature_columns, others)
    weighed = weights(table, question.weight_column)
    drawn = draw(table.n_rows, question.row_count or _ROW_COUNT, question.seed)
    if not weighed[drawn].any():
        raise ExplainError(
            Reason.INVALID_WEIGHTS,
            f"all {len(drawn)} rows drawn have weight 0 in column {question.weight_column!r}; "
            "raise row_count, or leave out rows of weight 0",
            "weight_column",
        )
    return Sample(table, features, weighed, drawn, question.row_count, question.seed)


def _rows_drawn(drawn: int, n_rows: int, seed: int) -> Note:
    return Note(
        "ROWS_DRAWN",
        f"{drawn:,} of {n_rows:,} rows were drawn (seed {seed}); other draws give somewhat "
        "other numbers, fewer of them with a higher row_count.",
    )
