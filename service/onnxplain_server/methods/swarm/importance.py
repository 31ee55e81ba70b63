"""Importance from how far weights are from no change, and how much the score drops (Equation 3)."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector


def importance(distances: Vector, drops: Vector, limit: float) -> Vector:
    """Rank features of one class: (n_features,).

    I = σ_s · (limit − (σ_w / largest σ_w of the features with the same σ_s) / limit), and 0 where
    σ_w = 0. So features are ordered by σ_s; among those with the same, by how little they move.

    Parameters
    ----------
    distances : (n_features,)
        σ_w, mean distance of weights from no change.
    drops : (n_features,)
        σ_s, mean distance of scores from that of the rows as they are.
    limit : float
        Largest weight.
    """
    same = np.isclose(drops[:, None], drops[None, :], rtol=1e-9, atol=1e-12)
    largest = np.where(same, distances[None, :], 0.0).max(axis=1)
    moved = distances > 0
    shares = np.divide(distances, largest, out=np.zeros_like(distances), where=moved)
    found: Vector = np.where(moved, drops * (limit - shares / limit), 0.0)
    return found


def over_classes(importances: Matrix) -> tuple[Vector, Vector]:
    """Sum importances, (n_classes, n_features), over classes: as they are, and by class's largest.

    Returns
    -------
    total, relative : (n_features,)
    """
    largest = importances.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # shares of an infinite loss are no numbers
        relative = np.divide(
            importances, largest, out=np.zeros_like(importances), where=largest > 0
        )
    return importances.sum(axis=0), relative.sum(axis=0)
