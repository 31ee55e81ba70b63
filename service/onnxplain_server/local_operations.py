"""Operations of `onnxplain.local()`: kept and computed in this process, and ended with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import onnxplain
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    PartialExplanation,
)

from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.operations import OperationLimits
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.operations.executor import OperationExecutor
from onnxplain_server.transport.operations.operation_calls import OperationCalls
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.status import STATUS
from onnxplain_server.wire.requests.message_split import split_message

LOCAL_CALLER = "local"

_YEAR = 365 * 86_400.0
_LIMITS = OperationLimits(byte_count=2**63, seconds=_YEAR, kept_count=2**31, lease_seconds=2.0)
_STOP_SECONDS = 10.0


@contextmanager
def translated() -> Iterator[None]:
    """Turn the server's errors into those of the Python client."""
    try:
        yield
    except ExplainError as error:
        reason = error.reason
        raise onnxplain.ExplainError(
            reason.name, error.message, error.field, STATUS[reason].grpc.name
        ) from error


def local_store() -> MemoryOperations:
    """Return a store without limits."""
    return MemoryOperations(_LIMITS)


class LocalOperations:
    """Implementation of `onnxplain.transport.operation_calls.OperationMessages` in this process.

    Parameters
    ----------
    service : Service
        With operations.
    scheduler : Scheduler
        The service's.
    thread_count : int
        Operations at the same time.
    """

    def __init__(self, service: Service, scheduler: Scheduler, thread_count: int) -> None:
        self._calls = OperationCalls(service)
        self._service = service
        self._scheduler = scheduler
        self._thread_count = thread_count
        self._executor: OperationExecutor | None = None
        self._lock = threading.Lock()

    def start(
        self, request: ExplainRequest, ticket: Ticket, request_id: str, labels: Mapping[str, str]
    ) -> Any:
        """Store a request; the first one starts the threads that compute."""
        parts = split_message(request, ServiceMethod.EXPLAIN)
        operation = self._calls.start(parts, ticket, request_id, labels)
        with self._lock:
            store = self._service.operations
            if self._executor is None and store is not None:
                self._executor = OperationExecutor(
                    store, self._service, self._scheduler, thread_count=self._thread_count
                )
        return operation

    def get(self, name: str, *, timeout: float | None = None) -> Any:  # noqa: ARG002 - of servers
        """Return an operation."""
        with translated():
            return self._calls.get(LOCAL_CALLER, name)

    def list(
        self,
        query: str,
        page_size: int,
        page_token: str,
        *,
        timeout: float | None = None,  # noqa: ARG002 - of servers
    ) -> Any:
        """Return a page of operations."""
        with translated():
            return self._calls.list(LOCAL_CALLER, query, page_size, page_token)

    def wait(
        self,
        name: str,
        seconds: float,
        *,
        timeout: float | None = None,  # noqa: ARG002 - of servers
    ) -> Any:
        """Return an operation as soon as it ends, or after some seconds."""
        with translated():
            return self._calls.wait(LOCAL_CALLER, name, seconds, lambda: False)

    def cancel(self, name: str, *, timeout: float | None = None) -> None:  # noqa: ARG002 - of servers
        """Cancel an operation."""
        with translated():
            self._calls.cancel(LOCAL_CALLER, name)

    def delete(self, name: str, *, timeout: float | None = None) -> None:  # noqa: ARG002 - of servers
        """Forget an operation."""
        with translated():
            self._calls.delete(LOCAL_CALLER, name)

    def read(self, name: str, *, timeout: float | None = None) -> ExplainResponse:  # noqa: ARG002 - of servers
        """Return the answer of an operation."""
        with translated():
            return ExplainResponse.FromString(
                b"".join(self._calls.response_parts(LOCAL_CALLER, name))
            )

    def partials(self, name: str, *, timeout: float | None = None) -> Sequence[PartialExplanation]:  # noqa: ARG002 - of servers
        """Return what an operation has finished so far."""
        with translated():
            parts = self._calls.parts(LOCAL_CALLER, name)
        return [PartialExplanation.FromString(part) for part in parts]

    def close(self) -> None:
        """Wait a little for the threads, whose work has been cancelled."""
        if self._executor is not None:
            self._executor.stop(_STOP_SECONDS)
