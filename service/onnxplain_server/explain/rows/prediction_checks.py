"""Checks of the request's predictions against its other fields and methods."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.methods.registry import method_of


def check_prediction(question: Question) -> None:
    """Refuse predictions beside fields about the model's outputs, or that a method does not read.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if not question.prediction:
        return
    for field in ("output_indices", "outputs"):
        if getattr(question, field):
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{field} choose among the model's outputs, which prediction replaces; leave one "
                "of them out",
                field,
            )
    if question.class_labels:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "class_labels name the classes that the model's outputs score, which prediction "
            "replaces; leave one of them out",
            "class_labels",
        )
    for i, options in enumerate(question.methods):
        if reason := preparation_of(options).unread_prediction(options):
            raise prediction_unread(reason, f"methods[{i}].{method_of(options).name}")


def prediction_unread(reason: str, path: str) -> ExplainError:
    """Build the error for a method that would give the same answer without the predictions."""
    return ExplainError(
        Reason.INVALID_OPTION, f"prediction has no meaning here: {reason}; leave it out", path
    )
