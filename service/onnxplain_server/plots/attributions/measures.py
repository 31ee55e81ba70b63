"""Sizes of values, of main effects and of interactions over the rows explained."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.elements.number_formats import drawable

_ROUNDING = 1e-6
"""Share of the largest prediction up to which a size may be rounding, of float32 too."""


def mean_sizes(result: Result) -> Matrix:
    """Return mean absolute values for ranking: (n_players, n_outputs); 0 if not finite.

    By the weights of the rows; where all have weight 0, each row counts once.
    """
    means = drawable(result.mean_absolute_values)
    if not np.isfinite(means).any():
        means = np.abs(drawable(result.values)).mean(axis=0)
    sizes: Matrix = np.where(np.isfinite(means), means, 0.0)
    return sizes


def main_effect_sizes(result: Result) -> Matrix:
    """Return mean absolute main effects, values less half of all interactions.

    Each row counts once.

    Returns
    -------
    sizes : (n_players, n_outputs)
        NaN where a value is not finite.
    """
    effects = np.array(drawable(result.values))
    for at, pair in enumerate(result.pairs):
        effects[:, pair] -= drawable(result.interactions[:, [at]]) / 2
    sizes: Matrix = np.abs(effects).mean(axis=0)
    return _without_rounding(sizes, result)


def interaction_sizes(result: Result) -> Matrix:
    """Return mean absolute interactions, where each row counts once: (n_pairs, n_outputs)."""
    # Of all pairs at once, a million rows would take three times the memory of the answer.
    pairs = range(result.interactions.shape[1])
    sizes = [np.abs(drawable(result.interactions[:, pair])).mean(axis=0) for pair in pairs]
    return _without_rounding(np.stack(sizes), result)


def rounding(result: Result) -> Vector:
    """Return the sizes that rounding of the predictions may have: (n_outputs,)."""
    predictions = np.abs(drawable(np.vstack([result.base_values, result.predictions])))
    largest: Vector = np.max(predictions, axis=0, initial=0.0, where=np.isfinite(predictions))
    return _ROUNDING * largest


def _without_rounding(sizes: Matrix, result: Result) -> Matrix:
    return np.where(sizes <= rounding(result), 0.0, sizes)
