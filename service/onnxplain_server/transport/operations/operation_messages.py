"""Messages of operations: google.longrunning.Operation with the contract's metadata."""

from __future__ import annotations

from google.longrunning.operations_pb2 import Operation as OperationMessage
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.status_pb2 import Status
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Progress
from onnxplain.v1.operations_pb2 import OperationMetadata
from onnxplain.v1.plan_pb2 import ExplanationPlan

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import Operation, OperationState
from onnxplain_server.transport.grpc_errors import error_status

_PREFIX = "operations/"
_TYPE = f"type.googleapis.com/{ExplainResponse.DESCRIPTOR.full_name}"


def operation_name(operation_id: str) -> str:
    """Return the resource name of an operation."""
    return f"{_PREFIX}{operation_id}"


def operation_id(name: str) -> str:
    """Return the id in a resource name; INVALID_REQUEST if it is none."""
    identifier = name.removeprefix(_PREFIX)
    if not name.startswith(_PREFIX) or not identifier or "/" in identifier:
        message = f'the name of an operation is "{_PREFIX}" and its id, not "{name[:100]}"'
        raise ExplainError(Reason.INVALID_REQUEST, message, "name")
    return identifier


def to_message(operation: Operation, response: bytes | None = None) -> OperationMessage:
    """Return the message of an operation, with its serialised response if given."""
    message = OperationMessage(name=operation_name(operation.id), done=operation.state.is_terminal)
    message.metadata.Pack(_metadata(operation))
    if (error := error_of(operation)) is not None:
        message.error.CopyFrom(error)
    if response is not None:
        message.response.type_url = _TYPE
        message.response.value = response
    return message


def error_of(operation: Operation) -> Status | None:
    """Return the error of an operation that FAILED or was CANCELLED, perhaps before it ran."""
    if operation.error is not None:
        return Status.FromString(operation.error)
    if operation.state is not OperationState.CANCELLED:
        return None
    return error_status(ExplainError(Reason.CANCELLED, "the caller cancelled the operation"))


def _metadata(operation: Operation) -> OperationMetadata:
    return OperationMetadata(
        state=operation.state.name,
        create_time=_timestamp(operation.create_time),
        start_time=_timestamp(operation.start_time),
        end_time=_timestamp(operation.end_time),
        expire_time=_timestamp(operation.expire_time),
        progress=Progress(done=operation.done, planned=operation.planned),
        attempt_count=operation.attempt_count,
        labels=operation.labels,
        methods=operation.method_names,
        request_id=operation.request_id,
        request_digest=operation.request_digest,
        cancel_requested=operation.is_cancel_requested,
        response_byte_count=operation.response_byte_count,
        plan=ExplanationPlan.FromString(operation.plan) if operation.plan else None,
        partial_count=operation.part_count,
    )


def _timestamp(seconds: float | None) -> Timestamp | None:
    if seconds is None:
        return None
    timestamp = Timestamp()
    timestamp.FromMilliseconds(round(1000 * seconds))
    return timestamp
