"""Rows explained: what all ways of computing their values start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """Rows explained against a background.

    Attributes
    ----------
    effects : Effects
        On the background.
    rows : Background
        The rows, one by one.
    players : sequence of tuples of int
        Features of each player. Each feature is in exactly one.
    base : (n_outputs,)
        Average prediction of the background.
    predictions : (n_rows, n_outputs)
    """

    effects: Effects
    rows: Background
    players: Sequence[tuple[int, ...]]
    base: Vector
    predictions: Matrix

    @classmethod
    def predict(
        cls,
        effects: Effects,
        rows: Background,
        players: Sequence[tuple[int, ...]],
        *,
        are_given: bool = False,
    ) -> ExplainedRows:
        """Predict the background and the rows; all rows of the background once.

        Parameters
        ----------
        are_given : bool
            Whether the rows are given by their values.
        """
        weights, outputs = effects.background.weights, effects.outputs()
        base = weights @ outputs / weights.sum()
        if not _are_equal(rows, effects.background):
            outputs = predict_explained(effects, rows, are_given=are_given)
        return cls(effects, rows, players, base, outputs)


def predict_explained(effects: Effects, rows: Background, *, are_given: bool) -> Matrix:
    """Predict the rows explained: (n_rows, n_outputs); an error names those that are given."""
    try:
        return effects.restrict(rows).outputs()
    except ExplainError as error:
        if not are_given or error.reason is not Reason.NON_FINITE_PREDICTION:
            raise
        message = f"in explained_rows, {error.message}"
        raise ExplainError(error.reason, message, error.field) from None


def _are_equal(rows: Background, background: Background) -> bool:
    """Return whether these are the rows of the background, each with the same numbers."""
    if len(rows) != len(background) or any(column.dtype == object for column in rows.columns):
        return False
    pairs = zip(rows.columns, background.columns, strict=True)
    return all(one.tobytes() == other.tobytes() for one, other in pairs)
