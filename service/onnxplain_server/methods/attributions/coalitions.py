"""All coalitions: exact values of any model with few players, from the worth of every coalition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Matrix
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
    count, rows = len(explained.players), range(len(explained.rows))
    base, predictions = explained.base, explained.predictions
    sums = np.stack([np.vstack([base, _worth(explained, row), predictions[row]]) for row in rows])
    rules = rules_of(game.value, count)
    values = [_derivative(sums, count, (p,), rules) for p in range(count)]
    pairs = combinations(range(count), 2) if game.order > 1 else ()
    joint = [_derivative(sums, count, pair, rules) for pair in pairs]
    none = np.zeros((len(rows), 0, sums.shape[2]))
    return Attributed(np.stack(values, axis=1), np.stack(joint, axis=1) if joint else none)


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


def _derivative(worth: Cube, count: int, moved: tuple[int, ...], rules: Rules) -> Matrix:
    """Average the derivative of the multilinear extension along players: (n_rows, n_outputs).

    Parameters
    ----------
    worth : (n_rows, 2^count, n_outputs)
    """
    nodes, weights = rules.of(count)
    masks = np.arange(2**count)
    sizes = sum((masks >> p & 1 for p in range(count) if p not in moved), np.zeros_like(masks))
    signs = np.prod([np.where(masks >> p & 1, 1.0, -1.0) for p in moved], axis=0)
    others = count - len(moved)
    chances = weights @ (nodes[:, None] ** sizes * (1 - nodes[:, None]) ** (others - sizes))
    derivative: Matrix = np.einsum("m,rmo->ro", signs * chances, worth)
    return derivative
