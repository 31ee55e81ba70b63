"""Tile: buffered copies of the background in which only the moved features are rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.effects.background import Background


class Tile:
    """Buffers of hybrid rows: copies of the background with some features replaced.

    Parameters
    ----------
    background : Background
    rows : int
        Capacity; at least one copy of the background fits.
    """

    def __init__(self, background: Background, rows: int) -> None:
        self._background = background
        self._n = len(background)
        self.copies = max(1, rows // self._n)
        self._columns = self._allocate()
        self._replaced: tuple[int, ...] = ()
        for feature in range(len(self._columns)):
            self._restore(feature)

    def _allocate(self) -> list[Array]:
        """Allocate the buffers, and return a (copies, n) view of each feature."""
        features = self._background.features
        shape = (self.copies, self._n)
        if features.matrix:
            matrix = np.empty((*shape, len(features.names)), features.dtypes[0])
            self._buffers = {features.matrix: matrix.reshape(-1, len(features.names))}
            return [matrix[:, :, j] for j in range(len(features.names))]
        columns = [np.empty(shape, dtype) for dtype in features.dtypes]
        self._buffers = {
            name: column.reshape(-1, 1)
            for name, column in zip(features.names, columns, strict=True)
        }
        return columns

    def _restore(self, feature: int) -> None:
        self._columns[feature][:] = self._background.columns[feature]

    def replace(self, features: Sequence[int], values: Sequence[Array]) -> None:
        """Set features to grid points, one point per copy of the background.

        Parameters
        ----------
        features : features to replace; all others are the background's
        values : one (n_points,) array each, n_points at most `copies`
        """
        for feature in self._replaced:
            if feature not in features:
                self._restore(feature)
        self._replaced = tuple(features)
        for feature, points in zip(features, values, strict=True):
            self._columns[feature][: len(points)] = points[:, None]

    def feeds(self, rows: slice) -> Mapping[str, Array]:
        """Return the model's inputs for some of the hybrid rows, copy by copy."""
        return {name: buffer[rows] for name, buffer in self._buffers.items()}
