"""Timed model: a wrapper that records each call of a model as a span of the request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.model import Model, category_features, unremembered
from onnxplain_server.effects.layers.model import FirstLayers
from onnxplain_server.telemetry.spans import Spans, current
from onnxplain_server.trees.reading.refusal import Refusal


class TimedModel:
    """`Model` that delegates to another, and times its calls.

    Parameters
    ----------
    model : Model
    spans : Spans
        Spans of the request; calls come from pool threads, which have none of their own.
    """

    def __init__(self, model: Model, spans: Spans) -> None:
        self.inputs = model.inputs
        self.output_names = model.output_names
        self.has_class_scores = model.has_class_scores
        self.is_binary = model.is_binary
        self.notes = model.notes
        self._model = model
        self._spans = spans

    @property
    def roundings(self) -> Vector:
        """Relative rounding errors of the outputs, as `Model.roundings`."""
        return self._model.roundings

    @property
    def categories(self) -> frozenset[int]:
        """Features whose numbers are categories, as `core.model.category_features`."""
        return category_features(self._model)

    @property
    def unremembered(self) -> TimedModel:
        """The same model, asked for each row anew; see `Model.unremembered`."""
        return TimedModel(unremembered(self._model), self._spans)

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Return the features that cannot reach these outputs, as `Model.unused`."""
        return self._model.unused(n_features, outputs)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict, and record the duration and the row count."""
        start = time.monotonic()
        try:
            return self._model.predict(feeds)
        finally:
            self._spans.count("predict", start, len(next(iter(feeds.values()))))

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return calls on buffers, as `Model.on_buffers`, recorded like those of `predict`."""
        predict = self._model.on_buffers(buffers)

        def timed(rows: slice) -> Array:
            start = time.monotonic()
            try:
                return predict(rows)
            finally:
                self._spans.count("predict", start, rows.stop - rows.start)

        return timed


def timed_rest(first: FirstLayers | Refusal) -> FirstLayers | Refusal:
    """Return first layers whose rest is timed in the spans of this request."""
    if isinstance(first, Refusal):
        return first
    return replace(first, rest=TimedModel(first.rest, current()))
