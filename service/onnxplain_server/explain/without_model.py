"""Requests without a model: what applies to a model only is refused."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale
from onnxplain_server.explain.question import Question


def check_without_model(question: Question) -> None:
    """Refuse what applies to a model only.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    options = {
        "input_columns": bool(question.input_columns),
        "output_indices": bool(question.output_indices),
        "outputs": bool(question.outputs),
        "class_labels": bool(question.class_labels),
        "scale": question.scale is not Scale.RESPONSE,
        "engine": question.engine is not None,
        "prediction": bool(question.prediction),
        "expected_prediction_columns": bool(question.expected_prediction_columns),
    }
    for name, is_set in options.items():
        if is_set:
            raise ExplainError(
                Reason.INVALID_OPTION, f"{name} applies to a model, and there is none", name
            )
