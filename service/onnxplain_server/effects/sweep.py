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

    Cost: one prediction per grid point and background row. Memory: one tile per thread and
    one row of averages per part, independent of the number of points.
    """

    def __init__(self, predictor: Predictor, background: Background) -> None:
        self._predictor = predictor
        self._background = background
        self._tiles: list[Tile] = []

    @_ANY_NUMBERS
    def sweep(self, features: Sequence[int], points: Sequence[Array], shares: Shares) -> Averages:
        """Average over the background and over the grid.

        Parameters
        ----------
        features : features to move
        points : their values, (n_points,) each, in the model's types
        shares : Shares
        """
        parts = self._predictor.in_parallel(
            lambda span: self._part(features, [p[span] for p in points], shares, span),
            _spans(len(points[0]), len(self._background)),
        )
        total = np.zeros_like(parts[0].rows)
        for part in parts:
            total += part.rows
        return Averages(np.concatenate([part.points for part in parts], axis=-2), total)

    @_ANY_NUMBERS
    def _part(
        self, features: Sequence[int], points: Sequence[Array], shares: Shares, span: slice
    ) -> Averages:
        """Sweep over the grid points `points`, which are those of `span`."""
        tile = self._borrow()
        averages, n, n_points = [], len(self._background), len(points[0])
        rows = np.zeros((*shares.points.shape[:-1], n, len(self._predictor.output_names)))
        start = 0
        while start < n_points:
            size = self._predictor.batch_size.current()
            count = max(1, min(size // n, tile.copies, n_points - start))
            predicted = self._block(
                tile, features, [p[start : start + count] for p in points], size
            )
            first = span.start + start
            block = shares.points[..., first : first + count]
            averages.append(over_rows(shares.rows, predicted))
            rows += over_points(block, predicted)
            start += count
        self._tiles.append(tile)
        return Averages(np.concatenate(averages, axis=-2), rows)

    def _block(
        self, tile: Tile, features: Sequence[int], points: Sequence[Array], size: int
    ) -> Cube:
        """Predict all rows at some grid points: (n_points, n_rows, n_outputs)."""
        n, count = len(self._background), len(points[0])
        parts: list[Array] = []
        for start in range(0, n, max(size, 1) if count == 1 else n):
            rows = slice(start, min(start + size, n) if count == 1 else n)
            tile.replace(features, points, rows)
            row_count = count * (rows.stop - rows.start)
            parts.append(self._predictor.predict(tile.feeds(count, rows), row_count, size))
        stacked = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return stacked.astype(np.float64).reshape(count, n, -1)

    def _borrow(self) -> Tile:
        """Take a tile that no other thread uses; list operations are atomic."""
        try:
            return self._tiles.pop()
        except IndexError:
            return Tile(self._background, BatchSize.LARGEST)


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


def _spans(n_points: int, n_rows: int) -> list[slice]:
    """Cut grid points into parts for the threads, each of whole calls of the largest size.

    Parts do not depend on the number of threads, so that sums keep their order.
    """
    call = max(1, BatchSize.LARGEST // n_rows)
    length = math.ceil(n_points / _MAX_PARTS / call) * call
    return [slice(start, min(start + length, n_points)) for start in range(0, n_points, length)]
