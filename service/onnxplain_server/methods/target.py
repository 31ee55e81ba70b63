"""The true values that predictions are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.arrays import Array, Matrix
from onnxplain_server.effects.weighted import mean
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods.losses import Loss, row_losses
from onnxplain_server.table import Table, listed


@dataclass(frozen=True, slots=True)
class Comparison:
    """How predictions are compared with true values; shared by the methods that do.

    Attributes
    ----------
    loss : Loss
    target_columns : tuple of str
        One, or one per output; empty, before `resolve`, for the request's target column.
    one_hot_target : bool or None
        Whether the target names classes; None: decided by `resolve`.
    sum_outputs : bool
        Whether losses are summed over outputs.
    """

    loss: Loss = Loss.SQUARED_ERROR
    target_columns: tuple[str, ...] = ()
    one_hot_target: bool | None = None
    sum_outputs: bool = False

    def output_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the columns of losses, given those of the outputs."""
        return ("total",) if self.sum_outputs or self.loss is Loss.MLOGLOSS else names

    def losses(self, actual: Matrix, predicted: Matrix) -> Matrix:
        """Compare row by row: (n_rows, n_outputs), or (n_rows, 1) where they are summed."""
        losses = row_losses(self.loss, actual, predicted)
        return losses.sum(axis=1, keepdims=True) if self.sum_outputs else losses

    def average(self, actual: Matrix, predicted: Matrix, weights: Array) -> Array:
        """Average the losses over rows: (n_outputs,), or (1,) where they are summed.

        Raises
        ------
        ExplainError
            INVALID_WEIGHTS where no row weighs anything.
        """
        # A weight of 0 takes an infinite loss away.
        kept = weights > 0
        if not kept.any():
            raise ExplainError(
                Reason.INVALID_WEIGHTS,
                "all rows that are compared have weight 0; raise row_count, or leave out rows "
                "of weight 0",
                "weight_column",
            )
        return mean(self.losses(actual[kept], predicted[kept]), weights[kept])


def resolve(comparison: Comparison, table: Table, target_column: str, path: str) -> Comparison:
    """Fill in defaults that depend on the table.

    Raises
    ------
    ExplainError
        INVALID_OPTION where there is no target; MISSING_COLUMN, WRONG_TYPE.
    """
    columns = comparison.target_columns or ((target_column,) if target_column else ())
    if not columns:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "no target: name the column with the true values in target_column",
            "target_column",
        )
    is_text = [table.column(name, f"{path}.target_columns").dtype == object for name in columns]
    one_hot = comparison.one_hot_target
    if one_hot is None:
        one_hot = any(is_text) or (comparison.loss is Loss.MLOGLOSS and len(columns) == 1)
    return replace(comparison, target_columns=columns, one_hot_target=one_hot)


def read(comparison: Comparison, table: Table, outputs: Sequence[str], path: str) -> Matrix:
    """Return the true values, one column per output: (n_rows, n_outputs).

    Parameters
    ----------
    comparison : Comparison
        Resolved.
    outputs : sequence of str
        Names of the explained outputs.

    Raises
    ------
    ExplainError
        INVALID_OPTION, or INVALID_TABLE where a true value is missing.
    """
    field = f"{path}.target_columns"
    columns = [filled(table, name, field) for name in comparison.target_columns]
    if comparison.loss is Loss.MLOGLOSS and len(outputs) < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the loss MLOGLOSS needs at least 2 outputs; for one, use LOGLOSS",
            f"{path}.loss",
        )
    if comparison.one_hot_target:
        return _indicators(columns, outputs, field)
    if any(column.dtype == object for column in columns):
        raise ExplainError(
            Reason.WRONG_TYPE, "a target of text needs one_hot_target", f"{path}.one_hot_target"
        )
    if len(columns) not in {1, len(outputs)}:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(columns)} target columns for {len(outputs)} outputs; give one, or one for each",
            field,
        )
    return np.broadcast_to(np.stack(columns, axis=1), (table.n_rows, len(outputs)))


def read_column(table: Table, name: str, outputs: Sequence[str]) -> Matrix:
    """Return the true values from the request's target column: (n_rows, n_outputs).

    Text, and numbers beside several outputs or an output that is called like one of them, name
    classes: a row's values are then 1 for the output of its class, and 0 elsewhere.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, INVALID_OPTION, or INVALID_TABLE where a true value is missing.
    """
    column = filled(table, name, "target_column")
    is_class = column.dtype == object or len(outputs) > 1 or outputs[0] in _level_names(column)
    if is_class:
        return _indicators([column], outputs, "target_column")
    return column[:, np.newaxis]


def filled(table: Table, name: str, field: str) -> Array:
    """Return a column of true values, (n_rows,), or raise INVALID_TABLE where one is missing."""
    column = table.column(name, field)
    missing = column == "" if column.dtype == object else ~np.isfinite(column)
    rows = np.flatnonzero(missing)
    if len(rows):
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"target column {name!r} has no value in rows "
            f"{listed(tuple(table.as_sent(rows[:5]).tolist()))} "
            "(counted from 0); leave these rows out",
            "table",
        )
    return column


def _indicators(columns: Sequence[Array], outputs: Sequence[str], field: str) -> Matrix:
    """Return 1 where a row is of an output's class, and 0 elsewhere: (n_rows, n_outputs)."""
    if len(columns) != 1:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"one_hot_target needs one target column; {len(columns)} given",
            field,
        )
    _, codes = np.unique(columns[0], return_inverse=True)
    names = _level_names(columns[0])
    if set(names) <= set(outputs):
        places = [outputs.index(name) for name in names]
    elif len(names) == len(outputs):
        places = list(range(len(outputs)))
    elif set(outputs) <= set(names):
        places = [outputs.index(name) if name in outputs else -1 for name in names]
    else:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the target has the classes {listed(tuple(names))}, the outputs are "
            f"{listed(tuple(outputs))}; they match neither by name nor by number",
            field,
        )
    is_of_class = np.array(places)[codes][:, None] == np.arange(len(outputs))
    indicators: Matrix = is_of_class.astype(np.float64)
    return indicators


def _level_names(column: Array) -> list[str]:
    """Name the distinct values, ascending."""
    levels = np.unique(column)
    return [level if isinstance(level, str) else f"{level:.15g}" for level in levels]
