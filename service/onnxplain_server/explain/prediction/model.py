"""Prediction model: a model whose outputs are expressions over the outputs of another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.model import Model, category_features, unremembered
from onnxplain_server.explain.prediction.expressions import Predictions

_STEP = 2.0**-24
"""Relative change of an output by which the error of an expression is measured."""
_ERROR_QUANTILE = 0.9
"""Share of the rows whose error is bounded: a condition may flip in others, whose output lies on
its border."""


class PredictionModel:
    """`Model` that evaluates expressions over the outputs of another model.

    Parameters
    ----------
    source : Model
    predictions : Predictions
    sample_outputs : callable () -> (n_rows, n_model_outputs)
        Predicts some rows of the table by `source`.
    """

    has_class_scores = False
    is_binary = False

    def __init__(
        self, source: Model, predictions: Predictions, sample_outputs: Callable[[], Matrix]
    ) -> None:
        self.source = source
        self.predictions = predictions
        self.inputs = source.inputs
        self.output_names = predictions.names
        self.notes = source.notes
        self._sample_outputs = sample_outputs

    @cached_property
    def roundings(self) -> Vector:
        """Relative errors of the predictions, from rounding in the outputs of the source.

        Each is the error in most of some rows, over the largest prediction in these rows.
        """
        outputs = self._sample_outputs()
        values = self.predictions.evaluate(outputs)
        errors = np.zeros_like(values)
        for k, rounding in enumerate(self.source.roundings):
            moved = outputs.copy()
            moved[:, k] *= 1 + _STEP
            change = np.abs(self.predictions.evaluate_unchecked(moved) - values)
            errors += rounding / _STEP * np.nan_to_num(change, posinf=0.0)
        error, size = np.quantile(errors, _ERROR_QUANTILE, axis=0), np.abs(values).max(axis=0)
        # Where all predictions are 0, whatever the error is makes up all of them.
        relative: Vector = np.divide(error, size, out=np.sign(error), where=size > 0)
        return relative

    @property
    def categories(self) -> frozenset[int]:
        """Features whose numbers are categories."""
        return category_features(self.source)

    @property
    def unremembered(self) -> PredictionModel:
        """The same model, asked for each row anew; see `Model.unremembered`."""
        return self.of(unremembered(self.source))

    def of(self, source: Model) -> PredictionModel:
        """Return the same expressions over the outputs of another model."""
        return PredictionModel(source, self.predictions, self._sample_outputs)

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Return the features that reach no output used, as `Model.unused`."""
        used = np.unique(np.concatenate([self.predictions.used[k] for k in outputs]))
        return self.source.unused(n_features, used)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows, as `Model.predict`.

        Raises
        ------
        ExplainError
            Also NON_FINITE_PREDICTION, where an expression is not finite.
        """
        return self.predictions.evaluate(self.source.predict(feeds).astype(np.float64))

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return calls on buffers, as `Model.on_buffers`; errors are those of `predict`."""
        predict = self.source.on_buffers(buffers)
        return lambda rows: self.predictions.evaluate(predict(rows).astype(np.float64))
