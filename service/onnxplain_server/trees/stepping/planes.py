"""Planes: a row's outputs as a function of two features or of one, and their averages over rows.

As `step_functions` with two features free: each leaf within reach adds its value over rectangles
of points (`rectangles`), and rows sweep over these, 64 at once (`plane_kernels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Cube, Indices, Matrix, Vector
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.reading.links import LinkScale
from onnxplain_server.trees.stepping.plane_kernels import add_outputs
from onnxplain_server.trees.stepping.rectangles import (
    Edges,
    Grid,
    PlanePoints,
    find_edges,
    make_grid,
)
from onnxplain_server.trees.stepping.step_functions import PARALLEL_BLOCKS
from onnxplain_server.trees.stepping.step_kernels import DescentInput

_BLOCK = 256
"""Rows per kernel call."""
_TILE = 256
"""Points whose outputs are computed at once: their sums for 64 rows fit into the cache."""


class Planes:
    """Outputs of rows as functions of two moved features, or of one.

    Parameters
    ----------
    trees : Ensemble
    scale : LinkScale
        From sums of its leaves to the outputs.
    rows : DescentInput
    pool : BlockPool
    """

    def __init__(
        self, trees: Ensemble, scale: LinkScale, rows: DescentInput, pool: BlockPool
    ) -> None:
        self._ensemble, self._scale, self._rows, self._pool = trees, scale, rows, pool

    def means(self, shares: Vector, features: Sequence[int], cells: Int32Array) -> Matrix:
        """Average outputs over rows with features at points: (n_points, n_outputs).

        Parameters
        ----------
        shares : (n,)
            Weights of the rows, summing to 1.
        features : one or two ints
        cells : (n_features, n_points)
            The points.
        """
        sweep = _Sweep.over(self._ensemble, self._rows, features, cells)
        spans = blocks(len(shares), _BLOCK)
        total = np.zeros((1, len(self._scale.offset), len(sweep.order)))

        def average(span: tuple[int, int]) -> Cube:
            part = np.zeros_like(total)
            self._add(span, sweep, shares, part)
            return part

        for first in range(0, len(spans), PARALLEL_BLOCKS):
            for part in self._pool.run(average, spans[first : first + PARALLEL_BLOCKS]):
                total += part
        means = np.empty((len(sweep.order), total.shape[1]))
        means[sweep.order] = total[0].T
        return means

    def outputs(self, features: Sequence[int], cells: Int32Array) -> Cube:
        """Compute the outputs of each row with features at points: (n, n_points, n_outputs).

        Parameters are those of `means`.
        """
        sweep = _Sweep.over(self._ensemble, self._rows, features, cells)
        count = len(self._rows.cells)
        totals = np.zeros((count, len(self._scale.offset), len(sweep.order)))
        shares, spans = np.ones(count), blocks(count, _BLOCK)
        self._pool.run(lambda span: self._add(span, sweep, shares, totals), spans)
        outputs = np.empty((count, len(sweep.order), totals.shape[1]))
        outputs[:, sweep.order] = totals.transpose(0, 2, 1)
        return outputs

    def _add(self, span: tuple[int, int], sweep: _Sweep, shares: Vector, totals: Cube) -> None:
        borders = self._ensemble.first
        grid, edges, points, _ = sweep
        add_outputs(*span, self._rows, borders, grid, edges, points, self._scale, shares, totals)


class _Sweep(NamedTuple):
    """Edges and points that rows sweep over, in the order of the sweep.

    Attributes
    ----------
    grid : Grid
    edges : Edges
    points : PlanePoints
    order : (n_points,)
        Number of each point that is swept.
    """

    grid: Grid
    edges: Edges
    points: PlanePoints
    order: Indices

    @classmethod
    def over(
        cls, trees: Ensemble, rows: DescentInput, features: Sequence[int], cells: Int32Array
    ) -> _Sweep:
        """Find it for one or two features, at cells."""
        if len(features) == 1:  # a line is a plane with one place along what does not move
            features, cells = (features[0],) * 2, np.stack([cells[0], np.zeros_like(cells[0])])
        (own, x), (other, y) = (np.unique(line, return_inverse=True) for line in cells)
        if len(own) < len(other):  # the line is the shorter one
            features, (own, x), (other, y) = features[::-1], (other, y), (own, x)
        order = np.argsort(x, kind="stable")
        start = np.searchsorted(x[order], np.arange(len(own) + 1)).astype(np.int32)
        tile = max(_TILE, int(np.diff(start).max()))
        points = PlanePoints(start, y[order].astype(np.int32), tile)
        grid = make_grid(trees, (features[0], features[1]), (own, other))
        return cls(grid, find_edges(rows.descent, grid, rows.values), points, order)
