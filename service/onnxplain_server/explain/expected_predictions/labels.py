"""Labels of classes in place of probabilities: as columns of classes, and as a cause."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix, Vector
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.trial import CauseTrial

_HALF = 0.5
"""Probability from which the only output means the second class."""


def indicators(labels: Vector, names: tuple[str, ...]) -> Matrix | None:
    """Return 1 in the column of each row's class and 0 elsewhere: (n_rows, n_outputs).

    Parameters
    ----------
    labels : (n_rows,)
        NaN where missing, and so is the row.
    names : tuple of str
        Of the outputs, one for each class.

    Returns
    -------
    (n_rows, n_outputs) or None
        None where some number is no label, or all are the same.
    """
    numbers = _numbers(names)
    is_given = np.isfinite(labels)
    present = np.unique(labels[is_given])
    if len(present) < 2 or not np.isin(present, numbers).all():
        return None
    marks: Matrix = (labels[:, np.newaxis] == numbers).astype(np.float64)
    marks[~is_given] = np.nan
    return marks


def class_labels(trial: CauseTrial) -> LikelyCause | None:
    """Find that the expected columns have the label of the class with the largest score."""
    several = trial.expected.shape[1] > 1
    found = _of_columns(trial) if several else _of_a_column(trial)
    if found is None:
        return None
    columns = dict.fromkeys(trial.expected_columns)
    have = "have" if len(columns) > 1 else "has"
    each = ""
    if len(trial.output_names) > 2:
        each = f", a column for each of {listed(trial.output_names)}"
    message = (
        f"{listed(tuple(columns))} {have} labels of classes, and the model gives a number for each "
        f"class. Give the probabilities that the library predicts{each}."
    )
    return trial.cause(CauseKind.CLASS_LABELS, found, message)


def _of_a_column(trial: CauseTrial) -> Flags | None:
    labels, scores = trial.expected[:, 0], trial.predicted
    if len(np.unique(labels[np.isfinite(labels)])) < 2:
        return None
    if scores.shape[1] == 1:
        classes = (scores[:, 0] > _HALF).astype(np.float64)
    else:
        classes = _numbers(trial.output_names)[scores.argmax(axis=1)]
    agreeing: Flags = classes == labels
    return agreeing


def _of_columns(trial: CauseTrial) -> Flags | None:
    marks = trial.expected
    is_label = np.isin(marks, (0, 1)).all() and (marks.sum(axis=1) <= 1).all()
    if not is_label or len(np.unique(marks, axis=0)) < 2:
        return None
    winners = trial.predicted.argmax(axis=1)
    agreeing: Flags = (marks == (winners[:, np.newaxis] == trial.outputs)).all(axis=1)
    return agreeing


def _numbers(names: tuple[str, ...]) -> Array:
    """Return the numbers that outputs are called by, or else their positions."""
    try:
        return np.array([float(name) for name in names])
    except ValueError:
        return np.arange(len(names), dtype=np.float64)
