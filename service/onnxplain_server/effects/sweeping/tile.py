"""Tile: fixed buffers of hybrid rows, in which only the moved features are rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.predictor import Predictor

_MOST_BOUND = 64
"""Calls that are bound at a time: more are of so few rows each that binding takes no share."""


class Tile:
    """Hybrid rows of one block: copies of the background with some features replaced.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    copies : int
        Most points of a block: one copy of the background each.

    Attributes
    ----------
    copies : int
    """

    def __init__(self, predictor: Predictor, background: Background, copies: int) -> None:
        self.copies = copies
        self._predictor = predictor
        self._background = background
        self._columns: list[Array] = []
        self._buffers = self._allocate()
        self._calls: dict[tuple[int, int], Callable[[slice, int], Array]] = {}
        self._replaced: tuple[int, ...] = ()
        for feature in range(len(self._columns)):
            self._restore(feature)

    def _allocate(self) -> Mapping[str, Array]:
        """Allocate the model's inputs, and keep a (copies, n) view of each feature."""
        features = self._background.features
        shape = (self.copies, len(self._background))
        buffers = {}
        for name, count in features.inputs:
            dtype = features.dtypes[len(self._columns)]
            matrix = np.empty((*shape, count), dtype)
            self._columns += [matrix[:, :, j] for j in range(count)]
            buffers[name] = matrix.reshape(-1, count)
        return buffers

    def _restore(self, feature: int) -> None:
        self._columns[feature][:] = self._background.columns[feature]

    def predict(self, features: Sequence[int], values: Sequence[Array], into: Matrix) -> None:
        """Predict all rows at grid points, one point per copy of the background.

        Parameters
        ----------
        features : features to replace; all others are the background's
        values : one (n_points,) array each, n_points at most `copies`
        into : (n_points · n_rows, n_outputs)
            Where the predictions go, point by point.
        """
        self._replace(features, values)
        columns = [buffer[: len(into)] for buffer in self._buffers.values()]
        self._predictor.fill(into, self._call, columns)

    def _call(self, rows: slice, size: int) -> Array:
        return self._bound(rows)(slice(0, rows.stop - rows.start), size)

    def _bound(self, rows: slice) -> Callable[[slice, int], Array]:
        """Return the call of some rows: bound once, since binding costs as much as many rows."""
        place = rows.start, rows.stop
        if place not in self._calls:
            if len(self._calls) == _MOST_BOUND:
                self._calls.clear()
            views = {name: buffer[rows] for name, buffer in self._buffers.items()}
            self._calls[place] = self._predictor.on_buffers(views)
        return self._calls[place]

    def _replace(self, features: Sequence[int], values: Sequence[Array]) -> None:
        for feature in self._replaced:
            if feature not in features:
                self._restore(feature)
        self._replaced = tuple(features)
        for feature, points in zip(features, values, strict=True):
            self._columns[feature][: len(points)] = points[:, None]
