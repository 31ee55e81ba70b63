"""Target of a table in blocks: its classes are those of all rows, its loss an average over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.columns import NamedColumns
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import Table
from onnxplain_server.explain.far_from_target import far_from_target
from onnxplain_server.explain.loss_choice import with_loss
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.streamed_loss import TargetReader
from onnxplain_server.trees.streaming.column_summary import ColumnSummary, summarize
from onnxplain_server.trees.streaming.engine import StreamedTrees


@dataclass(frozen=True, slots=True, eq=False)
class StreamedTarget:
    """True values of all rows, and how predictions are compared with them.

    Attributes
    ----------
    comparison : Comparison
        Resolved, with its loss.
    reader : TargetReader
    pairings : tuple of ClassPairing
        As those of `Target`.
    """

    comparison: Comparison
    reader: TargetReader
    pairings: tuple[ClassPairing, ...]
    _task: Task

    @property
    def cost(self) -> int:
        """Rows that `remarks` evaluates."""
        return len(self._task.sample.rows)

    def remarks(self) -> tuple[Note, ...]:
        """Warn where the model is no better than a constant, on the rows of the sample."""
        sample, task = self._task.sample, self._task
        rows, comparison = sample.rows, self.comparison
        actual = target.read(comparison, sample.table, task.outputs, task.path).values[rows]
        effects, weights = task.effects.restrict(sample.unmerged(rows)), sample.weights[rows]
        losses = comparison.average(actual, effects.outputs(), weights)
        names = comparison.output_names(effects.output_names)
        return far_from_target(comparison, actual, weights, losses, names, predict=effects.outputs)


def streamed_target(
    task: Task, trees: StreamedTrees, comparison: Comparison
) -> StreamedTarget | None:
    """Read what the target holds in all rows.

    Returns
    -------
    StreamedTarget or None
        None where the loss is no average over rows or an expression, or where the classes are too
        many to be known: the sample is then compared.

    Raises
    ------
    ExplainError
        As `target.resolve` and `target.read`.
    """
    sample, outputs, path = task.sample.table, task.outputs, task.path
    named = target.resolve(comparison, sample, task.question.targets, outputs, path)
    if comparison.loss_expression or named.is_score:
        return None
    nothing = np.zeros(0)
    columns = summarize(trees, sample, dict.fromkeys(named.target_columns, nothing))
    if not all(map(_is_told_by_levels, columns.values())):
        return None
    whole = _stand_in(sample, {name: column.sums.levels for name, column in columns.items()})
    comparison = target.resolve(comparison, whole, task.question.targets, outputs, path)
    comparison = with_loss(comparison, task)
    if comparison.is_score:
        return None
    truth = target.read(comparison, whole, outputs, path)
    levels, indicators = nothing, np.zeros((0, len(outputs.explained)))
    if comparison.one_hot_target:
        (column,) = columns.values()
        if not column.sums.is_complete:
            return None
        levels = column.sums.levels
        indicators = truth.values[: len(levels)]
    names, field = comparison.target_columns, f"{path}.target_columns"
    reader = TargetReader(names, field, len(outputs.explained), levels, indicators)
    return StreamedTarget(comparison, reader, truth.pairings, task)


def _is_told_by_levels(column: ColumnSummary) -> bool:
    """Return whether the values kept are whole numbers just where all of them are."""
    sums = column.sums
    if not len(sums.levels) or column.is_text:
        return bool(sums.is_complete and len(sums.levels))
    return bool((sums.levels == np.floor(sums.levels)).all()) == sums.is_whole


def _stand_in(sample: Table, levels: dict[str, Array]) -> Table:
    """Return a table whose targets hold each value once or more, in rows of the sample."""
    count = max(map(len, levels.values()))
    rows = sample.take(np.arange(count) % sample.n_rows)
    targets = {name: np.resize(values, count) for name, values in levels.items()}
    return Table(NamedColumns({**rows.stored, **targets}), count, rows.unreadable)
