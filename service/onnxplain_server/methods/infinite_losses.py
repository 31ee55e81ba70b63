"""Infinite and zero losses: errors if no output has a defined increase, otherwise notes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.row_predictions import describe_rows
from onnxplain_server.methods.losses import LOG_LOSSES, Loss, Measure, are_perfect, is_score

_CAUSES = {
    Loss.LOGLOSS: "the true class has a predicted probability of 0",
    Loss.MLOGLOSS: "the true class has a predicted probability of 0",
    Loss.POISSON: "the prediction is 0 and the true value above 0",
}
_OVERFLOW = "the loss exceeds the range of float64"


def check_finite_baseline(
    loss: Loss | str, losses: Matrix, baseline: Vector, names: Sequence[str], background: Background
) -> tuple[Note, ...]:
    """Warn of outputs with an infinite baseline loss, over which no increase is defined.

    Parameters
    ----------
    losses : (n_rows, n_outputs)
        Losses of the background's rows, before anything is shuffled or moved.
    baseline : (n_outputs,)
        Average losses.
    names : sequence of str
        Names of the outputs.

    Raises
    ------
    ExplainError
        INVALID_OPTION if that holds for all outputs.
    """
    wrong = ~np.isfinite(baseline)
    if not wrong.any():
        return ()
    rows = np.flatnonzero(~np.isfinite(losses).all(axis=1))
    message = (
        f"the average {_name(loss)} before any change is infinite{_for_outputs(names, wrong)}: in "
        f"{describe_rows(background, rows)} {_cause(loss)}, so that no increase is "
        f"defined. {_cure(loss)}, or leave these rows out, or give them weight 0"
    )
    if wrong.all():
        raise ExplainError(Reason.INVALID_OPTION, message, "loss")
    return (Note(MethodWarning.INFINITE_LOSS, f"{message[0].upper()}{message[1:]}."),)


def check_nonzero_baseline(
    measure: Measure, baseline: Vector, constants: Vector, names: Sequence[str]
) -> tuple[Note, ...]:
    """Warn of outputs with a baseline loss of 0, by which nothing can be divided.

    Parameters
    ----------
    measure : Measure
    baseline : (n_outputs,)
    constants : (n_outputs,) or (0,)
        Losses of the best constant prediction, beside which rounding is told from a loss.
    names : sequence of str

    Raises
    ------
    ExplainError
        INVALID_OPTION if that holds for all outputs.
    """
    wrong = baseline == 0
    if not is_score(measure):
        wrong |= are_perfect(measure, baseline, constants)
    if not wrong.any():
        return ()
    message = (
        "normalize divides by the average loss before shuffling, which is "
        f"{'almost ' * bool(baseline[wrong].any())}0{_for_outputs(names, wrong)}; leave normalize "
        "out"
    )
    if wrong.all():
        raise ExplainError(Reason.INVALID_OPTION, message, "normalize")
    return (Note(MethodWarning.ZERO_BASELINE, f"{message[0].upper()}{message[1:]}."),)


def infinite_loss_notes(
    loss: Loss | str, increases: Array, features: Sequence[tuple[str, ...]], change: str
) -> tuple[Note, ...]:
    """Warn of features whose change makes the loss infinite.

    Parameters
    ----------
    increases : (n_entries, n_outputs)
        Increases of the average loss.
    features : sequence of tuple of str
        Features that each entry changes.
    change : str
        Noun for the change, such as "shuffling".
    """
    rows = np.flatnonzero(np.isposinf(increases).any(axis=1))
    if not len(rows):
        return ()
    entries = tuple(" + ".join(features[i]) for i in rows.tolist())
    message = (
        f"The average {_name(loss)} is infinite after {change} of {listed(entries)}, because in "
        f"some row {_cause(loss)}: these importances are infinite, and their "
        f"standard errors and shares are NaN. {_cure(loss)}."
    )
    return (Note(MethodWarning.INFINITE_LOSS, message),)


def _for_outputs(names: Sequence[str], wrong: Array) -> str:
    """List the affected outputs, unless all are affected."""
    if wrong.all():
        return ""
    affected = tuple(name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong)
    return f" for the outputs {listed(affected)}"


def _name(loss: Loss | str) -> str:
    return loss.value if isinstance(loss, Loss) else repr(loss)


def _cause(loss: Loss | str) -> str:
    return _CAUSES.get(loss, _OVERFLOW) if isinstance(loss, Loss) else _OVERFLOW


def _cure(loss: Loss | str) -> str:
    if loss in LOG_LOSSES:
        return "Set probability_floor, or use a loss that stays finite, such as SQUARED_ERROR"
    other = Loss.ABSOLUTE_ERROR if loss is Loss.SQUARED_ERROR else Loss.SQUARED_ERROR
    return f"Use a loss that stays finite, such as {other.value}"
