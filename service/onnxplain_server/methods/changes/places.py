"""Pairs of features that have changed places, by more than chance.

Two features have where the first is larger in the reference and smaller in the answer, each by
more standard errors of their replicates than a share a = sqrt(error) / n of a normal distribution
exceeds. Of a pair whose order is the same on both sides, both are met with a chance of at most
2 a²; so of all n (n - 1) / 2 pairs at least one is called changed with a chance of at most `error`.

Berger (1982), "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24(4).
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix


def have_changed_places(reference: Matrix, answer: Matrix, level: float) -> Flags:
    """Tell which features have changed places with another one.

    Parameters
    ----------
    reference, answer : (1 + n_replicates, n_features)
        Sizes: those of the rows, then of replicates. Without two replicates nothing is told.
    level : float
        1 less the chance that any is called changed where both orders are the same.

    Returns
    -------
    (n_features,)
    """
    from scipy.special import ndtri

    if min(len(reference), len(answer)) < 3:
        return np.zeros(reference.shape[1], bool)
    far = -float(ndtri(np.sqrt(1 - level) / reference.shape[1]))
    fell: Flags = (_distances(reference) >= far) & (_distances(answer) <= -far)
    return np.array((fell | fell.T).any(axis=0))


def _distances(sizes: Matrix) -> Matrix:
    """Return by how many standard errors each feature is above each other one; NaN of equals."""
    own, replicates = sizes[0], sizes[1:]
    shared = np.atleast_2d(np.cov(replicates, rowvar=False))
    variances = np.diag(shared)[:, None] + np.diag(shared) - 2 * shared
    with np.errstate(divide="ignore", invalid="ignore"):
        distances: Matrix = (own[:, None] - own) / np.sqrt(np.maximum(variances, 0))
    return distances
