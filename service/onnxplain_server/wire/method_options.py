"""Reader and writer of method options: absent fields are read as defaults, written resolved."""

from __future__ import annotations

from typing import Any

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.registry import METHODS, PARTS, Method, Options, method_of
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.methods import READ, WRITE


def read(method: service_pb2.MethodOptions, path: str) -> Options:
    """Read the options of one method; `path` is their path in errors.

    Raises
    ------
    ExplainError
        INVALID_REQUEST or INVALID_OPTION.
    """
    name = method.WhichOneof("method")
    if name is None:
        raise ExplainError(Reason.INVALID_REQUEST, f"{path} names no method", path)
    message, path = getattr(method, name), f"{path}.{name}"
    for part in PARTS:
        if part.name == name and message.HasField(part.part):
            return _read_part(part, message, path)
    options: Options = message_fields.read(message, METHODS[name].options, path, READ)
    return options


def write(options: Options) -> service_pb2.MethodOptions:
    """Write options after defaults."""
    name = method_of(options).name
    method = service_pb2.MethodOptions()
    kind = type(getattr(method, name))
    getattr(method, name).CopyFrom(message_fields.write(kind, options, WRITE))
    return method


def _read_part(method: Method, message: Any, path: str) -> Options:
    row_fields = sorted({field.name for field, _ in message.ListFields()} - {method.part})
    if row_fields:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{row_fields[0]} is for features of rows and cannot stand beside {method.part}",
            f"{path}.{row_fields[0]}",
        )
    options: Options = message_fields.read(
        getattr(message, method.part), method.options, f"{path}.{method.part}"
    )
    return options
