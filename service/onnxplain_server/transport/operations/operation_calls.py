"""Calls of operations behind both transports: start, get, list, wait, cancel, delete, read.

Callers see their own operations only; others' do not exist.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from google.longrunning.operations_pb2 import ListOperationsResponse
from google.longrunning.operations_pb2 import Operation as OperationMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import OperationStore
from onnxplain_server.core.operations import NewOperation, Operation, OperationState, owner_key
from onnxplain_server.core.request import Body, RequestParts
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.operations.operation_arguments import (
    check_labels,
    check_request_id,
)
from onnxplain_server.transport.operations.operation_filter import parse_filter
from onnxplain_server.transport.operations.operation_messages import (
    error_of,
    operation_id,
    to_message,
)
from onnxplain_server.transport.operations.reachable import reachable
from onnxplain_server.transport.service import Service
from onnxplain_server.wire.protobuf_split import method_names
from onnxplain_server.wire.requests.start_check import check_start

WAIT_LIMIT = 32
"""Calls that wait at the same time, each on a thread; others get the current state at once."""

INLINE_BYTES = 3 * 2**20
"""Largest response within an operation: gRPC clients take messages of 4 MiB by default."""

PART_BYTES = 2**20

_STEP_SECONDS = 1.0
_PAGE_SIZE = 50
_PAGE_LIMIT = 1_000


class OperationCalls:
    """Calls of one transport.

    Parameters
    ----------
    service : Service
        Names the requests; its `operations` store them.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waits = threading.BoundedSemaphore(WAIT_LIMIT)

    def check_enabled(self) -> None:
        """Raise OPERATIONS_DISABLED where the server has no store of operations."""
        _ = self._store

    def start(
        self,
        request: RequestParts | Body,
        ticket: Ticket,
        request_id: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> OperationMessage:
        """Store a request to be computed; return its operation."""
        store = self._store
        check_request_id(request_id)
        check_labels(labels or {})
        call = self._service.name(request, ticket)
        check_start(call.request, call.blobs)
        new = NewOperation(
            call.request,
            call.blobs,
            caller_name=ticket.caller.name,
            caller_address=ticket.caller.address,
            model_id=call.ids.model,
            table_id=call.ids.table,
            table_form=call.ids.table_form,
            request_id=request_id,
            labels=dict(labels or {}),
            method_names=method_names(call.request),
        )
        with reachable():
            return to_message(store.start(owner_key(ticket.caller.name), new))

    def get(self, caller: str, name: str) -> OperationMessage:
        """Return an operation with its response; OPERATION_NOT_FOUND."""
        return self._with_response(caller, self._find(caller, name))

    def check_answer(self, caller: str, name: str) -> None:
        """Raise as `response_parts` does where an operation has no answer."""
        _check_succeeded(self._find(caller, name))

    def wait(
        self, caller: str, name: str, seconds: float, is_disconnected: Callable[[], bool]
    ) -> OperationMessage:
        """Return an operation with its response as soon as it ends, or after some seconds."""
        operation = self.wait_end(caller, name, seconds, is_disconnected)
        return self._with_response(caller, operation)

    def wait_end(
        self, caller: str, name: str, seconds: float, is_disconnected: Callable[[], bool]
    ) -> Operation:
        """Return an operation as soon as it ends, or after some seconds."""
        operation = self._find(caller, name)
        if self._waits.acquire(blocking=False):
            try:
                operation = self._wait(caller, operation, seconds, is_disconnected)
            finally:
                self._waits.release()
        return operation

    def follow(
        self, caller: str, name: str, is_disconnected: Callable[[], bool]
    ) -> Iterator[OperationMessage]:
        """Yield an operation without its response at each change, until its end.

        It also ends once the caller has gone.

        Raises
        ------
        ExplainError
            At the first step: OVERLOADED where too many follow already.
        """
        operation = self._find(caller, name)
        if not self._waits.acquire(blocking=False):
            message = f"{WAIT_LIMIT} calls follow operations already; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        try:
            previous = to_message(operation)
            yield previous
            while not (operation.state.is_terminal or is_disconnected()):
                operation = self._wait(caller, operation, _STEP_SECONDS, is_disconnected)
                self._check_running()
                message = to_message(operation)
                if message != previous:
                    yield message
                previous = message
        finally:
            self._waits.release()

    def list(
        self, caller: str, text: str, page_size: int, page_token: str
    ) -> ListOperationsResponse:
        """Return a page of operations without responses, newest first."""
        if page_size < 0:
            message = f"page_size must be at least 0, not {page_size}"
            raise ExplainError(Reason.INVALID_REQUEST, message, "page_size")
        store, matches = self._store, parse_filter(text)
        size = min(page_size or _PAGE_SIZE, _PAGE_LIMIT)
        with reachable():
            page, token = store.list(owner_key(caller), matches, size, page_token, query=text)
        operations = [to_message(operation) for operation in page]
        return ListOperationsResponse(operations=operations, next_page_token=token)

    def cancel(self, caller: str, name: str) -> None:
        """Cancel an operation; nothing changes if it has ended."""
        with reachable():
            if self._store.cancel(owner_key(caller), operation_id(name)) is None:
                raise _not_found(name)

    def delete(self, caller: str, name: str) -> None:
        """Forget an operation, ending it."""
        with reachable():
            if not self._store.delete(owner_key(caller), operation_id(name)):
                raise _not_found(name)

    def response_parts(self, caller: str, name: str, offset: float = 0) -> Iterator[bytes]:
        """Return the parts of a serialised ExplainResponse.

        Raises
        ------
        ExplainError
            OPERATION_NOT_DONE; the error of an operation that has failed; INVALID_REQUEST for an
            offset beyond the response. They are raised here, not by the iterator.
        """
        operation = self._find(caller, name)
        _check_succeeded(operation)
        size = operation.response_byte_count
        if not (math.isfinite(offset) and offset == int(offset) and 0 <= offset <= size):
            message = f"offset must be a whole number from 0 to {size:,}, the size of the answer"
            raise ExplainError(Reason.INVALID_REQUEST, message, "offset")
        return self._parts(operation, int(offset))

    def parts(self, caller: str, name: str) -> Sequence[bytes]:
        """Return the serialised PartialExplanations of an operation, in the order of methods."""
        with reachable():
            parts = self._store.read_parts(owner_key(caller), operation_id(name))
        if parts is None:
            raise _not_found(name)
        return parts

    @property
    def _store(self) -> OperationStore:
        store = self._service.operations
        if store is None:
            raise ExplainError(
                Reason.OPERATIONS_DISABLED,
                "this server keeps no operations: it needs Redis, by the setting redis_url",
            )
        return store

    def _find(self, caller: str, name: str) -> Operation:
        with reachable():
            operation = self._store.get(owner_key(caller), operation_id(name))
        if operation is None:
            raise _not_found(name)
        return operation

    def _wait(
        self,
        caller: str,
        operation: Operation,
        seconds: float,
        is_disconnected: Callable[[], bool],
    ) -> Operation:
        """Wait in steps, between which the caller may leave and the server may stop."""
        end = time.monotonic() + seconds
        while not (operation.state.is_terminal or is_disconnected() or self._service.is_stopping):
            left = end - time.monotonic()
            if left <= 0:
                break
            with reachable():
                latest = self._store.wait(owner_key(caller), operation.id, min(left, _STEP_SECONDS))
            if latest is None:
                raise _not_found(operation.id)
            operation = latest
        return operation

    def _check_running(self) -> None:
        if self._service.is_stopping:
            raise ExplainError(Reason.UNAVAILABLE, "the server is stopping; ask again")

    def _with_response(self, caller: str, operation: Operation) -> OperationMessage:
        is_inline = operation.response_byte_count <= INLINE_BYTES
        if operation.state is not OperationState.SUCCEEDED or not is_inline:
            return to_message(operation)
        with reachable():
            owner = owner_key(caller)
            response = self._store.read_response(owner, operation.id, 0, INLINE_BYTES)
        if response is None:
            raise _lost()
        return to_message(operation, response)

    def _parts(self, operation: Operation, offset: int) -> Iterator[bytes]:
        for start in range(offset, operation.response_byte_count, PART_BYTES):
            yield self._part(operation, start)  # and kept by nobody here while it is read

    def _part(self, operation: Operation, start: int) -> bytes:
        with reachable():
            part = self._store.read_response(operation.owner, operation.id, start, PART_BYTES)
        if part is None:
            raise _lost()
        return part


def _check_succeeded(operation: Operation) -> None:
    if operation.state is OperationState.SUCCEEDED:
        return
    if (error := error_of(operation)) is not None:
        _raise_status(error)
    raise ExplainError(
        Reason.OPERATION_NOT_DONE,
        f"the operation is {operation.state.name} and has no answer; wait for its end",
    )


def _raise_status(status: Status) -> NoReturn:
    """Raise the error of an operation as that of a call."""
    info, request = ErrorInfo(), BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(request)
    field = request.field_violations[0].field if request.field_violations else ""
    raise ExplainError(Reason.__members__.get(info.reason, Reason.INTERNAL), status.message, field)


def _not_found(name: str) -> ExplainError:
    message = f'no operation "{name[:100]}" of this caller; it may have expired'
    return ExplainError(Reason.OPERATION_NOT_FOUND, message, "name")


def _lost() -> ExplainError:
    message = "the answer was lost or damaged; start the operation again"
    return ExplainError(Reason.INTERNAL, message)
