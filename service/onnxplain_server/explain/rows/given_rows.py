"""Rows that a request gives by their values, as rows of the table that is explained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.castable import check_kind
from onnxplain_server.core.columns import Columns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import Table, listed
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.explain.task import Task
from onnxplain_server.trees.model_check import refuse_missing
from onnxplain_server.trees.reading.linear.with_trees import EnsembleWithLinear


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
    columns = [given.stored_column(name) for name in features.names]
    for name, own, column in zip(features.names, columns, features.stored, strict=True):
        check_kind(name, own, column, path)
    rows = replace(features, columns=Columns(columns))
    for feature, column in enumerate(columns):
        rows.check(feature, column, path)
    _check_missing(rows, task, path)
    return unmerged(rows, np.ones(given.n_rows), np.arange(given.n_rows))


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
