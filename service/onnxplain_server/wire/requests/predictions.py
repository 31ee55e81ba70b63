"""Reader of requests for predictions, and writer of these, or of their comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.wire import answer
from onnxplain_server.wire.answers.warning_messages import write_warnings

if TYPE_CHECKING:
    from onnxplain_server.explain.expected_predictions.check import CheckedModel
    from onnxplain_server.explain.rows.predict import PredictedRows

_OWN = "row_indices"
"""The only field that a request for an explanation has not."""


def as_explain_request(
    message: service_pb2.PredictRequest | service_pb2.CheckModelRequest,
) -> service_pb2.ExplainRequest:
    """Return a request for an explanation, without methods, that reads its rows in the same way."""
    fields = {field.name: value for field, value in message.ListFields() if field.name != _OWN}
    return service_pb2.ExplainRequest(**fields)


def write(predictions: PredictedRows) -> service_pb2.PredictResponse:
    """Write predictions as message."""
    return service_pb2.PredictResponse(
        output_names=predictions.output_names,
        row_indices=predictions.rows,
        values=predictions.values.ravel(),
        warnings=write_warnings(predictions.notes),
    )


def write_check(checked: CheckedModel) -> service_pb2.CheckModelResponse:
    """Write a comparison as message."""
    return service_pb2.CheckModelResponse(
        comparison=answer.write_comparison(checked.comparison),
        warnings=write_warnings(checked.notes),
    )
