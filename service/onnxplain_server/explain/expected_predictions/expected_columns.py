"""Columns of expected predictions, each paired with an output of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table, listed

FIELD = "expected_prediction_columns"


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedPredictions:
    """Predictions of the training library.

    Attributes
    ----------
    columns : tuple of str
    outputs : (n_columns,)
        Position of the output of each column.
    values : (n_rows, n_columns)
        NaN where missing.
    """

    columns: tuple[str, ...]
    outputs: Indices
    values: Matrix


def expected_predictions(
    table: Table, columns: tuple[str, ...], explained: Indices, names: tuple[str, ...]
) -> ExpectedPredictions:
    """Read the columns, and pair them with the outputs explained, or with all outputs.

    Parameters
    ----------
    table : Table
    columns : tuple of str
    explained : (n_explained,)
        Positions of the outputs explained.
    names : tuple of str
        Of all outputs.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE; INVALID_OPTION for another number of columns, or one twice.
    """
    if len(set(columns)) < len(columns):
        raise ExplainError(
            Reason.INVALID_OPTION, f"{FIELD} names a column twice: {listed(columns)}", FIELD
        )
    outputs = _paired(len(columns), explained, names)
    values = [_numbers(table, name) for name in columns]
    return ExpectedPredictions(columns, outputs, np.column_stack(values))


def _paired(count: int, explained: Indices, names: tuple[str, ...]) -> Indices:
    if count == len(explained):
        return explained
    if count == len(names):
        return np.arange(count)
    of = listed(tuple(names[k] for k in explained))
    all_outputs = f", or all {len(names)} outputs" if len(names) > len(explained) else ""
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"{FIELD} names {count} columns; give one for each output that is explained, {of}"
        f"{all_outputs}",
        FIELD,
    )


def _numbers(table: Table, name: str) -> Matrix:
    values = table.column(name, FIELD)
    if values.dtype == object:
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds text; expected predictions are numbers: of a classifier, give "
            "probabilities in place of labels",
            FIELD,
        )
    return values
