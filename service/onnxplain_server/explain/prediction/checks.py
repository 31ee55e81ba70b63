"""Checks of the request's predictions against its other fields and methods."""

from __future__ import annotations

from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.registry import SEQUENCES, method_of


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
        if reason := _reads_no_prediction(options):
            raise prediction_unread(reason, f"methods[{i}].{method_of(options).name}")


def prediction_unread(reason: str, path: str) -> ExplainError:
    """Build the error for a method that would give the same answer without the predictions."""
    return ExplainError(
        Reason.INVALID_OPTION, f"prediction has no meaning here: {reason}; leave it out", path
    )


def _reads_no_prediction(options: Any) -> str:
    """Return why a method does not read the predictions; empty if it does."""
    method = method_of(options)
    if method is SEQUENCES:
        return "importances of strings read the score of the model itself"
    if method.name == "swarm":
        return "swarm reads the classes and scores of the model itself"
    if method.name == "feature_vectors":
        from onnxplain_server.methods.feature_vectors import PathSource

        if options.source is PathSource.LABELS:
            return "the source LABELS reads the target; SURROGATE reads the predictions"
    if method.name == "firm":
        from onnxplain_server.methods.firm import ScoreSource

        if options.source is ScoreSource.LABELS and not options.contrasts:
            return "the source LABELS reads the target; MODEL and BOTH read the predictions"
    return ""
