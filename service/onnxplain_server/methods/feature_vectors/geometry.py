"""Geometry of feature vectors: lengths, directions, similarities, neighbours and groups."""

from __future__ import annotations

import numpy as np
from scipy.cluster import hierarchy

from onnxplain_server.core.arrays import Indices, Matrix, Vector

MAX_COMPARED = 1_000
"""Largest number of features, by length, that are compared with each other."""


def norms(vectors: Matrix) -> Vector:
    """Return the lengths of vectors: (n_features,)."""
    lengths: Vector = np.linalg.norm(vectors, axis=1)
    return lengths


def angles(vectors: Matrix) -> Vector:
    """Return directions in the first two dimensions, in degrees from the first: (n_features,).

    In (-180, 180]; NaN for features whose vector is 0.
    """
    degrees = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    directions: Vector = np.where((vectors[:, :2] == 0).all(axis=1), np.nan, degrees)
    return directions


def difference(first: Vector, second: Vector) -> Vector:
    """Return the signed difference of directions in degrees, in [-180, 180)."""
    turned: Vector = (first - second + 180) % 360 - 180
    return turned


def similarity(vectors: Matrix) -> Matrix:
    """Return cosines between vectors: (n, n); NaN for vectors of 0."""
    lengths = norms(vectors)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = vectors / lengths[:, None]
    cosines: Matrix = np.clip(unit @ unit.T, -1, 1)
    return cosines


def important(vectors: Matrix, floor: float) -> Indices:
    """Return the features with at least a share of the largest length, up to `MAX_COMPARED`."""
    lengths = norms(vectors)
    longest = np.argsort(-lengths, kind="stable")[:MAX_COMPARED]
    return np.sort(longest[lengths[longest] >= max(floor * lengths.max(), np.nextafter(0, 1))])


def between(vectors: Matrix) -> Matrix:
    """Return angles between vectors in degrees, in [0, 180]: (n, n), exactly 0 on the diagonal."""
    apart = np.degrees(np.arccos(similarity(vectors)))
    np.fill_diagonal(apart, 0.0)
    return apart


def groups(vectors: Matrix, chosen: Indices, within: float) -> Indices:
    """Cluster features by direction: (n_features,), numbered from 1; 0 for those not chosen.

    Average linkage: groups merge while their mean angle is at most `within` degrees. Groups are
    numbered by their first feature.
    """
    numbers = np.zeros(len(vectors), dtype=np.intp)
    if len(chosen) < 2:
        numbers[chosen] = 1
        return numbers
    clusters = hierarchy.fcluster(_linkage(vectors, chosen), within, criterion="distance")
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    numbers[chosen] = first.argsort().argsort()[inverse] + 1
    return numbers


def neighbors(vectors: Matrix, chosen: Indices, count: int) -> list[tuple[Indices, Vector]]:
    """Return, for each feature, the nearest chosen ones by angle, and the ascending degrees."""
    nearest: list[tuple[Indices, Vector]] = [(np.array([], np.intp), np.array([]))] * len(vectors)
    apart = between(vectors[chosen])
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, : min(count, len(chosen) - 1)]
    for row, feature in enumerate(chosen):
        nearest[feature] = chosen[order[row]], apart[row, order[row]]
    return nearest


def _linkage(vectors: Matrix, chosen: Indices) -> Matrix:
    tree: Matrix = hierarchy.linkage(_condensed(vectors, chosen), method="average")
    return tree


def _condensed(vectors: Matrix, chosen: Indices) -> Vector:
    """Return the angles of all pairs as scipy's condensed distance matrix."""
    return between(vectors[chosen])[np.triu_indices(len(chosen), 1)]
