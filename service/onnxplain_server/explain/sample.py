"""The table bound to the model, and the rows drawn from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cachetools import LRUCache

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.binding.text_columns import text_columns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places
from onnxplain_server.core.model import HasInputs, Note
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features, bind, bind_without_model
from onnxplain_server.core.table import Table, listed
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.background import Background, merge, unmerged
from onnxplain_server.explain.binding.model_names import model_names
from onnxplain_server.explain.binding.position_notes import position_notes
from onnxplain_server.explain.binding.weighted_table import WeightedTable, apply_weights
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.groups import Group, split
from onnxplain_server.methods.resampling import Clusters, RowUnits, read_clusters

_LISTED_INFINITE = 5
_FIRST_ROWS = 1_000
_KEPT_BACKGROUNDS = 3
"""The rows of averages, those of losses, and others of one method."""


@dataclass(frozen=True, slots=True)
class RowsUsed:
    """Counts of the rows that one method is computed on; `RowsUsed` in the contract.

    Attributes
    ----------
    drawn : int
    used : int
        Drawn rows of weight above 0.
    weight : float
        Total weight.
    seed : int
        Seed of the draw.
    clusters : int
        Clusters that the used rows belong to; 0 where the request names none.
    """

    drawn: int
    used: int
    weight: float
    seed: int
    clusters: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """A table bound to a model, and the rows drawn from it; row numbers count in `table`.

    Attributes
    ----------
    weighted : WeightedTable
    features : Features
        Of all its rows.
    row_count : int
        Rows for methods whose cost may grow with their square.
    requested_row_count : int or None
        `row_count` of the question.
    seed : int
    sampled_from : int or None
        Rows of weight above 0 of the table that `weighted` is a sample of; None: it is the table.
    cluster_column : str
        Empty where replicates draw single rows.
    """

    weighted: WeightedTable
    features: Features
    row_count: int
    requested_row_count: int | None
    seed: int
    sampled_from: int | None = None
    cluster_column: str = ""

    @property
    def table(self) -> Table:
        """The table without rows of weight 0, except those explained one by one."""
        return self.weighted.table

    @property
    def weights(self) -> Vector:
        """Weights of the rows, in multiples of the table's unit."""
        return self.weighted.weights

    @cached_property
    def rows(self) -> Indices:
        """All rows of weight above 0, the population of the draw."""
        return np.flatnonzero(self.weights)

    @cached_property
    def population(self) -> Features:
        """The features of all rows of weight above 0, on which grids are laid."""
        return self.features.take(self.rows)

    @property
    def population_count(self) -> int:
        """Number of all rows of weight above 0, also where the table is a sample of them."""
        return len(self.rows) if self.sampled_from is None else self.sampled_from

    @cached_property
    def _clusters(self) -> Clusters | None:
        if not self.cluster_column:
            return None
        return read_clusters(self.table, self.cluster_column, self.rows)

    def units(self, numbers: Indices) -> RowUnits:
        """Return what replicates draw of rows, by their numbers in the table as sent."""
        return self._clusters.of(numbers) if self._clusters else RowUnits(numbers)

    @cached_property
    def drawn(self) -> Indices:
        """Rows for methods whose cost grows with their square: (n_drawn,)."""
        return self.draw_few(self.rows, self.row_count)

    @cached_property
    def merged_draw(self) -> Background:
        """The rows drawn, for averages; equal rows are merged."""
        return self.merged(self.drawn)

    def positions(self, sent_rows: Sequence[int]) -> Indices:
        """Translate row numbers of the table as sent into those of `table`."""
        numbers = self.table.as_sent(np.arange(self.table.n_rows))
        return np.searchsorted(numbers, np.array(sent_rows, dtype=np.intp))

    def merged(self, rows: Indices) -> Background:
        """Take rows for averages; equal rows are merged."""
        return self._background(merge, rows)

    def unmerged(self, rows: Indices) -> Background:
        """Take rows one by one, in their order."""
        return self._background(unmerged, rows)

    def _background(self, take: Callable[..., Background], rows: Indices) -> Background:
        """Take rows; methods on the same rows share them, their types, levels and digest."""
        key = take, hashlib.sha256(rows.tobytes()).digest()
        known: Background | None = self._backgrounds.get(key)
        if known is None:
            features, weights = self.features.take(rows), self.weights[rows]
            known = take(features, weights, self.table.as_sent(rows), self.weighted.unit)
            self._backgrounds[key] = known
        return known

    @cached_property
    def _backgrounds(self) -> LRUCache[Hashable, Background]:
        return LRUCache(_KEPT_BACKGROUNDS)

    def draw(self, rows: Indices, default: int | None = None) -> Indices:
        """Draw from rows: as many as requested, or else `default`, or else `row_count`."""
        count = self.requested_row_count or default or self.row_count
        return self.draw_few(rows, count)

    def draw_few(self, rows: Indices, count: int) -> Indices:
        """Draw `count` rows at most from rows, which ascend; fewer are part of more."""
        return rows[draw(self.table.as_sent(rows), count, self.seed)]

    def used(self, rows: Indices) -> RowsUsed:
        """Count distinct rows of the table, as the rows that a method is computed on."""
        weights = self.weights[rows]
        total = float(weights.sum()) * self.weighted.unit  # may overflow to infinity
        used = rows[weights > 0]
        clusters = self.units(self.table.as_sent(used)).count if self.cluster_column else 0
        return RowsUsed(len(rows), len(used), total, self.seed, clusters)

    def groups(self, column: str, group_count: int, path: str) -> tuple[Group, ...]:
        """Split all rows of weight above 0 by a column."""
        groups = split(self.table.column(column, path)[self.rows], group_count)
        return tuple(Group(group.label, self.rows[group.rows]) for group in groups)

    def notes(self) -> tuple[Note, ...]:
        """Return the warnings about the table."""
        notes = list(position_notes(self.features))
        columns = zip(self.features.names, self.features.stored, strict=True)
        constant = tuple(name for name, column in columns if _is_constant(column))
        if constant:
            message = f"Constant in this table, which can say nothing of them: {listed(constant)}."
            notes.append(Note(InputWarning.CONSTANT_FEATURE, message))
        if self.table.durations:
            message = f"Durations were taken as numbers of seconds: {listed(self.table.durations)}."
            notes.append(Note(InputWarning.DURATIONS_IN_SECONDS, message))
        return (*notes, *self._infinite_notes())

    def _infinite_notes(self) -> Iterator[Note]:
        """Warn of features with infinite values in the rows used, which most models never saw."""
        found = []
        for name, column in zip(self.features.names, self.features.stored, strict=True):
            if column.dtype != object and (rows := self.rows[np.isinf(column[self.rows])]).size:
                found.append(f"{name!r} in {row_places(self.table.as_sent(rows).tolist())}")
        if found:
            message = (
                f"Infinite values: {'; '.join(found[:_LISTED_INFINITE])}"
                f"{' and other features' * (len(found) > _LISTED_INFINITE)}. The model is asked "
                "about them as they are, and grids are laid over the others, if any. If they stand "
                "for something else, replace them or leave these rows out."
            )
            yield Note(InputWarning.INFINITE_VALUES, message)


