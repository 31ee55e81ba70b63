"""Averages over hybrid rows: background rows in which some features are moved over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.caller import Caller
from onnxplain_server.effects.pace import Pace
from onnxplain_server.effects.tile import Tile

_MOST_PARTS = 32
_ANY_NUMBERS = np.errstate(invalid="ignore")
"""Predictions of opposite infinities average to NaN, which the caller refuses."""


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """What is left of predictions M over grid points and background rows.

    Attributes
    ----------
    points : (n_points, n_outputs)
        Weighted mean of M over the rows, for each grid point: partial dependence.
    rows : (n_rows, n_outputs)
        Weighted mean of M over the grid points, for each row: the partial
        dependence on all other features, where the grid is the features' own values.
    """

    points: Matrix
    rows: Matrix


class Sweeper:
    """Moves features of a background over grids.

    Cost: one prediction per grid point and background row. Memory: one tile
    per thread and one row of averages per part, whatever the number of points.
    """

    def __init__(self, caller: Caller, background: Background) -> None:
        self._caller = caller
        self._background = background
        self._shares = background.weights / background.weights.sum()
        self._tiles: list[Tile] = []

    @_ANY_NUMBERS
    def sweep(self, features: Sequence[int], points: Sequence[Array], shares: Vector) -> Averages:
        """Average over the background and over the grid.

        Parameters
        ----------
        features : which ones to move
        points : their values, (n_points,) each, in the model's types
        shares : (n_points,)
            Share of each grid point in the average over points.
        """
        parts = self._caller.side_by_side(
            lambda span: self._part(features, [p[span] for p in points], shares[span]),
            _spans(len(points[0]), len(self._background)),
        )
        total = np.zeros_like(parts[0].rows)
        for part in parts:
            total += part.rows
        return Averages(np.concatenate([part.points for part in parts]), total)

    @_ANY_NUMBERS
    def _part(self, features: Sequence[int], points: Sequence[Array], shares: Vector) -> Averages:
        tile = self._borrow()
        averages, n = [], len(self._background)
        rows = np.zeros((n, len(self._caller.output_names)))
        start = 0
        while start < len(shares):
            size = self._caller.pace.size()
            count = max(1, min(size // n, tile.copies, len(shares) - start))
            block = slice(start, start + count)
            predicted = self._block(tile, features, [p[block] for p in points], size)
            averages.append(self._shares @ predicted)
            rows += (shares[block] @ predicted.reshape(count, -1)).reshape(rows.shape)
            start += count
        self._tiles.append(tile)
        return Averages(np.concatenate(averages), rows)

    def _block(
        self, tile: Tile, features: Sequence[int], points: Sequence[Array], size: int
    ) -> Cube:
        """Predict some grid points on all rows: (n_points, n_rows, n_outputs)."""
        n, count = len(self._background), len(points[0])
        parts: list[Array] = []
        for start in range(0, n, max(size, 1) if count == 1 else n):
            rows = slice(start, min(start + size, n) if count == 1 else n)
            tile.replace(features, points, rows)
            called = count * (rows.stop - rows.start)
            parts.append(self._caller.predict(tile.feeds(count, rows), called, size))
        stacked = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return stacked.astype(np.float64).reshape(count, n, -1)

    @_ANY_NUMBERS
    def sweep_levels(self, feature: int, outputs: Matrix) -> Averages:
        """Move a feature over its own few values, predicting only rows that have another one.

        Parameters
        ----------
        outputs : (n_rows, n_outputs)
            Predictions of the background rows: known where a row has the value already.
        """
        codes = self._background.codes[feature]
        levels = self._background.levels[feature]
        shares = np.bincount(codes, self._shares, len(levels))
        cubes = self._caller.side_by_side(
            lambda level: self._level(feature, codes, level, outputs), range(len(levels))
        )
        rows = np.zeros_like(outputs)
        for share, predicted in zip(shares, cubes, strict=True):
            rows += share * predicted
        return Averages(np.stack([self._shares @ predicted for predicted in cubes]), rows)

    def _level(self, feature: int, codes: Indices, level: int, outputs: Matrix) -> Matrix:
        """Predict all rows with a feature at one of its values: (n_rows, n_outputs)."""
        background = self._background
        other = np.flatnonzero(codes != level)
        columns = [column[other] for column in background.columns]
        columns[feature] = np.repeat(background.levels[feature][level : level + 1], len(other))
        predicted = outputs.copy()
        if len(other):
            predicted[other] = self._caller.predict_rows(background.features, columns)
        self._caller.ledger.spend(len(codes) - len(other), 0)
        return predicted

    def _borrow(self) -> Tile:
        """Take a tile that no other thread uses; list operations are atomic."""
        try:
            return self._tiles.pop()
        except IndexError:
            return Tile(self._background, Pace.LARGEST)


def _spans(n_points: int, n_rows: int) -> list[slice]:
    """Cut grid points into parts for the threads, of whole calls of the largest size.

    They depend on the work alone, never on the threads, so that sums keep their order.
    """
    call = max(1, Pace.LARGEST // n_rows)
    length = math.ceil(n_points / _MOST_PARTS / call) * call
    return [slice(start, min(start + length, n_points)) for start in range(0, n_points, length)]
