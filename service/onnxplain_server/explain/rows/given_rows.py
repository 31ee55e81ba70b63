"""Rows that a request gives by their values, as rows of the table that is explained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.castable import check_kind
from onnxplain_server.core.columns import Columns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.rows import Features, is_missing
from onnxplain_server.core.table import Table, listed
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.explain.task import Task
from onnxplain_server.trees.model_check import refuse_missing
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear


def bind_given(given: Table, task: Task, path: str) -> Background:
    """Bind given rows to the features of the table, each of weight 1.

    Parameters
    ----------
    path : str
        Of the rows in the request, for errors.

    Raises
    ------
    ExplainError
        MISSING_COLUMN or WRONG_TYPE; INVALID_OPTION for missing values that the trees engine does
        not take.
    """
    features = task.sample.features
    missing = tuple(name for name in features.names if name not in given.columns)
    if missing:
        raise ExplainError(
            Reason.MISSING_COLUMN,
            f"explained_rows needs a column for each feature, and has none for {listed(missing)}",
            path,
        )
    columns = []
    for name, column in zip(features.names, features.stored, strict=True):
        own = _of_kind(given.stored_column(name), column)
        check_kind(name, own, column, path)
        columns.append(own)
    rows = replace(features, columns=Columns(columns))
    for feature, column in enumerate(columns):
        rows.check(feature, column, path)
    _check_missing(rows, task, path)
    return unmerged(rows, np.ones(given.n_rows), np.arange(given.n_rows))


def _of_kind(values: Array, column: Array) -> Array:
    """Return values of the column's kind, where all of them are missing; others as they are."""
    if (values.dtype == object) == (column.dtype == object) or not is_missing(values).all():
        return values
    missing, kind = ("", object) if column.dtype == object else (np.nan, np.float64)
    return np.full(len(values), missing, dtype=kind)


def infinite_note(rows: Features) -> tuple[Note, ...]:
    """Warn of infinite values in given rows."""
    numbers = zip(rows.names, rows.stored, strict=True)
    names = [name for name, own in numbers if own.dtype != object and np.isinf(own).any()]
    if not names:
        return ()
    message = (
        f"Infinite values in explained_rows: {listed(tuple(names))}. The model is asked about them "
        "as they are; replace them if they stand for something else."
    )
    return (Note(InputWarning.INFINITE_VALUES, message),)


def _check_missing(rows: Features, task: Task, path: str) -> None:
    """Refuse missing values where only a table without any has the trees engine."""
    trees = task.request.resources.trees()
    if task.request.tabular_choice.predicts or not isinstance(trees, EnsembleWithLinear):
        return
    refusal = refuse_missing(trees.linear, rows)
    if refusal is not None:
        raise ExplainError(
            Reason.INVALID_OPTION, f"{refusal.reason}; ask with the engine BLACK_BOX", path
        )
