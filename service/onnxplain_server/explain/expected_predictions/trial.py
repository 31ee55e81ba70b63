"""Trial of a cause: rows that differ beside rows that agree, and predictions of altered rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Indices, Matrix, Vector
from onnxplain_server.core.rows import Features
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.differences import agree, varies

PREDICTED_ROWS = 5_000
"""Rows that trying one cause may predict."""
_DIFFERING_ROWS = 150
_AGREEING_ROWS = 50
_EXPLAINED_SHARE = 0.95
"""Share of the rows tried that has to agree."""

Predict = Callable[[Sequence[Array]], Matrix]
"""Columns cast to the model's types, (n,) each, to the predictions of all outputs."""


@dataclass(frozen=True, slots=True, eq=False)
class CauseTrial:
    """Rows on which causes are tried.

    Attributes
    ----------
    features : Features
        Of the rows tried.
    columns : sequence of (n_rows,) arrays
        The same, cast.
    expected : (n_rows, n_columns)
    predicted : (n_rows, n_outputs)
        By the model, of all its outputs.
    outputs : (n_columns,)
        Position of the output of each expected column.
    output_names : tuple of str
        Of all outputs.
    expected_columns : tuple of str
    rounding : (n_columns,)
    largest_score : float
        As for `rounding_of`.
    differs : (n_rows,)
        Rows that differ stand before those that agree.
    predict : Predict
    """

    features: Features
    columns: Sequence[Array]
    expected: Matrix
    predicted: Matrix
    outputs: Indices
    output_names: tuple[str, ...]
    expected_columns: tuple[str, ...]
    rounding: Vector
    largest_score: float
    differs: Flags
    predict: Predict

    @property
    def compared(self) -> Matrix:
        """Predictions of the outputs compared: (n_rows, n_columns)."""
        return self.predicted[:, self.outputs]

    @property
    def varies(self) -> Flags:
        """Flags of expected columns that are more than a constant, which any factor explains."""
        return varies(self.expected, self.rounding)

    def agreeing(self, predicted: Matrix) -> Flags:
        """Return which rows agree with predictions of the outputs compared."""
        return agree(predicted, self.expected, self.rounding)

    def cause(
        self, kind: CauseKind, agreeing: Flags, message: str, share: float = _EXPLAINED_SHARE
    ) -> LikelyCause | None:
        """Return the cause if nearly all rows agree with it, of those that differ too.

        Parameters
        ----------
        kind : CauseKind
        agreeing : (n_rows,) or (n_tried,)
            Of all rows, or of some that differ.
        message : str
        share : float
            Of the rows that has to agree.
        """
        explained = int(np.count_nonzero(agreeing))
        is_of_all = len(agreeing) == len(self.differs)
        parts = (agreeing, agreeing[self.differs]) if is_of_all else (agreeing,)
        if any(np.count_nonzero(part) < share * len(part) for part in parts):
            return None
        return LikelyCause(kind, message, explained, len(agreeing))


def rows_tried(differs: Flags, severity: Vector) -> Indices:
    """Choose rows that differ, half of them those that do most, and then rows that agree.

    Parameters
    ----------
    differs : (n_rows,)
    severity : (n_rows,)
        Largest difference of each row, in multiples of its rounding.
    """
    differing = np.flatnonzero(differs)
    half = _DIFFERING_ROWS // 2
    worst = differing[np.argsort(-severity[differing], kind="stable")]
    spread = worst[half:][_evenly(len(worst) - half, _DIFFERING_ROWS - half)]
    agreeing = np.flatnonzero(~differs)
    return np.concatenate([worst[:half], spread, agreeing[_evenly(len(agreeing), _AGREEING_ROWS)]])


def _evenly(length: int, count: int) -> Indices:
    """Return at most `count` positions at equal distances."""
    return np.unique(np.linspace(0, max(length - 1, 0), min(count, max(length, 0))).astype(np.intp))
