"""All coalitions: exact values of any model with few players, from the worth of every coalition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.attributing.games import Attributed, Game, Rules, rules_of
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows

_ROWS = 1 << 16
"""Mixed rows per call of the engine, which bounds memory."""


def coalition_cost(player_count: int, background_rows: int) -> int:
    """Return the predictions for one row: of all coalitions but the empty and the full one."""
    return ((1 << player_count) - 2) * background_rows


def attribute_by_coalitions(explained: ExplainedRows, game: Game) -> Attributed:
    """Compute the values of rows from all coalitions.

    The worth of a coalition is the average prediction of the background's rows, with the features
    of its players as in the row explained.
    """
    count, (row_count, width) = len(explained.players), explained.predictions.shape
    rules = rules_of(game.value, count)
    singles = _derivatives(count, [(p,) for p in range(count)], rules)
    pairs = _derivatives(count, combinations(range(count), 2) if game.order > 1 else (), rules)
    values, joint = (np.empty((row_count, len(each), width)) for each in (singles, pairs))
    for row, prediction in enumerate(explained.predictions):
        worth = np.vstack([explained.base, _worth(explained, row), prediction])
        values[row], joint[row] = singles @ worth, pairs @ worth
    return Attributed(values, joint)


def _worth(explained: ExplainedRows, row: int) -> Matrix:
    """Compute the worth of the coalitions from 1 to 2^d - 2, as bits: (2^d - 2, n_outputs)."""
    effects, players = explained.effects, explained.players
    background = effects.background
    shares = background.weights / background.weights.sum()
    masks = np.arange(1, 2 ** len(players) - 1)
    step = max(1, _ROWS // len(background))
    parts = [np.zeros((0, len(effects.output_names)))]
    for start in range(0, len(masks), step):
        own = masks[start : start + step]
        is_own = np.repeat(_features_of(own, players, background), len(background), axis=0)
        rows = np.full(len(is_own), row), np.tile(np.arange(len(background)), len(own))
        predicted = effects.mixed(explained.rows, RowMixture(*rows, is_own))
        by_mask = predicted.reshape(len(own), len(background), -1)
        parts.append(np.einsum("b,mbo->mo", shares, by_mask))
    return np.concatenate(parts)


def _features_of(masks: Array, players: Sequence[tuple[int, ...]], rows: Background) -> Array:
    """Return which features the players of coalitions have: (n_masks, n_features)."""
    is_own = np.zeros((len(masks), len(rows.columns)), dtype=np.bool_)
    for p, features in enumerate(players):
        is_own[:, list(features)] = (masks >> p & 1 == 1)[:, None]
    return is_own


def _derivatives(count: int, moved: Iterable[tuple[int, ...]], rules: Rules) -> Matrix:
    """Return the part of each coalition's worth in average derivatives: (n_moved, 2^count).

    Those of the multilinear extension along some players.
    """
    parts = [_derivative(count, players, rules) for players in moved]
    return np.array(parts).reshape(-1, 2**count)


def _derivative(count: int, moved: tuple[int, ...], rules: Rules) -> Vector:
    nodes, weights = rules.of(count)
    masks = np.arange(2**count)
    sizes = sum((masks >> p & 1 for p in range(count) if p not in moved), np.zeros_like(masks))
    signs = np.prod([np.where(masks >> p & 1, 1.0, -1.0) for p in moved], axis=0)
    others = count - len(moved)
    chances = weights @ (nodes[:, None] ** sizes * (1 - nodes[:, None]) ** (others - sizes))
    part: Vector = signs * chances
    return part
