"""Attributions of models whose outputs are affine functions of the features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.effects.attributing.games import Attributed, Game
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects


def attribute_affine(
    effects: Effects, explained: Background, players: Sequence[tuple[int, ...]], game: Game
) -> Attributed:
    """Compute the values of rows: what each player adds alone, whatever the others are.

    It is the partial dependence at the row's own values less the base value, and no two players
    interact.
    """
    weights, count = effects.background.weights, len(players)
    base = weights @ effects.outputs() / weights.sum()
    asked = [(player, [explained.columns[j] for j in player]) for player in players]
    values = np.stack([curve - base for curve in effects.curves(asked)], axis=1)
    pairs = count * (count - 1) // 2 if game.order > 1 else 0
    return Attributed(values, np.zeros((len(explained), pairs, values.shape[2])))
