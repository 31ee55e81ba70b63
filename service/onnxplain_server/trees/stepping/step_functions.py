"""Step functions: a row's outputs as a function of one feature, from the leaves within reach.

If only one feature moves, a row can reach few leaves of a tree: it goes both ways at nodes that
compare the feature, and its own way elsewhere. Each of these leaves adds its value over runs of the
feature's cells, and the link function turns the sums into outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Cube, Matrix, Vector
from onnxplain_server.trees.counting.ranked_rows import RankedRows
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.descent import build_descent
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.reading.links import LinkScale
from onnxplain_server.trees.stepping.step_kernels import (
    DescentInput,
    FeaturePoints,
    average_outputs,
    compute_outputs,
)

_BLOCK = 256
"""Rows per kernel call."""
PARALLEL_BLOCKS = 16
"""Blocks whose averages are in memory before they are added up."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMeans:
    """Averages of outputs over rows and over points.

    Attributes
    ----------
    own : (n_points, n_outputs)
        Over the rows.
    others : (n, n_outputs)
        Over the points.
    """

    own: Matrix
    others: Matrix


class StepFunctions:
    """Outputs of rows as step functions of one moved feature.

    Parameters
    ----------
    trees : Ensemble
    scale : LinkScale
        From sums of its leaves to the outputs.
    ranked : RankedRows
    sums : (n, n_targets)
        Sums of leaves of the rows.

    Attributes
    ----------
    rows : DescentInput
    """

    def __init__(self, trees: Ensemble, scale: LinkScale, ranked: RankedRows, sums: Matrix) -> None:
        self._ensemble = trees
        self._scale = scale
        self._shares = ranked.shares
        cells = np.ascontiguousarray(ranked.codes.T)
        descent = build_descent(trees)
        self.rows = DescentInput(descent, trees.values, cells, sums)

    def means(self, feature: int, points: Int32Array, shares: Vector, pool: BlockPool) -> RowMeans:
        """Average outputs over rows, and over points of a feature.

        Parameters
        ----------
        points : (n_points,)
            Cells, ascending, without duplicates.
        shares : (n_points,)
            Weight of each point in the averages over points.
        """
        moved, n_outputs = self._moved(feature, points), len(self._scale.offset)
        own, others = (np.zeros((n, n_outputs)) for n in (len(points), len(self._shares)))
        spans = blocks(len(self._shares), _BLOCK)

        def average(span: tuple[int, int]) -> Matrix:
            part = np.zeros_like(own)
            average_outputs(
                *span, self.rows, moved, self._scale, self._shares, shares, part, others
            )
            return part

        for start in range(0, len(spans), PARALLEL_BLOCKS):
            for part in pool.run(average, spans[start : start + PARALLEL_BLOCKS]):
                own += part
        return RowMeans(own, others)

    def outputs(self, feature: int, points: Int32Array, pool: BlockPool) -> Cube:
        """Compute the outputs of each row at each point: (n, n_points, n_outputs)."""
        moved = self._moved(feature, points)
        outputs = np.zeros((len(self._shares), len(points), len(self._scale.offset)))
        spans = blocks(len(self._shares), _BLOCK)
        pool.run(lambda span: compute_outputs(*span, self.rows, moved, self._scale, outputs), spans)
        return outputs

    def _moved(self, feature: int, points: Int32Array) -> FeaturePoints:
        trees = self._ensemble
        first, last = trees.first[feature : feature + 2]
        at = np.searchsorted(points, np.arange(first, last)).astype(np.int32)
        roots, capacity = trees_comparing(trees, (feature,))
        return FeaturePoints(feature, roots, int(first), at, len(points), capacity)


def trees_comparing(trees: Ensemble, features: tuple[int, ...]) -> tuple[Int32Array, int]:
    """Return the roots of trees that compare a feature, and the capacity of a descent's stack."""
    nodes = np.flatnonzero(np.isin(trees.feature, features))
    roots = trees.roots[np.unique(np.searchsorted(trees.roots, nodes, side="right") - 1)]
    max_runs = max(1, int(np.diff(trees.truth.start)[nodes].max(initial=0)))
    return roots, 1 + (trees.depth + 1) * (2 * max_runs + 1)
