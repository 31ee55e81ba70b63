"""Checks of the request's class labels, made once for all methods."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.classes import Outputs, pair
from onnxplain_server.methods.registry import method_of


def check_target_given(question: Question) -> None:
    """Refuse class labels without a target.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if question.class_labels and not (question.targets or _names_targets(question)):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "class_labels are the labels of a target, and there is none: name its column in "
            "target_column, or leave class_labels out",
            "class_labels",
        )


def check_labels(table: Table, question: Question, outputs: Outputs) -> None:
    """Refuse class labels that do not fit target and model, even if no method uses them.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if not question.class_labels or not question.targets or _names_targets(question):
        return  # methods with target columns of their own check the labels themselves
    column = table.column(question.only_target("class_labels"), question.target_field)
    is_missing = column == "" if column.dtype == object else ~np.isfinite(column)
    pair(column[~is_missing], outputs, question.target_field)


def _names_targets(question: Question) -> bool:
    """Return whether a method has target columns of its own."""
    return any(method_of(options).target_columns(options) for options in question.methods)
