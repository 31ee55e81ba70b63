"""Labels: a target column that is explained by itself, not compared with a model's outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import ClassPairing, Outputs

_FEW = 20
"""Largest number of distinct whole numbers that may be codes of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """True values of all rows of the table.

    Attributes
    ----------
    values : (n_rows,)
    is_class : bool
        Whether they are labels of classes.
    pairings : tuple of ClassPairing
        Empty without `class_labels` in the request.
    notes : tuple of Note
    """

    values: Array
    is_class: bool
    pairings: tuple[ClassPairing, ...]
    notes: tuple[Note, ...] = ()


def read_labels(task: Task, one_hot_target: bool | None) -> Labels:
    """Read the target column of the request.

    Without a model, text is labels of classes and numbers are numbers, unless `one_hot_target`
    tells otherwise.

    Raises
    ------
    ExplainError
        As `target.read_labels`.
    """
    name = task.question.target_column
    values, pairings, is_class = target.read_labels(
        task.sample.table, name, _outputs(task), one_hot_target, task.path
    )
    is_assumed = one_hot_target is None and not is_class and not task.request.has_model
    return Labels(values, is_class, pairings, _as_numbers(values, name) if is_assumed else ())


def _outputs(task: Task) -> Outputs:
    return task.outputs if task.request.has_model else Outputs((), ())


def _as_numbers(values: Array, name: str) -> tuple[Note, ...]:
    """Warn that numbers which may be codes of classes were taken as numbers."""
    codes = np.unique(values)
    # Two codes give the same answer either way.
    if not 2 < len(codes) <= _FEW or (codes != np.floor(codes)).any():
        return ()
    shown = listed(tuple(int(code) for code in codes))
    message = (
        f"The target {name!r} holds the whole numbers {shown} and was taken as a number; if they "
        "are codes of classes, set one_hot_target to true."
    )
    return (Note("TARGET_AS_NUMBERS", message),)
