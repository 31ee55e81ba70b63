"""Sums of the logistic function of a number from one list and a number from another, each sum once.

For numbers r_i with weights and points s_p, Σ over i of w_i logistic(r_i + s_p) takes as many
evaluations as there are pairs. The logistic function is analytic for imaginary parts below π, so on
intervals of length 2 its interpolant at 24 Chebyshev points is exact to less than float64 rounding:
on the ellipse of parameter ρ = 5.5, whose half-height is 2.66, it is at most 1 / sin(2.66) = 2.2,
and the error at most 4 · 2.2 · 5.5^-23 / 4.5 = 2e-17 (Trefethen, Approximation Theory and
Approximation Practice, theorem 8.2). Weights move from numbers to the nodes of their intervals, and
sums move from nodes to points, so time grows with the numbers and not with the pairs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxplain_server.additive.model import logistic
from onnxplain_server.core.arrays import Matrix, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NODE_COUNT = 24
_HALF = 1.0
"""Half the length of an interval."""
_BLOCK_PAIRS = 1 << 20
"""Pairs of numbers that are evaluated at once, which bounds memory."""


class Numbers:
    """Numbers, and the nodes of the intervals that they lie in.

    Parameters
    ----------
    values : (n,)
    """

    def __init__(self, values: Vector) -> None:
        self.values = values

    @property
    def node_count(self) -> int:
        """Number of nodes of all intervals that have numbers in them."""
        return len(self._intervals[0]) * _NODE_COUNT

    @cached_property
    def nodes(self) -> Vector:
        """Nodes: (n_nodes,)."""
        centers = (2 * self._intervals[0] + 1) * _HALF
        nodes: Vector = (centers[:, np.newaxis] + _HALF * _NODES).reshape(-1)
        return nodes

    @cached_property
    def _intervals(self) -> tuple[Vector, Any]:
        whole = np.floor(self.values / (2 * _HALF))
        intervals, inverse = np.unique(whole, return_inverse=True)
        return intervals, inverse

    @cached_property
    def weights(self) -> csr_matrix:
        """Weights of the nodes in the interpolant at each number: (n, n_nodes)."""
        from scipy.sparse import csr_matrix

        intervals, inverse = self._intervals
        centers = (2 * intervals[inverse] + 1) * _HALF
        own = _node_weights((self.values - centers) / _HALF)
        columns = inverse[:, np.newaxis] * _NODE_COUNT + np.arange(_NODE_COUNT)
        starts = np.arange(0, own.size + 1, _NODE_COUNT)
        shape = (len(self.values), self.node_count)
        return csr_matrix((own.reshape(-1), columns.reshape(-1), starts), shape=shape)


_ANGLES = np.pi * (np.arange(_NODE_COUNT) + 0.5) / _NODE_COUNT
_NODES = np.cos(_ANGLES)


def _node_weights(places: Vector) -> Matrix:
    """Return the values of the Lagrange polynomials at places in [-1, 1]: (n, n_nodes).

    By the second barycentric formula, which is stable (Higham 2004).
    """
    signs = (-1.0) ** np.arange(_NODE_COUNT) * np.sin(_ANGLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = signs / (places[:, np.newaxis] - _NODES)
        weights: Matrix = quotients / quotients.sum(axis=1, keepdims=True)
    at_node = np.flatnonzero(~np.isfinite(weights).all(axis=1))
    weights[at_node] = places[at_node, np.newaxis] == _NODES
    return weights


def takes_fewer(first: Numbers, second: Numbers) -> bool:
    """Return whether sums by nodes take less time than all pairs."""
    pairs = len(first.values) * len(second.values)
    by_nodes = first.node_count * second.node_count
    by_nodes += 4 * _NODE_COUNT * (len(first.values) + len(second.values))
    return by_nodes < pairs


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
    if not takes_fewer(rows, points):
        return _all_pairs(rows.values, points.values, row_weights, point_weights)
    moved = None if point_weights is None else (points.weights.T @ point_weights.T).T
    at_rows = (rows.weights.T @ row_weights.T).T
    over_rows, over_points = _all_pairs(rows.nodes, points.nodes, at_rows, moved)
    sums: Matrix = (points.weights @ over_rows.T).T
    return sums, None if over_points is None else (rows.weights @ over_points.T).T


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
