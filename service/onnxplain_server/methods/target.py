"""Target values: true numbers, or class indicators, that predictions are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places
from onnxplain_server.core.rows import is_missing
from onnxplain_server.core.table import Table
from onnxplain_server.methods.classes import ClassPairing, Outputs, pair
from onnxplain_server.methods.comparison import Comparison, RowContext
from onnxplain_server.methods.loss_expression import (
    LossExpression,
    read_loss_expression,
)
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.ranking.queries import read_queries


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """True values, one column per explained output.

    Attributes
    ----------
    values : (n_rows, n_outputs)
    pairings : tuple of ClassPairing
        Empty if the target is numeric.
    beside : RowContext or None
        What the loss reads of these rows beside: its expression, or queries.
    """

    values: Matrix
    pairings: tuple[ClassPairing, ...] = ()
    beside: RowContext | None = None


_AS_NUMBERS = ", or set one_hot_target to false to compare numbers"


def resolve(
    comparison: Comparison, table: Table, targets: tuple[str, ...], outputs: Outputs, path: str
) -> Comparison:
    """Fill in defaults that depend on table and model; `targets` are the columns of the request.

    Raises
    ------
    ExplainError
        INVALID_OPTION without a target, or for contradictory options; MISSING_COLUMN,
        WRONG_TYPE.
    """
    columns = comparison.target_columns or targets
    if comparison.query_column and not (comparison.loss or comparison.loss_expression):
        comparison = replace(comparison, loss=Loss.NDCG)
    if not columns:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "no target: name the column with the true values in target_column",
            "target_column",
        )
    comparison = replace(comparison, target_columns=columns)
    values = [table.column(name, f"{path}.target_columns") for name in columns]
    one_hot = comparison.one_hot_target
    if _is_raw(comparison, table, outputs, path):
        _check_unpaired(comparison, values, outputs, path)
        one_hot = False
    elif one_hot is None:
        is_class = comparison.loss is Loss.MLOGLOSS or is_class_target(values[0], outputs)
        one_hot = any(c.dtype == object for c in values) or (
            is_class and len(columns) == 1 and not comparison.is_ranking
        )
    if outputs.class_labels and not one_hot:
        raise _contradiction(columns, path)
    return replace(comparison, one_hot_target=one_hot)


def _is_raw(comparison: Comparison, table: Table, outputs: Outputs, path: str) -> bool:
    """Return whether no output scores a class: they are expressions, or the loss names them."""
    expression = read_expression(comparison, table, outputs, path)
    return outputs.are_expressions or (expression is not None and expression.is_total)


def _check_unpaired(
    comparison: Comparison, targets: Sequence[Array], outputs: Outputs, path: str
) -> None:
    """Refuse classes where no output scores one."""
    if comparison.one_hot_target:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "one_hot_target pairs the target's classes with outputs of the model, which prediction "
            "or loss_expression takes the place of; leave it out",
            f"{path}.one_hot_target",
        )
    if comparison.loss_expression or comparison.one_hot_target is False:
        return
    if any(is_class_target(target, outputs) for target in targets):
        raise unpaired_classes(f"{path}.target_columns", ", or set one_hot_target to false")


def unpaired_classes(path: str, advice: str = "") -> ExplainError:
    """Build the error for a target of classes that is compared with predictions."""
    return ExplainError(
        Reason.INVALID_OPTION,
        "the target names classes, and with prediction no output scores a class; compare them by "
        f"loss_expression, where y is what the target holds{advice}",
        path,
    )


def read_expression(
    comparison: Comparison, table: Table, outputs: Outputs, path: str
) -> LossExpression | None:
    """Read the loss of a comparison with its target columns; None where it is no expression."""
    text, columns = comparison.loss_expression, comparison.target_columns
    if not text:
        return None
    names = tuple(outputs.names[k] for k in outputs.explained)
    only = columns[0] if len(columns) == 1 else ""
    is_raw = outputs.are_expressions and bool(only)
    return read_loss_expression(text, f"{path}.loss_expression", table, only, names, is_raw=is_raw)


def is_class_target(column: Array, outputs: Outputs) -> bool:
    """Return whether a target contains class labels by default, for all methods.

    Text does, and so do whole numbers if the outputs score classes. Fractions do if several
    outputs score classes, since no number fits all of them: such a target is rejected unless its
    labels pair. With a single output, fractions are class probabilities.
    """
    if column.dtype == object or outputs.class_labels:
        return True
    present = column[np.isfinite(column)]
    is_whole = bool((present == np.floor(present)).all())
    return outputs.are_classes and (is_whole or len(outputs.names) > 1)


def read(comparison: Comparison, table: Table, outputs: Outputs, path: str) -> Target:
    """Return the true values, one column per explained output.

    Parameters
    ----------
    comparison : Comparison
        Resolved.

    Raises
    ------
    ExplainError
        INVALID_OPTION, or INVALID_TABLE if a true value is missing.
    """
    expression = read_expression(comparison, table, outputs, path)
    target = _read_values(comparison, table, outputs, expression, path)
    if comparison.is_ranking:
        queries = read_queries(table, comparison.query_column, f"{path}.query_column")
        return replace(target, beside=queries)
    return replace(target, beside=expression)


def _read_values(
    comparison: Comparison,
    table: Table,
    outputs: Outputs,
    expression: LossExpression | None,
    path: str,
) -> Target:
    field, count = f"{path}.target_columns", len(outputs.explained)
    columns = [complete_column(table, name, field) for name in comparison.target_columns]
    if expression is not None and not expression.reads_actual:
        return Target(np.zeros((table.n_rows, count)))
    if comparison.loss is Loss.MLOGLOSS and count < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the loss MLOGLOSS needs at least 2 outputs; for one, use LOGLOSS",
            f"{path}.loss",
        )
    if comparison.one_hot_target:
        is_number = columns[0].dtype != object
        return _indicators(columns, outputs, field, _AS_NUMBERS if is_number else "")
    if any(column.dtype == object for column in columns):
        raise text_target_error(path)
    if len(columns) not in {1, count}:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{len(columns)} target columns for {count} outputs; give one for each",
            field,
        )
    return Target(np.broadcast_to(np.stack(columns, axis=1), (table.n_rows, count)))


def read_column(table: Table, name: str, outputs: Outputs) -> Target:
    """Return the true values in the request's target column.

    Beyond `is_class_target`, numbers are class labels if several outputs are explained: no number
    is the true value of all of them.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, INVALID_OPTION, or INVALID_TABLE if a true value is missing.
    """
    column = complete_column(table, name, "target_column")
    if outputs.are_expressions and (is_class_target(column, outputs) or len(outputs.explained) > 1):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "with prediction the target must be numbers that one prediction is compared with; "
            "ask for one prediction at a time, and leave permutation_count out for classes",
            "target_column",
        )
    if is_class_target(column, outputs) or len(outputs.explained) > 1:
        return _indicators([column], outputs, "target_column", "")
    return Target(column[:, np.newaxis])


def read_labels(
    table: Table, target_column: str, outputs: Outputs, one_hot: bool | None, path: str
) -> tuple[Array, tuple[ClassPairing, ...], bool]:
    """Return a target that is explained by itself and not compared with outputs.

    Returns
    -------
    column : (n_rows,)
    pairings : tuple of ClassPairing
        Empty without `class_labels` in the request.
    is_class : bool
        Whether the column contains class labels.

    Raises
    ------
    ExplainError
        As `resolve` and `read`.
    """
    outputs = replace(outputs, are_expressions=False)  # nothing is compared with them
    targets = (target_column,) if target_column else ()
    comparison = resolve(Comparison(), table, targets, outputs, path)
    column = complete_column(table, comparison.target_columns[0], f"{path}.target_columns")
    is_text = column.dtype == object
    if one_hot is False and is_text:
        raise text_target_error(path)
    if one_hot is False and outputs.class_labels:
        raise _contradiction(comparison.target_columns, path)
    is_whole = is_text or bool((column == np.floor(column)).all())
    is_class = bool(comparison.one_hot_target and is_whole) if one_hot is None else one_hot
    if not outputs.class_labels:
        return column, (), is_class
    return column, pair(column, outputs, "target_column").pairings, True


def text_target_error(path: str) -> ExplainError:
    """Build the error for a text target with `one_hot_target` false."""
    return ExplainError(
        Reason.WRONG_TYPE, "a target of text needs one_hot_target", f"{path}.one_hot_target"
    )


def _contradiction(columns: Sequence[str], path: str) -> ExplainError:
    conflict = (
        "one_hot_target is false"
        if len(columns) == 1
        else f"there are {len(columns)} target columns"
    )
    return ExplainError(
        Reason.INVALID_OPTION,
        f"class_labels declare a target of classes, but {conflict}; leave one of them out",
        f"{path}.one_hot_target" if len(columns) == 1 else f"{path}.target_columns",
    )


def complete_column(table: Table, name: str, field: str) -> Array:
    """Return a column of true values, (n_rows,); INVALID_TABLE if one is missing or infinite."""
    column = table.column(name, field)
    missing = is_missing(column)
    infinite = np.zeros_like(missing) if column.dtype == object else np.isinf(column)
    for wrong, fault in ((missing, "has no value"), (infinite, "is infinite")):
        if wrong.any():
            places = row_places(table.as_sent(np.flatnonzero(wrong)).tolist())
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"target column {name!r} {fault} in {places}, of {len(column):,}; leave these rows "
                "out, or give them weight 0",
                "table",
            )
    return column


def _indicators(columns: Sequence[Array], outputs: Outputs, field: str, advice: str) -> Target:
    """Return indicators: 1 if a row is of an output's class, otherwise 0."""
    if len(columns) != 1:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"one_hot_target needs one target column; {len(columns)} given",
            field,
        )
    classes = pair(columns[0], outputs, field, advice)
    is_of_class = classes.outputs[:, None] == np.array(outputs.explained)  # (n_rows, n_outputs)
    return Target(is_of_class.astype(np.float64), classes.pairings)
