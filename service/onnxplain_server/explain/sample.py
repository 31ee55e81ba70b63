"""The table bound to the model, and the rows drawn from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.core.table import Table, listed, sample_rows
from onnxplain_server.effects.background import Background, merge, unmerged
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.weighing import Weighed
from onnxplain_server.methods.groups import Group, split
from onnxplain_server.plots.elements.labels import enumerate_words

_LISTED_PLACES = 12
"""Columns that a warning lists at most."""


@dataclass(frozen=True, slots=True)
class RowsUsed:
    """The rows that one method is computed on; see `RowsUsed` in the contract.

    Attributes
    ----------
    drawn : int
    used : int
        Those of weight above 0.
    weight : float
        Their total.
    seed : int
        Of the draw.
    """

    drawn: int
    used: int
    weight: float
    seed: int


@dataclass(frozen=True, eq=False)
class Sample:
    """A table and the rows of it that are used. Rows are counted in the table that weighs.

    Attributes
    ----------
    weighed : Weighed
    features : Features
        Of all its rows.
    row_count : int
        Rows for methods whose cost may grow with their square.
    asked_row_count : int or None
        As the question has it.
    seed : int
    """

    weighed: Weighed
    features: Features
    row_count: int
    asked_row_count: int | None
    seed: int

    @property
    def table(self) -> Table:
        """The table without rows of weight 0, but for those explained by themselves."""
        return self.weighed.table

    @property
    def weights(self) -> Vector:
        """Weights of its rows; see `Weighed`."""
        return self.weighed.weights

    @cached_property
    def rows(self) -> Indices:
        """All rows that weigh something, from which rows are drawn."""
        return np.flatnonzero(self.weights)

    @cached_property
    def drawn(self) -> Indices:
        """Rows for methods whose cost grows with their square: (n_drawn,)."""
        return self.rows[sample_rows(len(self.rows), self.row_count, self.seed)]

    def places(self, sent_rows: Sequence[int]) -> Indices:
        """Find rows that are given by their positions in the table as sent."""
        known = self.table.as_sent(np.arange(self.table.n_rows))
        return np.searchsorted(known, np.array(sent_rows, dtype=np.intp))

    def merged(self, rows: Indices) -> Background:
        """Take rows for averages over them: equal ones merged."""
        return self._background(merge, rows)

    def each(self, rows: Indices) -> Background:
        """Take rows of which every one is wanted."""
        return self._background(unmerged, rows)

    def _background(self, take: Callable[..., Background], rows: Indices) -> Background:
        features, weights = self.features.take(rows), self.weights[rows]
        return take(features, weights, self.table.as_sent(rows), self.weighed.unit)

    def draw(self, rows: Indices, most: int | None = None) -> Indices:
        """Draw from rows as many as asked for; by default `most`, or as many as are drawn."""
        count = self.asked_row_count or most or self.row_count
        return rows[sample_rows(len(rows), count, self.seed)]

    def used(self, rows: Indices) -> RowsUsed:
        """Count the rows of the table, each given once, that a method is computed on."""
        weights = self.weights[rows]
        total = float(weights.sum()) * self.weighed.unit  # infinite where no double holds it
        return RowsUsed(len(rows), int(np.count_nonzero(weights)), total, self.seed)

    def groups(self, column: str, group_count: int, path: str) -> tuple[Group, ...]:
        """Split all rows that weigh something by a column."""
        groups = split(self.table.column(column, path)[self.rows], group_count)
        return tuple(Group(group.label, self.rows[group.rows]) for group in groups)

    def notes(self) -> tuple[Note, ...]:
        """Say what of the table should temper the trust in the numbers."""
        notes = list(_by_position(self.features))
        columns = zip(self.features.names, self.features.columns, strict=True)
        constant = tuple(name for name, column in columns if (column == column[0]).all())
        if constant:
            message = f"Constant in this table, so nothing can be said of them: {listed(constant)}."
            notes.append(Note("CONSTANT_FEATURE", message))
        return tuple(notes)


def bind_features(model: Model, weighed: Weighed, question: Question) -> Features:
    """Find the model's columns in the table.

    Raises
    ------
    ExplainError
        EMPTY_TABLE, MISSING_COLUMN, WRONG_TYPE and others of the table.
    """
    table = weighed.table
    if table.n_rows < 2:
        of_weight = " of a weight above 0" * (table.n_rows < weighed.sent_row_count)
        raise ExplainError(
            Reason.EMPTY_TABLE,
            f"the table has {table.n_rows} rows{of_weight}; an explanation needs at least 2",
            "table",
        )
    if question.target_column:
        table.column(question.target_column, "target_column")
    others = (question.target_column, question.weight_column)
    return bind(model.inputs, table, question.feature_columns, others)


def _by_position(features: Features) -> tuple[Note, ...]:
    """Say which column went where, where only the table's order tells."""
    if not features.by_position or len(features.names) == 1:
        return ()
    places = [f"{j} {name!r}" for j, name in enumerate(features.names, 1)]
    if len(places) > _LISTED_PLACES:
        places[_LISTED_PLACES - 1 : -1] = ["…"]
    message = (
        "No names of the model tell which column is which, so they were taken in their order: "
        f"{', '.join(places)}. Name them in the model's order in feature_columns."
    )
    return (Note("COLUMNS_BY_POSITION", message),)


def take_sample(
    weighed: Weighed, features: Features, question: Question, row_count: int | None
) -> Sample:
    """Draw rows: as many as asked for, or else `row_count`, or else all."""
    count = question.row_count or row_count or weighed.table.n_rows
    return Sample(weighed, features, count, question.row_count, question.seed)


def rows_drawn(counts: Sequence[tuple[str, int]], n_rows: int, seed: int) -> tuple[Note, ...]:
    """Say how many rows each method drew, where one at least drew fewer than the table has.

    Parameters
    ----------
    counts : sequence of (str, int)
        For each method its name, and the rows drawn.
    """
    names_by_count: dict[int, dict[str, None]] = {}
    for name, count in counts:
        names_by_count.setdefault(count, {})[name] = None
    if min(names_by_count, default=n_rows) >= n_rows:
        return ()
    (least, names), *others = sorted(names_by_count.items())
    parts = [f"{least:,} of {n_rows:,} rows were drawn for {enumerate_words([*names])}"]
    parts += [f"{count:,} for {enumerate_words([*more])}" for count, more in others]
    message = (
        f"{', '.join(parts)} (seed {seed}); other draws give somewhat other numbers, and a higher "
        "row_count gives steadier ones."
    )
    return (Note("ROWS_DRAWN", message),)
