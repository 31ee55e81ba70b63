"""Sweep: averages over hybrid rows, the background's rows with some features moved over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Cube
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.tile import Tile

_MAX_PARTS = 32
_ANY_NUMBERS = np.errstate(invalid="ignore")
"""Predictions of opposite infinities average to NaN, which the predictor refuses."""


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Averages of predictions M over background rows and over grid points.

    Attributes
    ----------
    points : (n_points, n_outputs), or (n_replicates, n_points, n_outputs)
        Weighted mean of M over the rows, for each grid point: partial dependence.
    rows : (n_rows, n_outputs), or (n_replicates, n_rows, n_outputs)
        Weighted mean of M over the grid points, for each row: the partial
        dependence on all other features, where the grid is the features' own values.
    """

    points: Array
    rows: Array


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Weights of the averages, each summing to 1; with replicates, several at once.

    Attributes
    ----------
    points : (n_points,), or (n_replicates, n_points)
    rows : (n_rows,), or (n_replicates, n_rows)
    """

    points: Array
    rows: Array


class Sweeper:
    """Moves features of a background over grids.

    Cost: one prediction per grid point and background row. Memory: one tile and one block of
    predictions per thread, and one row of averages per part, independent of the number of points.
    """

    def __init__(self, predictor: Predictor, background: Background) -> None:
        self._predictor = predictor
        self._background = background
        self._tiles: list[Tile] = []

    @property
    def row_count(self) -> int:
        """Number of rows of the background."""
        return len(self._background)

    @_ANY_NUMBERS
    def sweep(
        self, features: Sequence[int], points: Sequence[Array], shares: Shares, span: slice
    ) -> Averages:
        """Average over the rows and over `points`, the grid points of `span`.

        Parameters
        ----------
        features : features to move
        points : their values, (n_points,) each, in the model's types
        shares : Shares
            Of the whole grid.
        """
        n, length = len(self._background), points_per_block(len(self._background))
        averages = []
        rows = np.zeros((*shares.points.shape[:-1], n, len(self._predictor.output_names)))
        for start in range(0, len(points[0]), length):
            predicted = self._block(features, [p[start : start + length] for p in points])
            first = span.start + start
            block = shares.points[..., first : first + len(predicted)]
            averages.append(over_rows(shares.rows, predicted))
            rows += over_points(block, predicted)
        return Averages(np.concatenate(averages, axis=-2), rows)

    def _block(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Predict all rows at some grid points: (n_points, n_rows, n_outputs)."""
        count, n = len(points[0]), len(self._background)
        predicted = np.empty((count, n, len(self._predictor.output_names)))
        tile, start = self._borrow(), 0
        while start < count:
            size = self._predictor.batch_size.current()
            if tile.size != size:
                tile = Tile(self._predictor, self._background, size)
            stop = min(start + tile.copies, count)
            into = predicted[start:stop].reshape((stop - start) * n, -1)
            tile.predict(features, [p[start:stop] for p in points], into)
            start = stop
        self._tiles.append(tile)
        return predicted

    def _borrow(self) -> Tile:
        """Take a tile that no other thread uses; list operations are atomic."""
        try:
            return self._tiles.pop()
        except IndexError:
            size = self._predictor.batch_size.current()
            return Tile(self._predictor, self._background, size)


def points_per_block(n_rows: int) -> int:
    """Return how many grid points are predicted before their averages are taken.

    It does not depend on the batch size, so that sums keep their order.
    """
    return max(1, BatchSize.LARGEST // n_rows)


@_ANY_NUMBERS
def over_rows(shares: Array, predicted: Cube) -> Array:
    """Average (n_points, n_rows, n_outputs) over rows; replicates come first."""
    averages: Array = shares @ predicted
    return averages if shares.ndim == 1 else averages.swapaxes(0, 1)


@_ANY_NUMBERS
def over_points(shares: Array, predicted: Cube) -> Array:
    """Average (n_points, n_rows, n_outputs) over points; replicates come first."""
    averages = shares @ predicted.reshape(len(predicted), -1)
    return averages.reshape(*shares.shape[:-1], *predicted.shape[1:])


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Averages over the rows of a sweeper and over a grid, for `run_sweeps`.

    Attributes
    ----------
    sweeper : Sweeper
    features : sequence of int
        Features to move.
    points : sequence of (n_points,) arrays
        Their values, in the model's types.
    shares : Shares
    """

    sweeper: Sweeper
    features: Sequence[int]
    points: Sequence[Array]
    shares: Shares

    def spans(self) -> list[slice]:
        """Cut the grid into parts for the threads, each of whole blocks.

        Parts do not depend on the number of threads, so that sums keep their order.
        """
        n_points, block = len(self.points[0]), points_per_block(self.sweeper.row_count)
        length = math.ceil(n_points / _MAX_PARTS / block) * block
        return [slice(start, min(start + length, n_points)) for start in range(0, n_points, length)]

    def part(self, span: slice) -> Averages:
        """Average over the rows and over a part of the grid."""
        points = [values[span] for values in self.points]
        return self.sweeper.sweep(self.features, points, self.shares, span)


def run_sweeps(predictor: Predictor, sweeps: Sequence[Sweep]) -> list[Averages]:
    """Run sweeps side by side, so that no thread waits for the last part of each of them."""
    jobs = [(sweep, span) for sweep in sweeps for span in sweep.spans()]
    parts = iter(predictor.in_parallel(lambda job: job[0].part(job[1]), jobs))
    return [_join([next(parts) for _ in sweep.spans()]) for sweep in sweeps]


@_ANY_NUMBERS
def _join(parts: Sequence[Averages]) -> Averages:
    """Join the parts of a sweep, in the order of the grid."""
    total = np.zeros_like(parts[0].rows)
    for part in parts:
        total += part.rows
    return Averages(np.concatenate([part.points for part in parts], axis=-2), total)