def _is_constant(column: Array) -> bool:
    is_first = column[:_FIRST_ROWS] == column[0]  # most columns vary in the first rows
    return bool(is_first.all() and (column == column[0]).all())


def bind_features(model: HasInputs | None, weighted: WeightedTable, question: Question) -> Features:
    """Bind the table's columns to the model's inputs; without a model, take them as they are.

    Raises
    ------
    ExplainError
        EMPTY_TABLE, MISSING_COLUMN, WRONG_TYPE and others of the table.
    """
    table = weighted.table
    check_row_count(table.n_rows, weighted.sent_row_count)
    for name in question.targets:
        table.column(name, question.target_field)
    others = question.non_features
    if model is None:
        return bind_without_model(table, question.feature_columns, others)
    by_input = question.input_columns
    return bind(model.inputs, table, question.feature_columns, others, input_columns=by_input)


def check_row_count(used: int, sent: int) -> None:
    """Raise EMPTY_TABLE for fewer than 2 rows of weight above 0, of those sent."""
    if used < 2:
        of_weight = " of a weight above 0" * (used < sent)
        raise ExplainError(
            Reason.EMPTY_TABLE,
            f"the table has {used} rows{of_weight}; an explanation needs at least 2",
            "table",
        )


def as_model_reads(table: Table, question: Question, model: HasInputs | None) -> Table:
    """Have the columns as text that inputs of text take, where the table's file has no types."""
    if model is None or table.texts is None:
        return table
    others = question.non_features
    names = (table.present, question.feature_columns, others, question.input_columns)
    return table.with_texts(text_columns(model.inputs, *names))


class BoundTable:
    """Table with what derives from it and the question; each part is computed at its first use.

    Parameters
    ----------
    table : Table
    question : Question
    model : HasInputs or None
        Gives the inputs to bind; without it, the columns are features as they are.
    """

    def __init__(self, table: Table, question: Question, model: HasInputs | None) -> None:
        names = model_names(table.present, question, model)
        self.table = as_model_reads(table, question, model).named(names)
        self._question = question
        self._model = model

    @cached_property
    def weighted(self) -> WeightedTable:
        """The table with its case weights; errors are those of `apply_weights`."""
        return apply_weights(self.table, self._question)

    @cached_property
    def features(self) -> Features:
        """The features of all its rows; errors are those of `bind_features`."""
        return bind_features(self._model, self.weighted, self._question)


def take_sample(
    weighted: WeightedTable, features: Features, question: Question, row_count: int | None
) -> Sample:
    """Draw rows: as many as requested, or else `row_count`, or else all."""
    count = question.row_count or row_count or weighted.table.n_rows
    clusters = question.cluster_column
    return Sample(
        weighted, features, count, question.row_count, question.seed, cluster_column=clusters
    )
