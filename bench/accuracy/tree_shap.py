"""TreeSHAP of scikit-learn's forests, as Lundberg et al. (2018) define it with paths' covers.

A leaf's part of the prediction is a product over the features on its path: 1 or 0 where the feature
is known, by whether the row takes all its splits, or the share of training rows that do. The
Shapley values of such a product are integrals of polynomials, which Gauss and Legendre's points
give exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from onnxplain_server.core.arrays import Array, Matrix, Vector

_MOST_ON_PATH = 128
"""Different features on a path: more than the trees here have."""


def _rule(count: int) -> Matrix:
    """Give points in [0, 1] and their weights: exact for products over 2 · count features."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return np.array([(points + 1) / 2, weights / 2])


_RULES = tuple(_rule(2**k) for k in range(7))


def importance(forest: Any, values: Matrix) -> Vector:
    """Average absolute Shapley values over rows and outputs: (n_features,)."""
    return np.asarray(np.abs(shapley(forest, values)).mean(axis=(0, 2)))


def shapley(forest: Any, values: Matrix) -> Array:
    """Compute Shapley values of a forest's mean prediction: (n_rows, n_features, n_outputs)."""
    rows = values.astype(np.float32)
    outputs = forest.estimators_[0].tree_.value.shape[2]
    total = np.zeros((*values.shape, outputs))
    for tree in (estimator.tree_ for estimator in forest.estimators_):
        leaf_values = tree.value[:, 0, :].copy()
        total += _of_tree(
            tree.children_left, tree.children_right, tree.feature, tree.threshold,
            tree.weighted_n_node_samples, leaf_values, rows, _RULES,
        )  # fmt: skip
    return np.asarray(total / len(forest.estimators_))


@njit(nogil=True, error_model="numpy", cache=True)
def _of_tree(  # noqa: PLR0917 - compiled functions take no keywords
    left: Array, right: Array, feature: Array, threshold: Array, cover: Array, leaf: Array,
    rows: Array, rules: tuple[Matrix, ...],
) -> Array:  # fmt: skip
    found = np.zeros((rows.shape[0], rows.shape[1], leaf.shape[1]))
    parent = np.full(len(left), -1)
    for node in range(len(left)):
        if left[node] >= 0:
            parent[left[node]] = parent[right[node]] = node
    on_path = np.empty(_MOST_ON_PATH, np.int64)
    unknown, known = np.empty(_MOST_ON_PATH), np.empty(_MOST_ON_PATH)
    for end in np.flatnonzero(left < 0):
        for row in range(rows.shape[0]):
            count, child = 0, end
            while parent[child] >= 0:
                node = parent[child]
                goes_left = rows[row, feature[node]] <= threshold[node]
                place = _find(on_path[:count], feature[node])
                if place == count:
                    on_path[count], unknown[count], known[count] = feature[node], 1.0, 1.0
                    count += 1
                unknown[place] *= cover[child] / cover[node]
                known[place] *= goes_left == (child == left[node])
                child = node
            share = _integrate(unknown[:count], known[:count], rules)
            for place in range(count):
                found[row, on_path[place]] += share[place] * leaf[end]
    return found


@njit(nogil=True, error_model="numpy", cache=True)
def _find(places: Array, wanted: int) -> int:
    """Find a value; the length where there is none."""
    for place in range(len(places)):
        if places[place] == wanted:
            return place
    return len(places)


@njit(nogil=True, error_model="numpy", cache=True)
def _integrate(unknown: Array, known: Array, rules: tuple[Matrix, ...]) -> Array:
    """Integrate the product over all other features, for each one."""
    share = np.zeros(len(unknown))
    which = 0
    while 2 << which < len(unknown):
        which += 1
    for k in range(1 << which):
        t, product = rules[which][0, k], rules[which][1, k]
        for place in range(len(share)):
            product *= unknown[place] * (1 - t) + known[place] * t
        for place in range(len(share)):
            factor = unknown[place] * (1 - t) + known[place] * t
            share[place] += (known[place] - unknown[place]) * product / factor
    return share
