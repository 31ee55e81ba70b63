"""Writer of method results."""

from __future__ import annotations

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.methods.registry import Result, method_of
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.methods import RESULTS, WITHOUT_ROWS


def fill(message: service_pb2.Explanation, result: Result, *, rows: bool = True) -> None:
    """Write a result into the field of its method; without its rows, if they go elsewhere."""
    field = getattr(message, method_of(result).name)
    exceptions = RESULTS if rows else WITHOUT_ROWS
    field.CopyFrom(message_fields.write(type(field), result, exceptions))
