"""Rows with features moved to points, as whole rows or made of the parts of first layers."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.sweeping.layer_tile import predict_moved


class MovedRows:
    """Predicts rows of a background with features moved.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    """

    def __init__(self, predictor: Predictor, background: Background) -> None:
        self._predictor = predictor
        self._background = background

    def predict(
        self, features: Sequence[int], points: Sequence[Array], row: Indices, point: Indices
    ) -> Matrix:
        """Predict rows with features at points: (n, n_outputs).

        Parameters
        ----------
        points : sequence of (n_points,) arrays
            Values of the features, in the model's types.
        row, point : (n,)
            Positions of a row of the background, and of a point.
        """
        layers = self._predictor.layers
        if layers is not None:
            rows, rest = layers.rows(self._background), self._predictor.of_rest(layers)
            return predict_moved(rest, rows, features, rows.parts_at(features, points), row, point)
        columns = [
            column[row] if j not in features else points[features.index(j)][point]
            for j, column in enumerate(self._background.columns)
        ]
        return self._predictor.predict_rows(self._background.features, columns)

    def with_features_of(
        self, features: Sequence[int], source: Indices, row: Indices, point: Indices
    ) -> Matrix:
        """Predict rows with features of other rows: (n, n_outputs).

        Parameters
        ----------
        source : (n_points,)
            Positions of rows whose values are the points.
        row, point : (n,)
            As of `predict`.
        """
        layers = self._predictor.layers
        if layers is not None:
            rows, rest = layers.rows(self._background), self._predictor.of_rest(layers)
            return predict_moved(rest, rows, features, rows.own_parts(features, source), row, point)
        own = [self._background.columns[j][source] for j in features]
        return self.predict(features, own, row, point)
