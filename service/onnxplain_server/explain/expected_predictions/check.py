"""Use case `check`: the comparison alone, of all rows, without an explanation."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.explain.binding.position_notes import position_notes
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.expected_predictions.compare import (
    comparison_notes,
    prepare_comparison,
)
from onnxplain_server.explain.expected_predictions.comparison import PredictionComparison
from onnxplain_server.explain.expected_predictions.expected_columns import FIELD
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.rows.prediction_checks import check_prediction
from onnxplain_server.explain.sample import BoundTable


@dataclass(frozen=True, slots=True, eq=False)
class CheckedModel:
    """Comparison of a model, with warnings and the rows predicted for it."""

    comparison: PredictionComparison
    notes: tuple[Note, ...]
    predicted_row_count: int


def check(
    model: Model | None, table: BoundTable | None, question: Question, resources: Resources
) -> CheckedModel:
    """Compare a model with the expected predictions of a table.

    Parameters
    ----------
    model : Model or None
        None is refused.
    table : BoundTable or None
        None is refused.
    question : Question
        Without methods.
    resources : Resources

    Raises
    ------
    ExplainError
        INVALID_REQUEST without `expected_prediction_columns`; those of `prepare_comparison`.
    """
    check_prediction(question)
    request = BoundRequest(model, table, question, resources, rows_once=True)
    comparing = prepare_comparison(request, table)
    if comparing is None:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"no expected predictions: name their columns in {FIELD}",
            FIELD,
        )
    request.ledger.reserve(comparing.cost)
    comparison = comparing.run()
    notes = (
        *comparison_notes(comparison),
        *request.model.notes,
        *position_notes(request.features),
    )
    return CheckedModel(comparison, notes, request.ledger.predicted)
