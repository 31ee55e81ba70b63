"""A model whose calls are counted among the spans of a request."""

from __future__ import annotations

import time
from collections.abc import Mapping

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.model import Model
from onnxplain_server.telemetry.spans import Spans


class TimedModel:
    """The same model; `model.Model` tells what it promises.

    Parameters
    ----------
    model : Model
    spans : Spans
        Of the request; calls come from threads that collect nothing by themselves.
    """

    def __init__(self, model: Model, spans: Spans) -> None:
        self.inputs = model.inputs
        self.output_names = model.output_names
        self.has_class_scores = model.has_class_scores
        self.notes = model.notes
        self._model = model
        self._spans = spans

    @property
    def roundings(self) -> Vector:
        """See `Model.roundings`."""
        return self._model.roundings

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """See `Model.unused`."""
        return self._model.unused(n_features, outputs)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """See `Model.predict`."""
        start = time.monotonic()
        try:
            return self._model.predict(feeds)
        finally:
            self._spans.count("predict", start, len(next(iter(feeds.values()))))
