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
        """Predict the background and the rows."""
        weights = effects.background.weights
        base = weights @ effects.outputs() / weights.sum()
        return cls(effects, rows, players, base, effects.restrict(rows).outputs())
