"""Warnings on losses and scores: probabilities raised to a floor, and scores that are undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import LOG_LOSSES, Loss

_ALIKE: Mapping[Loss, str] = {
    Loss.AUC: "which are all of one class",
    Loss.BALANCED_ACCURACY: "which are of none of the classes explained",
    Loss.F1: "none of which is of the class, or predicted to be",
    Loss.NDCG: "whose true values are all 0 in each query",
    Loss.PAIRWISE_ACCURACY: "which have one true value in each query",
}
"""Rows for which a score is not defined; others always are."""


def floor_notes(
    comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector
) -> tuple[Note, ...]:
    """Warn of rows whose log loss is that of the floor.

    Parameters
    ----------
    actual, predicted : (n_rows, n_outputs)
    weights : (n_rows,)
        Rows of weight 0 do not count.
    """
    is_weighted = weights > 0
    count = int(np.count_nonzero(are_floored(comparison, actual, predicted) & is_weighted))
    return floor_note(comparison, count, int(np.count_nonzero(is_weighted)))


def are_floored(comparison: Comparison, actual: Matrix, predicted: Matrix) -> Flags:
    """Return which rows have the log loss of the floor for some output: (n_rows,)."""
    floor = comparison.parameters.probability_floor
    if comparison.loss not in LOG_LOSSES or not floor:
        return np.zeros(len(actual), np.bool_)
    is_low = (actual > 0) & (predicted < floor)
    if comparison.loss is Loss.LOGLOSS:
        is_low |= (actual < 1) & (predicted > 1 - floor)
    return np.asarray(is_low.any(axis=1))


def floor_note(comparison: Comparison, count: int, row_count: int) -> tuple[Note, ...]:
    """Warn of `count` rows, of those of weight above 0, whose log loss is that of the floor."""
    if not count:
        return ()
    floor = comparison.parameters.probability_floor
    message = (
        f"In {count:,} of {row_count:,} rows the model gives what is true a probability below "
        f"{floor:.2g}; it counts as {floor:.2g}, because the log loss of 0 is infinite. "
        "probability_floor sets another one."
    )
    return (Note(MethodWarning.PROBABILITY_FLOOR, message),)


def check_defined(loss: Loss, values: Vector, names: Sequence[str]) -> None:
    """Refuse a score that is undefined for all outputs.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if np.isnan(values).all():
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{loss.value} is not defined for {listed(tuple(names))} on the rows used, "
            f"{_ALIKE[loss]}; use other rows, or a loss",
            "loss",
        )


def undefined_notes(
    loss: Loss | None, groups: Sequence[tuple[str, Vector]], names: Sequence[str]
) -> tuple[Note, ...]:
    """Warn of scores that are NaN.

    Parameters
    ----------
    loss : Loss or None
        None of an expression, which has none.
    groups : sequence of (str, (n_outputs,))
        Names of groups of rows, "" for all rows, and their scores.
    names : sequence of str
        Names of the outputs.
    """
    places = tuple(
        f"{name} in the group {group}" if group else name
        for group, values in groups
        for name, value in zip(names, values, strict=True)
        if np.isnan(value)
    )
    if not places or loss is None or loss not in _ALIKE:
        return ()
    rows = f"rows {_ALIKE[loss]}"
    message = f"{loss.value} is NaN for {listed(places)}: it is not defined for {rows}."
    return (Note(MethodWarning.UNDEFINED_SCORE, message),)
