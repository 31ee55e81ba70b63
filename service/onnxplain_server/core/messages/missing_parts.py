"""Messages about requests without a model, or without a table."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason


def missing_model() -> ExplainError:
    """Return the refusal of what needs a model."""
    return ExplainError(
        Reason.INVALID_REQUEST,
        "no model: give the ONNX file; only feature_vectors and firm of LABELS, and firm of "
        "sequences with weights, need none",
        "model",
    )


def missing_table() -> ExplainError:
    """Return the refusal of what needs a table."""
    text = "no table: give it as arrow, parquet, csv or columns"
    return ExplainError(Reason.INVALID_REQUEST, text, "table")
