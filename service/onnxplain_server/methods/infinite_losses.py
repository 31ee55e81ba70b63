"""Increases of losses that are no numbers: refused, or named where other outputs have some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.predictor import describe_rows
from onnxplain_server.methods.losses import Loss

_CAUSES = {
    Loss.LOGLOSS: "a probability of 0 came true",
    Loss.MLOGLOSS: "a probability of 0 came true",
    Loss.POISSON: "a prediction of 0 stands beside a true value above 0",
}
_TOO_LARGE = "it is beyond the range of float64"
_NAMED_ROWS = 5


def check_finite_baseline(
    loss: Loss, losses: Matrix, baseline: Vector, names: Sequence[str], background: Background
) -> tuple[Note, ...]:
    """Name outputs whose average loss is infinite as it is: no increase over it is a number.

    Parameters
    ----------
    losses : (n_rows, n_outputs)
        Of the background's rows, before anything is shuffled or moved.
    baseline : (n_outputs,)
        Their averages.
    names : sequence of str
        Of the outputs.

    Raises
    ------
    ExplainError
        INVALID_OPTION where that is so for all outputs.
    """
    wrong = ~np.isfinite(baseline)
    if not wrong.any():
        return ()
    rows = np.flatnonzero(~np.isfinite(losses).all(axis=1))
    message = (
        f"the average {loss.value} of the rows as they are is infinite{_of(names, wrong)}: in "
        f"{_some(background, rows)} {_CAUSES.get(loss, _TOO_LARGE)}; an increase over infinity is "
        f"no number. {_cure(loss)}, or leave these rows out, or give them the weight 0"
    )
    if wrong.all():
        raise ExplainError(Reason.INVALID_OPTION, message, "loss")
    return (Note("INFINITE_LOSS", f"{message[0].upper()}{message[1:]}."),)


def check_nonzero_baseline(baseline: Vector, names: Sequence[str]) -> tuple[Note, ...]:
    """Name outputs whose average loss is 0 as it is: nothing is a share of it.

    Raises
    ------
    ExplainError
        INVALID_OPTION where that is so for all outputs.
    """
    wrong = baseline == 0
    if not wrong.any():
        return ()
    message = (
        f"normalize divides by the average loss before shuffling, which is 0{_of(names, wrong)}; "
        "leave normalize out"
    )
    if wrong.all():
        raise ExplainError(Reason.INVALID_OPTION, message, "normalize")
    return (Note("ZERO_BASELINE", f"{message[0].upper()}{message[1:]}."),)


def infinite_loss_notes(
    loss: Loss, increases: Array, features: Sequence[tuple[str, ...]], change: str
) -> tuple[Note, ...]:
    """Name features that make the loss infinite when changed.

    Parameters
    ----------
    increases : (n_entries, n_outputs)
        Of the average loss.
    features : sequence of tuple of str
        What each entry changes.
    change : str
        What is done to them, as a noun.
    """
    rows = np.flatnonzero(np.isposinf(increases).any(axis=1))
    if not len(rows):
        return ()
    entries = tuple(" + ".join(features[i]) for i in rows.tolist())
    message = (
        f"The average {loss.value} is infinite after {change} of {listed(entries)}, because in "
        f"some row {_CAUSES.get(loss, _TOO_LARGE)}: such importances are infinite, and "
        f"standard errors and shares of them are no numbers. {_cure(loss)}."
    )
    return (Note("INFINITE_LOSS", message),)


def _of(names: Sequence[str], wrong: Array) -> str:
    """Name the outputs, where these are not all."""
    if wrong.all():
        return ""
    named = tuple(name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong)
    return f" for the outputs {listed(named)}"


def _some(background: Background, rows: Indices) -> str:
    more = len(rows) - _NAMED_ROWS
    return describe_rows(background, rows[:_NAMED_ROWS]) + (
        f" and {more:,} more" if more > 0 else ""
    )


def _cure(loss: Loss) -> str:
    other = Loss.ABSOLUTE_ERROR if loss is Loss.SQUARED_ERROR else Loss.SQUARED_ERROR
    return f"Take a loss that stays finite, such as {other.value}"
