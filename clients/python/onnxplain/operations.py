"""Operations: explanations that a server computes and keeps, whether or not the client waits."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from onnxplain.errors import ExplainError, ShortTracebacks
from onnxplain.events import PartialExplanation, to_partial
from onnxplain.progress import Progress, ProgressCallback, progress_callback
from onnxplain.results.explanations import Explanations
from onnxplain.results.plans import ExplanationPlan
from onnxplain.transport.error_translation import error_of
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.operations_pb2 import OperationMetadata

if TYPE_CHECKING:
    from onnxplain.transport.operation_calls import OperationMessages

STEP_SECONDS = 1.0
"""Wait of one call: progress is told as often."""

_PAUSE_SECONDS = 0.2
"""Pause after a wait that the server ended at once."""


class OperationView:
    """State of an operation, as it was when last asked for.

    Attributes
    ----------
    message : google.longrunning.Operation
    metadata : OperationMetadata
        All that the server tells about it.
    """

    def __init__(self, message: Any) -> None:
        self._update(message)

    def _update(self, message: Any) -> None:
        self.message = message
        self.metadata = OperationMetadata()
        message.metadata.Unpack(self.metadata)

    @property
    def name(self) -> str:
        """Name, by which `Client.operation` finds it again: "operations/" and an id."""
        return str(self.message.name)

    @property
    def state(self) -> str:
        """One of "PENDING", "RUNNING", "SUCCEEDED", "FAILED" and "CANCELLED"."""
        return OperationMetadata.State.Name(self.metadata.state)

    @property
    def is_done(self) -> bool:
        """True once it has ended."""
        return bool(self.message.done)

    @property
    def progress(self) -> Progress:
        """Rows done and planned, as of some seconds before."""
        return Progress(self.metadata.progress.done, self.metadata.progress.planned)

    @property
    def error(self) -> ExplainError | None:
        """Error of one that FAILED or was CANCELLED."""
        return error_of(self.message.error) if self.message.HasField("error") else None

    @property
    def plan(self) -> ExplanationPlan | None:
        """Plan of its computation; None before it begins, and from `Client.operations`."""
        is_planned = self.metadata.HasField("plan")
        return ExplanationPlan.from_message(self.metadata.plan) if is_planned else None

    @property
    def partial_count(self) -> int:
        """Times that a partial explanation was stored: it grows when there are new `partials`."""
        return int(self.metadata.partial_count)

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels that it was started with."""
        return dict(self.metadata.labels)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of its methods, as in `MethodOptions`; empty for an overview."""
        return tuple(self.metadata.methods)

    @property
    def create_time(self) -> datetime:
        """Time of the start, in UTC."""
        return _datetime(self.metadata.create_time)

    @property
    def expire_time(self) -> datetime:
        """Time at which the server forgets it, in UTC."""
        return _datetime(self.metadata.expire_time)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.state}>"


class Operation(OperationView):
    """Explanation that a server computes; made by `Client.start`, `operation` and `operations`.

    Parameters
    ----------
    message : google.longrunning.Operation
    calls : OperationMessages

    Examples
    --------
    >>> operation = client.start("model.onnx", frame, labels={"team": "risk"})
    >>> operation.name
    'operations/5f0c...'
    >>> explanation = operation.result()
    """

    def __init__(self, message: Any, calls: OperationMessages) -> None:
        super().__init__(message)
        self._calls = calls

    def refresh(self, *, timeout: float | None = None) -> Operation:
        """Ask for the current state, and return this operation."""
        __tracebackhide__ = True
        with ShortTracebacks():
            self._update(self._calls.get(self.name, timeout=timeout))
        return self

    def wait(
        self, *, timeout: float | None = None, progress: ProgressCallback | bool = True
    ) -> bool:
        """Wait for the end; return whether it has come.

        Parameters
        ----------
        timeout : float, optional
            Seconds. Default: no limit.
        progress : bool or callable (done, planned)
            As for `Client.explain`. It may fall when another server takes the operation over.
        """
        __tracebackhide__ = True
        end = math.inf if timeout is None else time.monotonic() + timeout
        with ShortTracebacks(), progress_callback(progress) as callback:
            while True:
                start = time.monotonic()
                step = min(STEP_SECONDS, max(0.0, end - start))
                self._update(self._calls.wait(self.name, step))
                report(self, callback)
                if self.is_done or time.monotonic() >= end:
                    return self.is_done
                time.sleep(pause_after(start, step))

    def result(
        self, *, timeout: float | None = None, progress: ProgressCallback | bool = True
    ) -> Explanations:
        """Wait for the end, and return the explanations.

        Raises
        ------
        ExplainError
            Of an operation that FAILED or was CANCELLED; OPERATION_NOT_DONE after the timeout.
        """
        __tracebackhide__ = True
        if not self.is_done:
            self.wait(timeout=timeout, progress=progress)
        with ShortTracebacks():
            return Explanations(response_of(self) or self._calls.read(self.name))

    def partials(self, *, timeout: float | None = None) -> tuple[PartialExplanation, ...]:
        """Return what is finished so far, the latest of each method, in their order.

        Empty for an operation that was started without `partial`, or has no part yet. One that
        SUCCEEDED has its answer only; one that FAILED or was CANCELLED keeps its parts.

        Examples
        --------
        >>> operation = client.start("model.onnx", frame, partial=True)
        >>> while not operation.wait(timeout=30):
        ...     for part in operation.partials():
        ...         print(part.index, part.is_final, part.explanations)
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            return tuple(map(to_partial, self._calls.partials(self.name, timeout=timeout)))

    def cancel(self, *, timeout: float | None = None) -> None:
        """Ask the server to end it; `wait` for the end. Nothing happens if it has ended."""
        __tracebackhide__ = True
        with ShortTracebacks():
            self._calls.cancel(self.name, timeout=timeout)

    def delete(self, *, timeout: float | None = None) -> None:
        """Have the server forget it with its answer, and end it if it runs."""
        __tracebackhide__ = True
        with ShortTracebacks():
            self._calls.delete(self.name, timeout=timeout)


def pause_after(start: float, step: float) -> float:
    """Return a short pause if a wait of `step` seconds since `start` came back early, or 0."""
    return min(step, _PAUSE_SECONDS) if time.monotonic() - start < step else 0.0


def response_of(operation: OperationView) -> Any:
    """Return the response that came with an operation; None if it must be read.

    Raises
    ------
    ExplainError
        Of an operation that FAILED or was CANCELLED.
    """
    if operation.error is not None:
        raise operation.error
    response = ExplainResponse()
    is_inline = operation.message.HasField("response")
    return response if is_inline and operation.message.response.Unpack(response) else None


def report(operation: OperationView, callback: ProgressCallback | None) -> None:
    """Tell a callback the progress, if there is any."""
    if callback is not None and operation.progress.planned:
        callback(operation.progress.done, operation.progress.planned)


def _datetime(timestamp: Any) -> datetime:
    found: datetime = timestamp.ToDatetime(UTC)
    return found
