"""Sums of the logistic function of a number from one list and a number from another, each sum once.

For numbers r_i with weights and points s_p, Σ over i of w_i logistic(r_i + s_p) takes as many
evaluations as there are pairs. The logistic function is analytic for imaginary parts below π, and
at most 1 / sin(2.66) = 2.2 for those up to 2.66. So its interpolant at n Chebyshev points of an
interval of half-length h is exact to 8.8 ρ^(1 - n) / (ρ - 1), where ρ = x + √(x² + 1) for
x = 2.66 / h (Trefethen, Approximation Theory and Approximation Practice, theorem 8.2). Intervals of
length 2 with 24 points, and shorter ones with fewer, are exact to 2e-17, which is less than float64
rounding. Weights move from numbers to the nodes of their intervals, and sums move from nodes to
points, so time grows with the numbers and not with the pairs.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxplain_server.additive.model import logistic
from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_HEIGHT, _BOUND, _ERROR = 2.66, 2.2, 2e-17
"""Imaginary part up to which the logistic function has this bound; error of an interpolant."""
_SEVERAL_COST = 1 << 15
"""Pairs of numbers whose evaluation takes as long as finding several intervals."""
_BLOCK_PAIRS = 1 << 20
"""Pairs of numbers that are evaluated at once, which bounds memory."""


class Intervals(NamedTuple):
    """Intervals that numbers lie in, all of the same length.

    Attributes
    ----------
    centers : (n_intervals,)
    half : float
        Half their length.
    places : (n,)
        Interval of each number.
    """

    centers: Vector
    half: float
    places: Indices

    @property
    def degree(self) -> int:
        """Number of nodes of each."""
        if self.half == 0:
            return 1
        height = _HEIGHT / self.half
        ratio = height + math.hypot(height, 1)
        return 1 + math.ceil(math.log(4 * _BOUND / _ERROR / (ratio - 1)) / math.log(ratio))


class Numbers:
    """Numbers, and the nodes of the intervals that they lie in.

    Parameters
    ----------
    values : (n,)
        Finite.
    """

    def __init__(self, values: Vector) -> None:
        self.values = values

    @property
    def node_count(self) -> int:
        """Number of nodes of all intervals that have numbers in them."""
        return len(self.intervals.centers) * self.intervals.degree

    @cached_property
    def intervals(self) -> Intervals:
        """One interval of all numbers, or several of length 2 of those that have numbers."""
        low, high = float(self.values.min()), float(self.values.max())
        if high - low <= 2:
            places = np.zeros(len(self.values), dtype=np.intp)
            return Intervals(np.array([low / 2 + high / 2]), (high - low) / 2, places)
        whole, places = np.unique(np.floor(self.values / 2), return_inverse=True)
        return Intervals(2 * whole + 1, 1.0, places)

    @cached_property
    def nodes(self) -> Vector:
        """Nodes: (n_nodes,)."""
        centers, half, _ = self.intervals
        own = half * np.cos(_angles(self.intervals.degree))
        nodes: Vector = (centers[:, np.newaxis] + own).reshape(-1)
        return nodes

    @cached_property
    def weights(self) -> Matrix | csr_matrix:
        """Weights of the nodes in the interpolant at each number: (n, n_nodes)."""
        centers, half, places = self.intervals
        count = self.intervals.degree
        own = _node_weights((self.values - centers[places]) / (half or 1.0), count)
        if len(centers) == 1:
            return own
        from scipy.sparse import csr_matrix

        columns = places[:, np.newaxis] * count + np.arange(count)
        starts = np.arange(0, own.size + 1, count)
        shape = (len(self.values), self.node_count)
        return csr_matrix((own.reshape(-1), columns.reshape(-1), starts), shape=shape)

    @property
    def moving_cost(self) -> int:
        """Cost of moving weights to nodes, or sums from them, in pairs of numbers."""
        several = _SEVERAL_COST if len(self.intervals.centers) > 1 else 0
        return several + 2 * self.intervals.degree * len(self.values)


def _angles(count: int) -> Vector:
    angles: Vector = np.pi * (np.arange(count) + 0.5) / count
    return angles


def _node_weights(places: Vector, count: int) -> Matrix:
    """Return the values of the Lagrange polynomials at places in [-1, 1]: (n, n_nodes).

    By the second barycentric formula, which is stable (Higham 2004).
    """
    angles = _angles(count)
    nodes, signs = np.cos(angles), (-1.0) ** np.arange(count) * np.sin(angles)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = signs / (places[:, np.newaxis] - nodes)
        weights: Matrix = quotients / quotients.sum(axis=1, keepdims=True)
    at_node = np.flatnonzero(~np.isfinite(weights).all(axis=1))
    weights[at_node] = places[at_node, np.newaxis] == nodes
    return weights


def logistic_sums(
    rows: Numbers, points: Numbers, row_weights: Matrix, point_weights: Matrix | None = None
) -> tuple[Matrix, Matrix | None]:
    """Sum logistic(r_i + s_p) over rows i for each point p, and over points for each row.

    Parameters
    ----------
    rows, points : Numbers
        r_i and s_p.
    row_weights : (n_sets, n_rows)
    point_weights : (n_sets, n_points), optional

    Returns
    -------
    over_rows : (n_sets, n_points)
    over_points : (n_sets, n_rows), or None
        None without `point_weights`.
    """
    move_rows, move_points = moved(rows, points)
    one, two = rows.values, points.values
    at_rows: Array = row_weights
    at_points: Array | None = point_weights
    if move_rows:
        one, at_rows = rows.nodes, (rows.weights.T @ row_weights.T).T
    if move_points:
        two = points.nodes
        at_points = None if point_weights is None else (points.weights.T @ point_weights.T).T
    over_rows, over_points = _all_pairs(one, two, at_rows, at_points)
    if move_points:
        over_rows = (points.weights @ over_rows.T).T
    if move_rows and over_points is not None:
        over_points = (rows.weights @ over_points.T).T
    return over_rows, over_points


def moved(rows: Numbers, points: Numbers) -> tuple[bool, bool]:
    """Return whether rows, and points, are replaced by nodes in least time."""
    n_rows, n_points = len(rows.values), len(points.values)
    costs = {(False, False): n_rows * n_points}
    if n_rows * n_points > _SEVERAL_COST // 2:
        costs[False, True] = n_rows * points.node_count + points.moving_cost
        costs[True, False] = rows.node_count * n_points + rows.moving_cost
        nodes = rows.node_count * points.node_count
        costs[True, True] = nodes + rows.moving_cost + points.moving_cost
    return min(costs, key=lambda way: costs[way])


def _all_pairs(
    rows: Vector, points: Vector, row_weights: Matrix, point_weights: Matrix | None
) -> tuple[Matrix, Matrix | None]:
    """Sum over all pairs, as `logistic_sums`, in blocks of rows."""
    over_rows = np.zeros((len(row_weights), len(points)))
    over_points = []
    step = max(1, _BLOCK_PAIRS // max(len(points), 1))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        values = logistic(rows[block, np.newaxis] + points)
        over_rows += row_weights[:, block] @ values
        if point_weights is not None:
            over_points.append(point_weights @ values.T)
    return over_rows, np.concatenate(over_points, axis=1) if over_points else None
