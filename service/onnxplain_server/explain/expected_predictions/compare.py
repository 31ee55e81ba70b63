"""Use case: compare the model's predictions with the expected ones, on all rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.messages.missing_parts import missing_table
from onnxplain_server.core.model import Note, Scale
from onnxplain_server.core.table import Table
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.expected_predictions.causes import likely_causes
from onnxplain_server.explain.expected_predictions.comparison import (
    DifferingRow,
    OutputComparison,
    PredictionComparison,
)
from onnxplain_server.explain.expected_predictions.differences import (
    largest_size,
    rounding_of,
    sizes_of,
)
from onnxplain_server.explain.expected_predictions.expected_columns import (
    ExpectedPredictions,
    ModelOutputs,
    expected_predictions,
)
from onnxplain_server.explain.expected_predictions.trial import CauseTrial, rows_tried
from onnxplain_server.explain.sample import BoundTable

_SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonJob:
    """Comparison of all rows of a weight above 0, to be run once its rows are reserved.

    Attributes
    ----------
    cost : int
        Rows that it predicts, beside those of trials.
    run : callable () -> PredictionComparison
    """

    cost: int
    run: Callable[[], PredictionComparison]


def prepare_comparison(request: BoundRequest, bound: BoundTable | None) -> ComparisonJob | None:
    """Read the expected predictions; None where the request names none.

    Raises
    ------
    ExplainError
        INVALID_REQUEST without a model or a table, and those of `expected_predictions`.
    """
    columns = request.question.expected_prediction_columns
    if not columns:
        return None
    outputs = _outputs(request)
    if bound is None:
        raise missing_table()
    table = bound.weighted.table
    expected = expected_predictions(table, columns, outputs)
    cost = request.features.n_rows
    return ComparisonJob(cost, lambda: _compare(request, table, expected, outputs))


def _outputs(request: BoundRequest) -> ModelOutputs:
    model, question = request.model, request.question
    are_chosen = bool(question.outputs or question.output_indices)
    are_probabilities = model.has_class_scores and question.scale is Scale.RESPONSE
    return ModelOutputs(
        model.output_names,
        request.output_indices,
        are_chosen=are_chosen,
        are_classes=model.has_class_scores,
        are_probabilities=are_probabilities,
    )


def _compare(
    request: BoundRequest, table: Table, expected: ExpectedPredictions, outputs: ModelOutputs
) -> PredictionComparison:
    features = request.features
    predicted = request.predictor.predict_rows(features, features.cast_columns())
    largest = largest_size(predicted) if outputs.are_probabilities else 0.0
    rounding = rounding_of(expected.values, largest)
    sizes = sizes_of(predicted[:, expected.outputs], expected.values)
    comparison = _comparison(table, expected, predicted, sizes, rounding, outputs.names)
    if comparison.agrees:
        return comparison
    trial = _trial(request, expected, predicted, sizes, rounding, largest)
    return replace(
        comparison, likely_causes=likely_causes(trial, request, _severity(sizes, rounding) > 1)
    )


def _comparison(  # noqa: PLR0917 - its parts
    table: Table,
    expected: ExpectedPredictions,
    predicted: Matrix,
    sizes: Matrix,
    rounding: Vector,
    names: tuple[str, ...],
) -> PredictionComparison:
    outputs = tuple(
        OutputComparison(
            names[output],
            column,
            float(sizes[:, k].max(initial=0.0)),
            float(np.median(sizes[:, k])),
            float(rounding[k]),
            int(np.count_nonzero(sizes[:, k] > rounding[k])),
        )
        for k, (column, output) in enumerate(zip(expected.columns, expected.outputs, strict=True))
    )
    severity = _severity(sizes, rounding)
    worst = np.argsort(-severity, kind="stable")[:_SHOWN_ROWS]
    rows = [row for row in worst.tolist() if severity[row] > 1]
    numbers = table.as_sent(np.arange(table.n_rows))
    shown = tuple(
        DifferingRow(int(numbers[i]), expected.values[i], predicted[i, expected.outputs])
        for i in rows
    )
    return PredictionComparison(len(sizes), int(np.count_nonzero(severity > 1)), outputs, shown)


def _severity(sizes: Matrix, rounding: Vector) -> Vector:
    """Return the largest difference of each row, in multiples of rounding: above 1, it differs."""
    smallest = np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        multiples: Matrix = sizes / np.maximum(rounding, smallest)
    largest: Vector = multiples.max(axis=1)
    return largest


def _trial(  # noqa: PLR0917 - its parts
    request: BoundRequest,
    expected: ExpectedPredictions,
    predicted: Matrix,
    sizes: Matrix,
    rounding: Vector,
    largest_score: float,
) -> CauseTrial:
    severity = _severity(sizes, rounding)
    rows = rows_tried(severity > 1, severity)
    features = request.features.take(rows)
    return CauseTrial(
        features,
        features.cast_columns(),
        expected.values[rows],
        predicted[rows],
        expected.outputs,
        request.model.output_names,
        expected.columns,
        rounding,
        largest_score,
        severity[rows] > 1,
        lambda columns: request.unplanned.predict_rows(features, columns),
    )


def comparison_notes(comparison: PredictionComparison | None) -> tuple[Note, ...]:
    """Warn where predictions differ, with the likely cause."""
    if comparison is None or comparison.agrees:
        return ()
    worst = max(comparison.outputs, key=lambda each: each.largest_difference / (each.rounding or 1))
    causes = " ".join(cause.message for cause in comparison.likely_causes)
    first = comparison.differing_rows[0].row_index
    message = (
        f"The model predicts otherwise than {worst.expected_column!r} has it in "
        f"{_counted(comparison.differing_row_count, comparison.row_count)}: by up to "
        f"{worst.largest_difference:.3g}, where rounding explains {worst.rounding:.2g}, most in "
        f"row {first} (counted from 0). {causes or 'No cause was found.'}"
    )
    return (Note(InputWarning.PREDICTIONS_DIFFER, message),)


def _counted(differing: int, count: int) -> str:
    return "the only row" if count == 1 else f"{differing:,} of {count:,} rows"
