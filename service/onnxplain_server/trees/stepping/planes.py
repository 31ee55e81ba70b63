"""Planes: a row's outputs as a function of two features, averaged over rows.

As `step_functions` with two features free: each leaf within reach adds its value over rectangles
of points (`rectangles`), and rows sweep over these (`plane_kernels`).
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.stepping.plane_kernels import add_outputs
from onnxplain_server.trees.stepping.rectangles import PlanePoints, find_edges, make_grid
from onnxplain_server.trees.stepping.step_functions import PARALLEL_BLOCKS
from onnxplain_server.trees.stepping.step_kernels import DescentInput

_BLOCK = 256
"""Rows per kernel call."""
_TILE = 256
"""Points whose outputs are computed at once: their sums for 64 rows fit into the cache."""


def plane_means(
    linked: LinkedEnsemble,
    rows: DescentInput,
    shares: Vector,
    features: tuple[int, int],
    cells: Int32Array,
    pool: BlockPool,
) -> Matrix:
    """Average outputs over rows with two features at points: (n_points, n_outputs).

    Parameters
    ----------
    shares : (n,)
        Weights of the rows, summing to 1.
    cells : (2, n_points)
        The points.
    """
    (own, x), (other, y) = (np.unique(line, return_inverse=True) for line in cells)
    if len(own) < len(other):  # the line is the shorter one
        features, (own, x), (other, y) = features[::-1], (other, y), (own, x)
    order = np.argsort(x, kind="stable")
    start = np.searchsorted(x[order], np.arange(len(own) + 1)).astype(np.int32)
    points = PlanePoints(start, y[order].astype(np.int32), max(_TILE, int(np.diff(start).max())))
    grid = make_grid(linked.ensemble, features, (own, other))
    edges = find_edges(rows.descent, grid, rows.values)
    scale, spans = linked.scale, blocks(len(shares), _BLOCK)
    total = np.zeros((len(scale.offset), len(order)))

    def average(span: tuple[int, int]) -> Matrix:
        part = np.zeros_like(total)
        add_outputs(*span, rows, linked.ensemble.first, grid, edges, points, scale, shares, part)
        return part

    for first in range(0, len(spans), PARALLEL_BLOCKS):
        for part in pool.run(average, spans[first : first + PARALLEL_BLOCKS]):
            total += part
    means = np.empty((len(order), len(total)))
    means[order] = total.T
    return means
