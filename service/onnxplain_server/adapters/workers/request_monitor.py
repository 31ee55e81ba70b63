"""Request monitor: cancellation, deadline, load time limit and CPU priority of one request."""

from __future__ import annotations

import time
from collections.abc import Callable

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import RequestHost
from onnxplain_server.telemetry.spans import Attributes, Span, current


class RequestMonitor:
    """Monitor of one request: cancellation, deadline, load time limit, CPU priority.

    Parameters
    ----------
    host : RequestHost
    load_seconds : float
        Time limit for loading the model.
    update : callable () -> None
        Called at short intervals.

    Attributes
    ----------
    start : float
        Start of the request, on the monotonic clock.
    """

    def __init__(self, host: RequestHost, load_seconds: float, update: Callable[[], None]) -> None:
        self.host = host
        self.start = time.monotonic()
        self._update = update
        self._load_seconds = load_seconds
        self._load_start: float | None = None
        self._progress = (0.0, 0.0)

    def advance(self, done: float, planned: float) -> None:
        """Forward progress to the host."""
        self._progress = (done, planned)
        self.host.advance(done, planned)

    def begin_load(self) -> None:
        """Record that loading begins."""
        self._load_start = time.monotonic()

    def end(self) -> None:
        """Record the end of the request; a load in progress then counts as failed."""
        self.end_load(has_succeeded=False)

    def end_load(self, has_succeeded: bool) -> None:
        """Record the end of loading."""
        attributes: Attributes = {} if has_succeeded else {"error": "NOT_LOADED"}
        if self._load_start is not None:
            current().add([Span("load", self._load_start, time.monotonic(), attributes)])
        self._load_start = None

    def tick(self) -> None:
        """Raise ExplainError after a cancellation, or beyond the deadline or load time limit."""
        self.host.advance(*self._progress)
        self._update()
        if self._load_start and time.monotonic() > self._load_start + self._load_seconds:
            raise ExplainError(
                Reason.LOADING_TOO_LONG,
                f"loading the model took longer than {self._load_seconds:g} s, the most that this "
                "server allows",
                "model",
            )
