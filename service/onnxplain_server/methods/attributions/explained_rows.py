"""Rows explained: what all ways of computing their values start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnxplain_server.core.arrays import Matrix, Vector
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
        cls, effects: Effects, rows: Background, players: Sequence[tuple[int, ...]]
    ) -> ExplainedRows:
        """Predict the background and the rows; all rows of the background once."""
        weights, outputs = effects.background.weights, effects.outputs()
        base = weights @ outputs / weights.sum()
        own = outputs if _are_equal(rows, effects.background) else effects.restrict(rows).outputs()
        return cls(effects, rows, players, base, own)


def _are_equal(rows: Background, background: Background) -> bool:
    """Return whether these are the rows of the background, each with the same numbers."""
    if len(rows) != len(background) or any(column.dtype == object for column in rows.columns):
        return False
    pairs = zip(rows.columns, background.columns, strict=True)
    return all(one.tobytes() == other.tobytes() for one, other in pairs)
