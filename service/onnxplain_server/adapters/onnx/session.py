"""The model as explanations see it: columns in, prediction columns out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from onnxplain_server.adapters.onnx.faults import prediction_failed
from onnxplain_server.adapters.onnx.outputs import Part
from onnxplain_server.adapters.onnx.run import Run
from onnxplain_server.arrays import Array
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.model import Input, Note

Shape: TypeAlias = Callable[[Array], Array]
Arrange: TypeAlias = Callable[[list[Array]], Array]


class OnnxModel:
    """A loaded model; `model.Model` tells what it promises.

    Parameters
    ----------
    inputs, output_names, notes
        As in `model.Model`.
    run : Run
        Evaluates the model.
    arrange : callable
        Its outputs -> (n_rows, n_outputs).
    """

    def __init__(
        self,
        inputs: tuple[Input, ...],
        output_names: tuple[str, ...],
        notes: tuple[Note, ...],
        run: Run,
        arrange: Arrange,
    ) -> None:
        self.inputs = inputs
        self.output_names = output_names
        self.notes = notes
        self._run = run
        self._arrange = arrange

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows: name -> (n_rows, width) to (n_rows, n_outputs), as `model.Model` says."""
        try:
            answer = self._arrange(self._run(feeds))
        except ExplainError:
            raise
        except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
            raise prediction_failed(fault) from None
        row_count = len(next(iter(feeds.values())))
        if answer.shape != (row_count, len(self.output_names)):
            raise ExplainError(
                Reason.PREDICTION_FAILED,
                f"The model gave an answer of shape {answer.shape} for {row_count} rows; "
                f"({row_count}, {len(self.output_names)}) was expected.",
            )
        return answer


def arrange_columns(
    parts: Sequence[Part], trial: Sequence[Array]
) -> tuple[tuple[str, ...], Arrange]:
    """Decide how outputs become columns: the columns' names, and what puts them side by side.

    Parameters
    ----------
    parts : sequence of Part
        What the outputs are.
    trial : sequence of arrays
        The outputs for a few rows; what they look like is taken as the rule.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for outputs that are no columns.
    """
    shapes = [_shape(part, answer) for part, answer in zip(parts, trial, strict=True)]
    counts = [shape(answer).shape[1] for shape, answer in zip(shapes, trial, strict=True)]
    names = tuple(
        name
        for part, count in zip(parts, counts, strict=True)
        for name in part.names(count, alone=len(parts) == 1)
    )
    return names, _side_by_side(shapes)


def _side_by_side(shapes: Sequence[Shape]) -> Arrange:
    if len(shapes) > 1:
        return lambda outputs: np.concatenate(
            [shape(output) for shape, output in zip(shapes, outputs, strict=True)], axis=1
        )
    (shape,) = shapes
    return itemgetter(0) if shape is _as_given else lambda outputs: shape(outputs[0])


def _shape(part: Part, answer: Array) -> Shape:
    """What makes a matrix of this output."""
    if part.is_label:
        return _one_hot(part, answer)
    if answer.ndim > 2 or answer.ndim == 0:
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"The model's output {part.output!r} has {answer.ndim} dimensions. "
            "Supported are (rows,) and (rows, columns).",
            "model",
        )
    if answer.dtype == np.float16:
        return _as_float32
    return _as_given if answer.ndim == 2 else _as_column


def _as_given(output: Array) -> Array:
    return output


def _as_column(output: Array) -> Array:
    return output.reshape(-1, 1)


def _as_float32(output: Array) -> Array:
    return output.astype(np.float32).reshape(len(output), -1)


def _one_hot(part: Part, answer: Array) -> Shape:
    """Labels (n,) or (n, 1) to (n, n_labels): 1 for the predicted label."""
    labels = np.array(part.labels, dtype=object if answer.dtype == object else answer.dtype)

    def encode(predicted: Array) -> Array:
        hits: Array = predicted.reshape(-1, 1) == labels  # (n, n_labels)
        if not hits.any(axis=1).all():
            message = "The model predicts a label that is not among its classes."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return hits.astype(np.float32)

    return encode
