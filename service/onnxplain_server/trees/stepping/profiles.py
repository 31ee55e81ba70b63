"""Profiles: each row's predicted label as a piecewise constant function of one moved feature.

This is individual conditional expectation at every value of a feature at once. A row descends each
tree once. Where the path first compares a feature, the row descends again with that feature free:
each leaf it can then reach holds for a run of the feature's cells, and its difference from the
row's own leaf is added where the run begins and subtracted where it ends. Cumulative sums over the
cells give the outputs for every value. The cost is rows times trees times the leaves that one free
feature can reach, for all features together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.reading.check import rounding
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.stepping.profile_kernel import OutputTrees, find_pieces

_BLOCK = 256
"""Rows per kernel call."""
_RELATIVE = 1e-5
"""Relative tolerance of a tie for the largest output, besides the rounding of sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Intervals of constant label, ordered by row, feature and value.

    Attributes
    ----------
    row : (n,)
    place : (n,)
        Position of the feature among those moved.
    cell : (n,)
        Border at the piece's start.
    label : (n,)
        Largest output, the first of equal ones; `DOUBTFUL` where rounding decides.
    outputs : (n, n_outputs), or (0, n_outputs)
    """

    row: Int32Array
    place: Int32Array
    cell: Int32Array
    label: Int32Array
    outputs: Matrix

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Moved features, and the range of each row's moves.

    Attributes
    ----------
    features : (n_moved,)
    low, high : (n_rows, n_moved)
        First and last cell, as lower borders.
    """

    features: Indices
    low: Int32Array
    high: Int32Array


def profiles(
    ensemble: Ensemble, codes: Int32Array, ranges: Ranges, pool: BlockPool, *, with_outputs: bool
) -> Pieces:
    """Find the pieces of constant label as one feature of each row moves.

    Parameters
    ----------
    codes : (n_features, n_rows)
        Cells of the rows.
    with_outputs : bool
        Return pieces of constant outputs instead, with the outputs.
    """
    trees = _output_trees(ensemble)
    rows = np.ascontiguousarray(codes.T)
    place = np.full(len(ensemble.axes), -1, dtype=np.int32)
    place[ranges.features] = np.arange(len(ranges.features))
    tolerance = np.array([_RELATIVE, 2 * float(rounding(ensemble).max())])

    def visit(span: tuple[int, int]) -> tuple[Int32Array, Matrix]:
        pieces: tuple[Int32Array, Matrix] = find_pieces(
            *span, trees, rows, place, ranges.low, ranges.high, tolerance, with_outputs
        )
        return pieces

    return _concatenate(pool.run(visit, blocks(len(rows), _BLOCK)), len(ensemble.offset))


def _output_trees(ensemble: Ensemble) -> OutputTrees:
    number = np.zeros(len(ensemble.feature), dtype=np.int32)
    number[ensemble.leaf] = np.arange(len(ensemble.leaf))
    return OutputTrees(
        ensemble.roots,
        ensemble.feature,
        ensemble.true,
        ensemble.false,
        ensemble.truth,
        number,
        np.ascontiguousarray(ensemble.values @ ensemble.matrix.T),
        ensemble.offset,
        ensemble.first,
        ensemble.depth,
        int(np.diff(ensemble.truth.start).max(initial=0)),
    )


def _concatenate(parts: Sequence[tuple[Int32Array, Matrix]], n_outputs: int) -> Pieces:
    empty = np.empty((0, 4), np.int32)
    pieces = np.concatenate([empty, *(part for part, _ in parts)])
    outputs = np.concatenate([np.empty((0, n_outputs)), *(values for _, values in parts)])
    row, place, cell, label = (np.ascontiguousarray(column) for column in pieces.T)
    return Pieces(row, place, cell, label, outputs)
