"""Writer of method results."""

from __future__ import annotations

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.methods.registry import Result, method_of
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.methods import RESULTS


def fill(message: service_pb2.Explanation, result: Result) -> None:
    """Write a result into the field of its method."""
    field = getattr(message, method_of(result).name)
    field.CopyFrom(message_fields.write(type(field), result, RESULTS))
