"""Importance of moved features (Equation 3): by score drop, ties broken by weight distance."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector


def importance(distances: Vector, drops: Vector, limit: float) -> Vector:
    """Compute the importances of the features of one class: (n_features,).

    I = σ_s · (limit − (σ_w / largest σ_w of the features with the same σ_s) / limit), and 0 for
    σ_w = 0. This orders features by σ_s, and those with equal σ_s by ascending σ_w.

    Parameters
    ----------
    distances : (n_features,)
        σ_w, mean distance of weights from the neutral weight.
    drops : (n_features,)
        σ_s, mean distance of scores from the baseline score.
    limit : float
        Largest weight.
    """
    is_tied = np.isclose(drops[:, None], drops[None, :], rtol=1e-9, atol=1e-12)
    largest = np.where(is_tied, distances[None, :], 0.0).max(axis=1)
    moved = distances > 0
    shares = np.divide(distances, largest, out=np.zeros_like(distances), where=moved)
    importances: Vector = np.where(moved, drops * (limit - shares / limit), 0.0)
    return importances


def over_classes(importances: Matrix) -> tuple[Vector, Vector]:
    """Sum importances, (n_classes, n_features), over classes: absolute, and relative.

    Returns
    -------
    total, relative : (n_features,)
        Relative importances are shares of the class's largest.
    """
    largest = importances.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # ratios of infinite losses are NaN
        relative = np.divide(
            importances, largest, out=np.zeros_like(importances), where=largest > 0
        )
    return importances.sum(axis=0), relative.sum(axis=0)
