"""Check of a request at the start of an operation: what can be refused before it is computed.

The server process loads nothing that computes. It looks at what the contract alone tells: missing
parts, numbers outside their limits, fields that exclude each other, files that are no model. What
depends on the columns of a table or on a model's graph is refused when the operation runs.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from onnxplain_server.core import contract_limits
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.limits import Limits, within
from onnxplain_server.core.messages.missing_parts import missing_model, missing_table
from onnxplain_server.wire.requests.model_outline import check_outline
from onnxplain_server.wire.result_tables.table_check import check_result_table

_MESSAGE_BYTES = 2**20
"""Largest request that is looked at; its model and table are not in it."""

_MODEL_FORM = "onnx"

# Without a model: of LABELS, and of sequences; without a table: of the source MODEL.
_WITHOUT_FILES = {"firm", "feature_vectors"}

_NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
    FieldDescriptor.CPPTYPE_DOUBLE,
    FieldDescriptor.CPPTYPE_FLOAT,
}


def check_start(content: bytes, blobs: Blobs) -> None:
    """Refuse a serialised ExplainRequest that cannot be computed, whatever its files hold.

    Parameters
    ----------
    content : bytes
        It names its files by id.
    blobs : Blobs
        Those that it names.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_OPTION or INVALID_MODEL, as its computation would.
    """
    if len(content) > _MESSAGE_BYTES:
        return
    try:
        request = ExplainRequest.FromString(content)
    except DecodeError:
        message = "the message cannot be decoded"
        raise ExplainError(Reason.INVALID_REQUEST, message) from None
    _check_limits(request, "")
    _check_methods(request)
    _check_exclusive(request)
    check_result_table(request)
    _check_files(request, blobs)


def _check_limits(message: Message, prefix: str) -> None:
    """Refuse numbers, lists and texts outside their limits, also in messages within a message."""
    limits = getattr(contract_limits, message.DESCRIPTOR.name, None)
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        found = getattr(limits, field.name, None)
        if isinstance(found, Limits):
            _check_count(value, found, path)
        if field.message_type is not None and not field.is_repeated:
            _check_limits(value, f"{path}.")
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for index, each in enumerate(value):
                _check_limits(each, f"{path}[{index}].")
        elif isinstance(found, Limits) and field.cpp_type in _NUMBERS:
            for number in (min(value), max(value)) if field.is_repeated else (value,):
                within(number, found, path)


def _check_count(value: Any, limits: Limits[Any], path: str) -> None:
    """Refuse a list with too many entries, and a text with too many letters.

    Lists with too few are left to the computation: it tells first what is wrong with an entry.
    """
    if isinstance(value, Sized) and len(value) > limits.max_items:
        what = "letters" if isinstance(value, str) else "entries"
        name = path.rpartition(".")[2]
        message = f"{name} has {len(value):,} {what}; it takes at most {limits.max_items:,}"
        raise ExplainError(Reason.INVALID_OPTION, message, path)


def _check_methods(request: ExplainRequest) -> None:
    for index, method in enumerate(request.methods):
        if method.WhichOneof("method") is None:
            path = f"methods[{index}]"
            raise ExplainError(Reason.INVALID_REQUEST, f"{path} names no method", path)


def _check_exclusive(request: ExplainRequest) -> None:
    if request.input_columns and request.feature_columns:
        message, field = "give feature_columns or input_columns, not both", "input_columns"
        raise ExplainError(Reason.INVALID_OPTION, message, field)
    has_budget = request.HasField("budget_predicted_row_count")
    if not request.methods and request.row_count and has_budget:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "row_count and budget_predicted_row_count both set the rows of an overview; leave one "
            "out",
            "budget_predicted_row_count",
        )


def _check_files(request: ExplainRequest, blobs: Blobs) -> None:
    names = {method.WhichOneof("method") for method in request.methods}
    needs_files = not names or bool(names - _WITHOUT_FILES)
    if needs_files and not request.HasField("model"):
        raise missing_model()
    if needs_files and not request.HasField("table"):
        raise missing_table()
    blob = blobs.get(request.model.id)
    if blob is not None and blob.form == _MODEL_FORM and not blob.receipt:
        if not blob.content:
            raise ExplainError(Reason.INVALID_MODEL, "the model is empty: 0 bytes", "model")
        check_outline(blob.content)
