"""Knockoffs of numeric columns: synthetic copies with the same correlations to all others.

Columns are modelled by a mixture of Gaussians. Candès, Fan, Janson and Lv (2018),
"Panning for gold", JRSS B 80(3), 551-577, section 3.1; for mixtures, Gimenez, Ghorbani and Zou
(2019), "Knockoffs for the mass", AISTATS.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import linalg

from onnxplain_server.core.arrays import Matrix, Vector

_MAX_COMPONENTS = 5
_RIDGE = 1e-6
"""Regularization of unit variances, for columns that are functions of each other."""
_MAX_ASCENT_COLUMNS = 100
_MIN_BARRIER = 1e-4
_SLACK = 1e-3
"""Relative margin of the differences to their bound, so that no variance is negative."""


def draw(values: Matrix, component_count: int | None, seed: int) -> Matrix:
    """Draw a knockoff of each column: (n_rows, n_columns).

    Parameters
    ----------
    values : (n_rows, n_columns)
        Finite; no column constant.
    component_count : int or None
        None: from 1 to 5, by the Bayesian information criterion.
    """
    center, scale = values.mean(axis=0), values.std(axis=0)
    standard = (values - center) / scale
    mixture = _fit(standard, component_count, seed)
    random = np.random.default_rng([seed, 3])
    shares = mixture.predict_proba(standard).cumsum(axis=1)
    component = (random.random((len(values), 1)) > shares[:, :-1]).sum(axis=1)
    copies = np.empty_like(standard)
    for k in range(len(mixture.means_)):
        rows = np.flatnonzero(component == k)
        noise = random.standard_normal((len(rows), values.shape[1]))
        copies[rows] = _gaussian(standard[rows], mixture.means_[k], mixture.covariances_[k], noise)
    knockoffs: Matrix = copies * scale + center
    return knockoffs


def _fit(standard: Matrix, component_count: int | None, seed: int) -> Any:
    """Fit a mixture, choosing the number of components unless given."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - only some workers have it
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415 - only some workers have it

    counts = (component_count,) if component_count else range(1, _MAX_COMPONENTS + 1)
    mixtures = [
        GaussianMixture(count, reg_covar=_RIDGE, random_state=seed)
        for count in counts
        if count < len(standard)
    ]
    with warnings.catch_warnings():
        # Mixtures that have not converged are compared as they are.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = [mixture.fit(standard) for mixture in mixtures]
    return min(fitted, key=lambda mixture: mixture.bic(standard)) if fitted[1:] else fitted[0]


def _gaussian(values: Matrix, mean: Vector, covariance: Matrix, noise: Matrix) -> Matrix:
    """Draw knockoffs of Gaussian columns: (n_rows, n_columns)."""
    scale = np.sqrt(np.diag(covariance))
    apart = differences(covariance / np.outer(scale, scale)) * scale**2
    pull = linalg.solve(covariance, np.diag(apart), assume_a="pos")
    spread = 2 * np.diag(apart) - np.diag(apart) @ pull
    root = linalg.cholesky(spread + 1e-12 * np.eye(len(mean)), lower=True)
    drawn: Matrix = values - (values - mean) @ pull + noise @ root.T
    return drawn


def differences(correlation: Matrix) -> Vector:
    """Compute the differences s between columns and knockoffs: (n,), in (0, 1].

    Maximizes the sum of s, each at most 1, such that 2 R − diag(s) is positive semidefinite: the
    semidefinite programme of Candès et al., by coordinate ascent with a shrinking barrier after
    Askari, Rebjock, d'Aspremont and El Ghaoui (2020), "FANOK". Beyond 100 columns all s are
    equal, which is fast but leaves knockoffs nearer to their columns.

    Parameters
    ----------
    correlation : (n, n)
        Positive definite.
    """
    size = len(correlation)
    smallest = float(linalg.eigvalsh(correlation)[0])
    if size > _MAX_ASCENT_COLUMNS:
        return np.full(size, min(1.0, 2 * smallest) * (1 - _SLACK))
    s = np.full(size, min(1.0, 2 * smallest) / 2)
    barrier = 0.1
    while barrier > _MIN_BARRIER:
        for j in range(size):
            others = np.arange(size) != j
            rest = 2 * correlation[np.ix_(others, others)] - np.diag(s[others])
            cross = 2 * correlation[others, j]
            reach = 2 - cross @ linalg.solve(rest, cross, assume_a="pos")
            s[j] = min(1.0, max(reach - barrier, s[j] / 2))
        barrier *= 0.5
    feasible: Vector = s * (1 - _SLACK)
    return feasible
