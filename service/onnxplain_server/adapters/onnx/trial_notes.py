"""Notes of a trial: how rows are evaluated, and whether the model is a function of the row."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor
from onnxplain_server.adapters.onnx.checks.row_consistency import Inconsistency, row_names
from onnxplain_server.adapters.onnx.trial_rows import Trial
from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning

_LABELS_ONLY = Note(
    InputWarning.LABELS_ONLY,
    "The model gives only class labels: each class is explained as 1 where it is predicted and 0 "
    "elsewhere. Probabilities or scores tell more; export the model with them.",
)

_INCONSISTENT = "The model is not a function of the row: "
_NOT_CACHED = "The numbers hold for this computation only, and none of them were cached."


def trial_notes(
    parts: Sequence[OutputTensor], trial: Trial, inconsistency: str = ""
) -> tuple[Note, ...]:
    """Return the warnings of a trial.

    Parameters
    ----------
    inconsistency : str
        From `describe_inconsistency`; empty if there is none.
    """
    notes = (_LABELS_ONLY,) * parts[0].is_label
    if trial.is_chunked:
        notes += (_chunk_note(trial),)
    if inconsistency:
        notes += (Note(InputWarning.INCONSISTENT_MODEL, f"{inconsistency} {_NOT_CACHED}"),)
    return notes


def _chunk_note(trial: Trial) -> Note:
    """Tell why rows are evaluated in chunks, and how many at a time."""
    size = trial.runs.chunk_size
    advice = "this is slow. Export it with a symbolic batch dimension."
    if trial.mixes_rows:
        cause = "The model's answer for a row depends on the rows beside it"
        advice = "this is slow."
    elif size > 1:
        cause = f"The model takes {size} rows at once, no more and no less"
    else:
        cause = "The model cannot evaluate several rows at once"
    how = "each is evaluated on its own" if size == 1 else "each call is filled up to that number"
    return Note(InputWarning.ROW_BY_ROW, f"{cause}, so {how}; {advice}")


def describe_inconsistency(trial: Trial, source: Indices | None = None) -> str:
    """Describe the inconsistency that a trial shows; empty if there is none.

    Parameters
    ----------
    source : (n_rows,), optional
        Positions of the rows in a table; by default, they are counted in the trial.
    """
    found = trial.inconsistency
    if found is None:
        return ""
    if source is None:
        return f"{_INCONSISTENT}{_on_trial_rows(trial, found)}."
    rows = row_names([source[row] for row in found.rows], "the table")
    if rows:
        rows += f", of {len(source)} rows of it that were tried"
    return f"{_INCONSISTENT}{found.describe(rows)}."


def elsewhere_note(trial: Trial, row_count: int) -> Note:
    """Warn of an inconsistency in a trial that so many rows of the table do not show."""
    found = trial.inconsistency
    other_rows = _on_trial_rows(trial, found) if found else ""
    message = (
        f"On {row_count} rows of the table, the model gives each row one answer, up to rounding, "
        f"so it was explained. On other rows it does not: {other_rows}. Explanations also predict "
        "rows that are put together from several."
    )
    return Note(InputWarning.INCONSISTENT_ELSEWHERE, message)


def _on_trial_rows(trial: Trial, inconsistency: Inconsistency) -> str:
    kind = f"{len(trial.answers[0])} {trial.kind}"
    return inconsistency.describe(row_names(inconsistency.rows, kind))
