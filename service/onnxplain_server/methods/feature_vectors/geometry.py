"""Vectors to what people read off them: lengths, directions, neighbours, groups."""

from __future__ import annotations

import numpy as np
from scipy.cluster import hierarchy

from onnxplain_server.core.arrays import Indices, Matrix, Vector

MAX_COMPARED = 1_000
"""Features, the longest ones, that are compared with each other."""


def norms(vectors: Matrix) -> Vector:
    """Lengths: (n_features,)."""
    lengths: Vector = np.linalg.norm(vectors, axis=1)
    return lengths


def angles(vectors: Matrix) -> Vector:
    """Directions in the first two dimensions, in degrees from the first: (n_features,).

    In (-180, 180]; NaN for features whose vector is 0.
    """
    found = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    directions: Vector = np.where((vectors[:, :2] == 0).all(axis=1), np.nan, found)
    return directions


def difference(first: Vector, second: Vector) -> Vector:
    """Signed difference of directions in degrees, in [-180, 180)."""
    turned: Vector = (first - second + 180) % 360 - 180
    return turned


def similarity(vectors: Matrix) -> Matrix:
    """Cosines between vectors: (n, n); NaN where one is 0."""
    lengths = norms(vectors)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = vectors / lengths[:, None]
    cosines: Matrix = np.clip(unit @ unit.T, -1, 1)
    return cosines


def important(vectors: Matrix, floor: float) -> Indices:
    """Features at least as long as a share of the longest, up to `MAX_COMPARED`, ascending."""
    lengths = norms(vectors)
    longest = np.argsort(-lengths, kind="stable")[:MAX_COMPARED]
    return np.sort(longest[lengths[longest] >= max(floor * lengths.max(), np.nextafter(0, 1))])


def between(vectors: Matrix) -> Matrix:
    """Angles between vectors in degrees, in [0, 180]: (n, n), exactly 0 on the diagonal."""
    apart = np.degrees(np.arccos(similarity(vectors)))
    np.fill_diagonal(apart, 0.0)
    return apart


def groups(vectors: Matrix, chosen: Indices, within: float) -> Indices:
    """Gather features of nearly one direction: (n_features,), from 1; 0 for those not chosen.

    Average linkage of angles: groups are joined while features of both are `within` degrees
    of each other on average. Numbered by their first feature.
    """
    numbers = np.zeros(len(vectors), dtype=np.intp)
    if len(chosen) < 2:
        numbers[chosen] = 1
        return numbers
    found = hierarchy.fcluster(_linkage(vectors, chosen), within, criterion="distance")
    _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    numbers[chosen] = first.argsort().argsort()[inverse] + 1
    return numbers


def neighbors(vectors: Matrix, chosen: Indices, most: int) -> list[tuple[Indices, Vector]]:
    """For each feature, those chosen that are nearest in angle, and how far: ascending degrees."""
    nearest: list[tuple[Indices, Vector]] = [(np.array([], np.intp), np.array([]))] * len(vectors)
    apart = between(vectors[chosen])
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, : min(most, len(chosen) - 1)]
    for row, feature in enumerate(chosen):
        nearest[feature] = chosen[order[row]], apart[row, order[row]]
    return nearest


def _linkage(vectors: Matrix, chosen: Indices) -> Matrix:
    tree: Matrix = hierarchy.linkage(_condensed(vectors, chosen), method="average")
    return tree


def _condensed(vectors: Matrix, chosen: Indices) -> Vector:
    """Angles of all pairs, one after the other, as scipy has it."""
    return between(vectors[chosen])[np.triu_indices(len(chosen), 1)]
