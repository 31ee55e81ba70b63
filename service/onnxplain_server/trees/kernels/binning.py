"""Binning: bins of numbers, and sums over the rows of each bin, in one pass over the rows each."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Int16Vector, Matrix, Vector
from onnxplain_server.trees.kernels.compile import kernel

_GROUP = 64
"""Numbers that are looked up side by side, so that the processor waits for their loads at once."""

# Bins are cast to unsigned integers, as compiled code checks for a signed index below 0.


@kernel
def find_bins(values: Vector, edges: Vector, codes: Int16Vector) -> None:
    """Find how many edges are at most each value.

    Parameters
    ----------
    values : (n,)
        Without NaN.
    edges : (n_bins - 1,)
        Ascending.
    codes : (n,)
        Set to the bins.
    """
    for start in range(0, len(values), _GROUP):
        group, places = values[start : start + _GROUP], codes[start : start + _GROUP]
        places[:] = 0
        count = len(edges)
        while count > 0:
            half = (count + 1) >> 1
            for i in range(len(group)):
                edge = np.uint32(places[i] + half - 1)
                places[i] += np.int16(half) * np.int16(edges[edge] <= group[i])
            count -= half


@kernel
def sum_weights(codes: Int16Vector, weights: Vector, sums: Vector, squares: Vector) -> None:
    """Add the weights, and their squares, to the bins of the rows."""
    for i in range(len(codes)):
        code = np.uint16(codes[i])
        sums[code] += weights[i]
        squares[code] += weights[i] * weights[i]


@kernel
def average(
    codes: Int16Vector, weights: Vector, sums: Vector, values: Vector, means: Vector
) -> None:
    """Add the values of the rows, by their shares of the weight of a bin, to its mean.

    `weights` are (n,), or (1,) for rows of equal weight, which takes a third of the time.
    """
    if len(weights) > 1:
        for i in range(len(codes)):
            code = np.uint16(codes[i])
            means[code] += weights[i] / sums[code] * values[i]
        return
    shares = np.empty(len(sums))
    for b in range(len(sums)):
        shares[b] = weights[0] / sums[b]
    for i in range(len(codes)):
        code = np.uint16(codes[i])
        means[code] += shares[code] * values[i]


@kernel
def sum_scores(codes: Int16Vector, weights: Vector, scores: Matrix, totals: Matrix) -> None:
    """Add the weighted scores to the bins of the rows: (n, n_outputs) to (n_bins, n_outputs)."""
    for k in range(scores.shape[1]):
        for i in range(len(codes)):
            totals[np.uint16(codes[i]), k] += weights[i] * scores[i, k]
