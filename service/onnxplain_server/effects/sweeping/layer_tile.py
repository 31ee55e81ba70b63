"""Hybrid rows for the rest of a model: rows without some features, and parts that are put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.effects.layers.model import FirstLayers
from onnxplain_server.effects.layers.rows import LayeredRows, Move, Moves
from onnxplain_server.effects.predictor import Predictor

_MOST_BOUND = 64
"""Calls that are bound at a time."""

Fill: TypeAlias = Callable[[slice, Sequence[Array]], None]
"""Writes some of the rows of a piece into buffers of as many rows, one for each tensor."""


class LayeredCalls:
    """Calls of the rest of a model, whose rows are written when they are predicted.

    Parameters
    ----------
    predictor : Predictor
        Of the rest.
    first : FirstLayers
    """

    def __init__(self, predictor: Predictor, first: FirstLayers) -> None:
        self._predictor = predictor
        self._first = first
        self._buffers: list[Array] = []
        self._bound: dict[int, Callable[[slice, int], Array]] = {}

    def predict(self, fill: Fill, into: Matrix) -> None:
        """Predict the rows of a piece: (n_rows, n_outputs)."""

        def call(rows: slice, size: int) -> Array:
            count = rows.stop - rows.start
            predict = self._call(count)
            fill(rows, [buffer[:count] for buffer in self._buffers])
            return predict(slice(0, count), size)

        content = _Content(fill, self._first, len(into))
        self._predictor.fill(into, call, cast("list[Array]", [content]))

    def _call(self, count: int) -> Callable[[slice, int], Array]:
        """Return the call of so many rows: bound once, since binding costs as much as many rows."""
        if not self._buffers or len(self._buffers[0]) < count:
            self._buffers = [tensor.buffer(count) for tensor in self._first.tensors]
            self._bound.clear()
        if count not in self._bound:
            if len(self._bound) == _MOST_BOUND:
                self._bound.clear()
            views = [buffer[:count] for buffer in self._buffers]
            self._bound[count] = self._predictor.on_buffers(self._first.feeds(views))
        return self._bound[count]


class _Content:
    """Rows of a piece as the bytes that their predictions depend on; written where these count."""

    def __init__(self, fill: Fill, first: FirstLayers, count: int) -> None:
        self._fill = fill
        self._first = first
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> Array:
        count = rows.stop - rows.start
        buffers = [tensor.buffer(count) for tensor in self._first.tensors]
        self._fill(rows, buffers)
        return np.concatenate([each.view(np.uint8).reshape(count, -1) for each in buffers], axis=1)


class LayeredTile:
    """Hybrid rows of one block as tensors of the rest: a `Tile`.

    Parameters
    ----------
    predictor : Predictor
        Of the rest.
    rows : LayeredRows
    copies : int
        Most points of a block.

    Attributes
    ----------
    copies : int
    """

    def __init__(self, predictor: Predictor, rows: LayeredRows, copies: int) -> None:
        self.copies = copies
        self._rows = rows
        self._calls = LayeredCalls(predictor, rows.first)
        self._kept: list[Array] = []
        self._features: tuple[int, ...] | None = None

    def predict(self, features: Sequence[int], values: Sequence[Array], into: Matrix) -> None:
        """Predict all rows at grid points, as `Tile.predict`."""
        if self._features != tuple(features):
            self._kept, self._features = self._rows.without(features), tuple(features)
        n, moves = len(self._rows), self._rows.parts_at(features, values)

        def fill(rows: slice, buffers: Sequence[Array]) -> None:
            start = rows.start
            while start < rows.stop:  # whole copies of the rows, and the parts at both ends
                point, first = divmod(start, n)
                copies = max(1, (rows.stop - start) // n) if first == 0 else 1
                stop = min(start - first + copies * n, rows.stop)
                written = slice(start - rows.start, stop - rows.start)
                kept = slice(first, min(n, first + stop - start))
                points = slice(point, point + copies)
                for buffer, own, move in zip(buffers, self._kept, moves, strict=True):
                    shaped = buffer[written].reshape(copies, -1, buffer.shape[1])
                    _put(shaped, own[kept], points, move)
                start = stop

        self._calls.predict(fill, into)


def _put(buffer: Array, kept: Array, points: slice | Indices, move: Move) -> None:
    """Write rows at points: (n_points, n_rows, n_values), from (n_rows, n_values)."""
    if move is None:
        buffer[:] = kept
        return
    places, parts = move
    moved = parts[points][:, np.newaxis]
    if places is None:
        with np.errstate(invalid="ignore", over="ignore"):
            np.add(kept, moved, out=buffer)
    else:
        buffer[:] = kept
        buffer[..., places] = moved


def predict_moved(  # noqa: PLR0917 - what is moved, and where
    predictor: Predictor,
    rows: LayeredRows,
    features: Sequence[int],
    moves: Moves,
    row: Indices,
    point: Indices,
) -> Matrix:
    """Predict rows with features moved to points: (n, n_outputs).

    Parameters
    ----------
    predictor : Predictor
        Of the rest.
    row, point : (n,)
        Positions of a row, and of a point of `moves`.
    """
    kept = rows.without(features)

    def fill(part: slice, buffers: Sequence[Array]) -> None:
        for buffer, own, move in zip(buffers, kept, moves, strict=True):
            np.take(own, row[part], axis=0, out=buffer, mode="clip")
            _put(buffer[:, np.newaxis], buffer[:, np.newaxis], point[part], move)

    into = np.empty((len(row), len(predictor.output_names)))
    LayeredCalls(predictor, rows.first).predict(fill, into)
    return into
