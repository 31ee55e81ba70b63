"""Labels: a target column that is explained by itself, not compared with a model's outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import ClassPairing, Outputs, format_label, pair

_FEW = 20
"""Largest number of distinct whole numbers that may be codes of classes."""
_MAX_CLASSES = 100
"""Largest number of classes that are scores."""


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


@dataclass(frozen=True, slots=True, eq=False)
class TargetScores:
    """The target as scores: (n_rows, n_scores) for all rows of the table, and their names."""

    scores: Matrix
    names: tuple[str, ...]
    labels: Labels


def read_labels(task: Task, one_hot_target: bool | None) -> Labels:
    """Read the target column of the request.

    Without a model, text is labels of classes and numbers are numbers, unless `one_hot_target`
    tells otherwise.

    Raises
    ------
    ExplainError
        As `target.read_labels`.
    """
    name = task.question.only_target("the source LABELS")
    values, pairings, is_class = target.read_labels(
        task.sample.table, name, _outputs(task), one_hot_target, task.path
    )
    is_assumed = one_hot_target is None and not is_class and not task.request.has_model
    return Labels(values, is_class, pairings, _as_numbers(values, name) if is_assumed else ())


def target_scores(labels: Labels, task: Task) -> TargetScores:
    """Score rows by their labels; classes become one score each, two classes a single one.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the target has too many classes.
    """
    name = task.question.only_target("the source LABELS")
    if not labels.is_class:
        return TargetScores(labels.values[:, None], (name,), labels)
    if labels.pairings:
        output_positions = pair(labels.values, task.outputs, task.question.target_field).outputs
        texts = [pairing.label for pairing in labels.pairings]
        codes = output_positions + len(texts) - len(task.outputs.names)
    else:
        classes, codes = np.unique(labels.values, return_inverse=True)
        texts = [format_label(label) for label in classes]
    if len(texts) > _MAX_CLASSES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the target has {len(texts):,} classes; at most {_MAX_CLASSES} can be scores",
            task.question.target_field,
        )
    scored = range(len(texts))[-1:] if len(texts) == 2 else range(len(texts))
    scores = np.stack([(codes == k).astype(np.float64) for k in scored], axis=1)
    return TargetScores(scores, tuple(f"{name} = {texts[k]}" for k in scored), labels)


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
    return (Note(InputWarning.TARGET_AS_NUMBERS, message),)
