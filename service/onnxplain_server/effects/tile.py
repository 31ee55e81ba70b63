"""Tile: fixed buffers of hybrid rows, in which only the moved features are rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.predictor import Predictor


class Tile:
    """Hybrid rows of one call: copies of the background with some features replaced.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    size : int
        Batch size: as many copies are made as fit, at least one.

    Attributes
    ----------
    size : int
    copies : int
    """

    def __init__(self, predictor: Predictor, background: Background, size: int) -> None:
        self.size = size
        self.copies = max(1, size // len(background))
        self._background = background
        buffers = self._allocate()
        self._call = predictor.on_buffers(buffers)
        self._replaced: tuple[int, ...] = ()
        for feature in range(len(self._columns)):
            self._restore(feature)

    def _allocate(self) -> Mapping[str, Array]:
        """Allocate the model's inputs, and keep a (copies, n) view of each feature."""
        features = self._background.features
        shape = (self.copies, len(self._background))
        if features.matrix:
            matrix = np.empty((*shape, len(features.names)), features.dtypes[0])
            self._columns = [matrix[:, :, j] for j in range(len(features.names))]
            return {features.matrix: matrix.reshape(-1, len(features.names))}
        self._columns = [np.empty(shape, dtype) for dtype in features.dtypes]
        columns = zip(features.names, self._columns, strict=True)
        return {name: column.reshape(-1, 1) for name, column in columns}

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
        for start in range(0, len(into), self.size):
            call = slice(start, min(start + self.size, len(into)))
            into[call] = self._call(call, self.size)

    def _replace(self, features: Sequence[int], values: Sequence[Array]) -> None:
        for feature in self._replaced:
            if feature not in features:
                self._restore(feature)
        self._replaced = tuple(features)
        for feature, points in zip(features, values, strict=True):
            self._columns[feature][: len(points)] = points[:, None]
