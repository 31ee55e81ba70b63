"""Attributions of models whose outputs are affine functions of the features."""

from __future__ import annotations

import numpy as np

from onnxplain_server.effects.attributing.games import Attributed, Game
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows


def attribute_affine(explained: ExplainedRows, game: Game) -> Attributed:
    """Compute the values of rows: what each player adds alone, whatever the others are.

    It is the partial dependence at the row's own values less the base value, and no two players
    interact.
    """
    columns, count = explained.rows.columns, len(explained.players)
    asked = [(player, [columns[j] for j in player]) for player in explained.players]
    curves = explained.effects.curves(asked)
    values = np.stack([curve - explained.base for curve in curves], axis=1)
    pairs = count * (count - 1) // 2 if game.order > 1 else 0
    return Attributed(values, np.zeros((len(explained.rows), pairs, values.shape[2])))
