"""Sweep: averages over hybrid rows, the background's rows with some features moved over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Cube
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.layers.rows import LayeredRows
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.recording.journal import Journal, digest
from onnxplain_server.effects.sweeping.layer_tile import LayeredTile
from onnxplain_server.effects.sweeping.tile import Tile
from onnxplain_server.effects.weighted_mean import over_points, over_rows

_MAX_PARTS = 32
_BLOCK_CELLS = 1 << 22
"""Numbers in the rows of a block, which bounds the memory of wide tables."""
ANY_NUMBERS = np.errstate(invalid="ignore")
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

    def in_order(self) -> Averages:
        """Return the same numbers as the cache returns them: sums over them follow the memory."""
        return Averages(np.ascontiguousarray(self.points), np.ascontiguousarray(self.rows))


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
        self._tiles: list[Tile | LayeredTile] = []

    @cached_property
    def _layered(self) -> tuple[Predictor, LayeredRows] | None:
        """The rest of the model, and the rows as its tensors, where it is known by parts."""
        layers = self._predictor.layers
        if layers is None:
            return None
        return self._predictor.of_rest(layers), layers.rows(self._background)

    @ANY_NUMBERS
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
        n, length = len(self._background), self.points_per_block
        averages = []
        rows = np.zeros((*shares.points.shape[:-1], n, len(self._predictor.output_names)))
        has_point_shares = bool(shares.points.any())
        for start in range(0, len(points[0]), length):
            predicted = self._block(features, [p[start : start + length] for p in points])
            first = span.start + start
            block = shares.points[..., first : first + len(predicted)]
            averages.append(over_rows(shares.rows, predicted))
            if has_point_shares:
                rows += over_points(block, predicted)
        return Averages(np.concatenate(averages, axis=-2), rows)

    def _block(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Predict all rows at some grid points: (n_points, n_rows, n_outputs)."""
        count, n = len(points[0]), len(self._background)
        predicted = np.empty((count, n, len(self._predictor.output_names)))
        tile = self._borrow(count)
        tile.predict(features, points, predicted.reshape(count * n, -1))
        self._tiles.append(tile)
        return predicted

    def _borrow(self, copies: int) -> Tile | LayeredTile:
        """Take a tile that no other thread uses; list operations are atomic."""
        try:
            tile = self._tiles.pop()
        except IndexError:
            return self._tile(copies)
        return tile if tile.copies >= copies else self._tile(copies)

    def _tile(self, copies: int) -> Tile | LayeredTile:
        if self._layered is not None:
            return LayeredTile(*self._layered, copies)
        return Tile(self._predictor, self._background, copies)

    @property
    def points_per_block(self) -> int:
        """Number of grid points that are predicted before their averages are taken.

        It depends on rows and columns alone, and so does the order of sums.
        """
        width = len(self._background.columns)
        return max(1, min(BatchSize.LARGEST, _BLOCK_CELLS // width) // len(self._background))

    @property
    def rows_per_block(self) -> int:
        """Number of rows of a block, which one thread predicts."""
        return self.points_per_block * len(self._background)


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def content(self) -> bytes:
        """Digest of all that its averages depend on beside model and rows."""
        arrays = (*self.points, self.shares.points, self.shares.rows)
        return digest([f"sweep {tuple(self.features)}".encode(), *map(fingerprint, arrays)])

    @property
    def row_count(self) -> int:
        """Number of rows of the background."""
        return int(self.shares.rows.shape[-1])

    def spans(self) -> list[slice]:
        """Cut the grid into parts for the threads, each of whole blocks.

        Parts do not depend on the number of threads, so that sums keep their order.
        """
        n_points, block = len(self.points[0]), self.sweeper.points_per_block
        length = math.ceil(n_points / _MAX_PARTS / block) * block
        return [slice(start, min(start + length, n_points)) for start in range(0, n_points, length)]

    def part(self, span: slice) -> Averages:
        """Average over the rows and over a part of the grid."""
        points = [values[span] for values in self.points]
        return self.sweeper.sweep(self.features, points, self.shares, span)


def run_sweeps(predictor: Predictor, sweeps: Sequence[Sweep]) -> list[Averages]:
    """Run sweeps side by side, so that no thread waits for the last part of each of them."""
    jobs = [(sweep, span) for sweep in sweeps for span in sweep.spans()]

    def run(job: tuple[Sweep, slice]) -> Averages:
        sweep, span = job
        journal = predictor.journal
        return sweep.part(span) if journal is None else _journaled(predictor, journal, sweep, span)

    parts = iter(predictor.in_parallel(run, jobs))
    return [_join([next(parts) for _ in sweep.spans()]) for sweep in sweeps]


def _journaled(predictor: Predictor, journal: Journal, sweep: Sweep, span: slice) -> Averages:
    """Compute a part of a sweep, or take it from the journal."""
    place = f"{span.start} {span.stop}".encode()
    keys = [digest([sweep.content, place, kind]) for kind in (b"points", b"rows")]
    if journal.has_records:
        points, rows = map(journal.get, keys)
        if points is not None and rows is not None:
            predictor.ledger.spend((span.stop - span.start) * sweep.row_count, 0)
            return Averages(points, rows)
    with journal.part() as recorded:
        averages = sweep.part(span)
    journal.replace(recorded, dict(zip(keys, (averages.points, averages.rows), strict=True)))
    return averages


@ANY_NUMBERS
def _join(parts: Sequence[Averages]) -> Averages:
    """Join the parts of a sweep, in the order of the grid."""
    total = np.zeros_like(parts[0].rows)
    for part in parts:
        total += part.rows
    return Averages(np.concatenate([part.points for part in parts], axis=-2), total)
