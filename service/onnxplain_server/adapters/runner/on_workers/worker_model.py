"""Model whose rows are predicted by workers; all else of it is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnxplain_server.adapters.onnx import OnnxModel
from onnxplain_server.core.arrays import Array, Indices, Vector


class WorkerModel:
    """`Model` that predicts by workers, with the bits of the model of this process.

    Parameters
    ----------
    model : OnnxModel
    predict : callable (feeds) -> (n_rows, n_outputs)
    """

    def __init__(self, model: OnnxModel, predict: Callable[[Mapping[str, Array]], Array]) -> None:
        self.inputs = model.inputs
        self.output_names = model.output_names
        self.has_class_scores = model.has_class_scores
        self.is_binary = model.is_binary
        self.notes = model.notes
        self.predict = predict
        self._model = model

    @property
    def roundings(self) -> Vector:
        """Relative rounding errors of the outputs, as `Model.roundings`."""
        return self._model.roundings

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Return the features that cannot reach these outputs, as `Model.unused`."""
        return self._model.unused(n_features, outputs)

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return a function that predicts rows of these buffers, as `Model.on_buffers`."""
        return lambda rows: self.predict({name: each[rows] for name, each in buffers.items()})
