"""Output columns: arrange the outputs of a model as one matrix of prediction columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from onnxplain_server.adapters.onnx.analysis.graph import quote_name
from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import distinct_names

Shape: TypeAlias = Callable[[Array], Array]
"""One output -> (n_rows, n_columns)."""


class OutputColumns:
    """Prediction columns, with shapes and names determined from the outputs for trial rows.

    Parameters
    ----------
    parts : sequence of OutputTensor
        Tensors of the outputs.
    trial : sequence of arrays
        The outputs for a few rows.

    Attributes
    ----------
    parts : sequence of OutputTensor
    names : tuple of str
        Column names, output by output; none twice.
    counts : tuple of int
        Number of columns per output.
    arrange : callable
        All outputs -> (n_rows, n_columns), float32 or float64.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for outputs with more than two dimensions.
    """

    def __init__(self, parts: Sequence[OutputTensor], trial: Sequence[Array]) -> None:
        shapes = [_shape(part, answer) for part, answer in zip(parts, trial, strict=True)]
        empty = [shape(answer[:0]) for shape, answer in zip(shapes, trial, strict=True)]
        self.parts = parts
        self.counts = tuple(columns.shape[1] for columns in empty)
        self.names = _names(parts, self.counts)
        self.arrange = _side_by_side(shapes)


def _names(parts: Sequence[OutputTensor], counts: Sequence[int]) -> tuple[str, ...]:
    """Name the columns, none twice.

    Columns of an output are called like `y_0` and `y_1`, or like `y[0]` and `y[1]` where the model
    has an output of one of these names.
    """
    pairs = list(zip(parts, counts, strict=True))
    usual = [part.names(count, alone=len(parts) == 1) for part, count in pairs]
    taken = Counter(name for names in usual for name in names)
    chosen = [
        tuple(f"{part.output}[{k}]" for k in range(count))
        if count > 1 and any(taken[name] > 1 for name in names)
        else names
        for (part, count), names in zip(pairs, usual, strict=True)
    ]
    return distinct_names([name for names in chosen for name in names])


def _side_by_side(shapes: Sequence[Shape]) -> Callable[[list[Array]], Array]:
    if len(shapes) > 1:
        return lambda outputs: np.concatenate(
            [shape(output) for shape, output in zip(shapes, outputs, strict=True)], axis=1
        )
    (shape,) = shapes
    return itemgetter(0) if shape is _unchanged else lambda outputs: shape(outputs[0])


def _shape(part: OutputTensor, answer: Array) -> Shape:
    """Choose the conversion of an output to a matrix."""
    if part.is_label:
        return _one_hot(part, answer)
    if answer.ndim not in {1, 2}:
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"The model's output {quote_name(part.output)} has {answer.ndim} dimensions. "
            "Supported are (rows,) and (rows, columns).",
            "model",
        )
    if answer.ndim == 1:
        return _as_column
    return _as_float32 if answer.dtype == np.float16 else _unchanged


def _unchanged(output: Array) -> Array:
    return output


def _as_column(output: Array) -> Array:
    column = output.reshape(-1, 1)
    return _as_float32(column) if output.dtype == np.float16 else column


def _as_float32(output: Array) -> Array:
    return output.astype(np.float32)


def _one_hot(part: OutputTensor, answer: Array) -> Shape:
    """Encode labels, (n,) or (n, 1), as (n, n_labels): 1 for the predicted label."""
    labels = np.array(part.labels, dtype=answer.dtype)

    def encode(predicted: Array) -> Array:
        hits: Array = predicted.reshape(-1, 1) == labels  # (n, n_labels)
        if not hits.any(axis=1).all():
            message = "The model predicts a label that is not among its classes."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return hits.astype(np.float32)

    return encode
