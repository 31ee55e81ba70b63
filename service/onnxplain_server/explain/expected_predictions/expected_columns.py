"""Columns of expected predictions, each paired with an output of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.castable import are_dates
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table, listed
from onnxplain_server.explain.expected_predictions.labels import indicators

FIELD = "expected_prediction_columns"


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutputs:
    """Outputs that predictions may be expected of.

    Attributes
    ----------
    names : tuple of str
        Of all outputs.
    explained : (n_explained,)
        Positions of the outputs explained.
    are_chosen : bool
        Whether the request names these.
    are_classes : bool
        Whether outputs score classes.
    are_probabilities : bool
        Whether they do so on the scale of the response.
    """

    names: tuple[str, ...]
    explained: Indices
    are_chosen: bool = False
    are_classes: bool = False
    are_probabilities: bool = False

    @property
    def explained_names(self) -> tuple[str, ...]:
        """Names of the outputs explained."""
        return tuple(self.names[k] for k in self.explained)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedPredictions:
    """Predictions of the training library.

    Attributes
    ----------
    columns : tuple of str
        One name several times where a column of labels stands for a column of each class.
    outputs : (n_columns,)
        Position of the output of each column.
    values : (n_rows, n_columns)
        NaN where missing.
    """

    columns: tuple[str, ...]
    outputs: Indices
    values: Matrix


def expected_predictions(
    table: Table, columns: tuple[str, ...], outputs: ModelOutputs
) -> ExpectedPredictions:
    """Read the columns, and pair them with the outputs explained, or with all outputs.

    A column of labels alone, of more than two classes, becomes a column of each class.

    Parameters
    ----------
    table : Table
    columns : tuple of str
    outputs : ModelOutputs

    Raises
    ------
    ExplainError
        MISSING_COLUMN, WRONG_TYPE; INVALID_OPTION for another number of columns, or one twice.
    """
    if len(set(columns)) < len(columns):
        raise ExplainError(
            Reason.INVALID_OPTION, f"{FIELD} names a column twice: {listed(columns)}", FIELD
        )
    values = np.column_stack([_numbers(table, name, outputs) for name in columns])
    if len(columns) == 1 < len(outputs.explained) and outputs.are_classes:
        marks = indicators(values[:, 0], outputs.names)
        if marks is not None:
            own = outputs.explained
            return ExpectedPredictions(columns * len(own), own, marks[:, own])
    taken, paired = _paired(len(columns), outputs)
    return ExpectedPredictions(tuple(columns[k] for k in taken), paired, values[:, taken])


def _paired(count: int, outputs: ModelOutputs) -> tuple[Indices, Indices]:
    """Return the positions of the columns that are compared, and those of their outputs."""
    explained, names = outputs.explained, outputs.names
    if count == len(explained):
        return np.arange(count), explained
    if count == len(names):
        chosen = explained if outputs.are_chosen else np.arange(count)
        return chosen, chosen
    all_outputs = f", or all {len(names)} outputs" if len(names) > len(explained) else ""
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"{FIELD} has {count} column{'s' * (count != 1)}; give one for each output that is "
        f"explained, {listed(outputs.explained_names)}{all_outputs}",
        FIELD,
    )


def _numbers(table: Table, name: str, outputs: ModelOutputs) -> Vector:
    values = table.column(name, FIELD)
    if values.dtype != object:
        return values
    if are_dates(values):
        held, remedy = "dates", ""
    else:
        held, remedy = "text", ": of a classifier, give probabilities in place of labels"
    if remedy and outputs.are_classes:
        own = outputs.explained_names
        each = f"a column for each of {listed(own)}" if len(own) > 1 else f"those of {own[0]!r}"
        remedy = f": give probabilities in place of labels, {each}"
    raise ExplainError(
        Reason.WRONG_TYPE,
        f"column {name!r} holds {held}; expected predictions are numbers{remedy}",
        FIELD,
    )
