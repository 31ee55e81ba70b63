"""Who answers a command: this process, or a server."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol, TypeAlias

import onnxplain
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
)

from onnxplain_server.cli.connection import Connection
from onnxplain_server.cli.parts import ServiceParts
from onnxplain_server.core.interfaces import NO_BLOBS
from onnxplain_server.transport.admission.request_context import RequestContext

Follow: TypeAlias = Callable[[float, float], None] | None
"""Told rows done and planned; None where nobody looks."""


class Backend(Protocol):
    """Answers messages by messages."""

    def explain(self, request: ExplainRequest, follow: Follow) -> ExplainResponse:
        """Answer by an explanation."""

    def describe(self, request: DescribeModelRequest) -> DescribeModelResponse:
        """Answer by what a model takes and gives."""


def choose(
    parts: ServiceParts, endpoint: str | None, timeout: float | None, connection: Connection
) -> Backend:
    """Return the server at the endpoint, or this process where there is none.

    Parameters
    ----------
    parts : ServiceParts
    endpoint : str or None
        Host and port.
    timeout : float or None
        Seconds for each call.
    connection : Connection
        For the server.
    """
    if endpoint:
        return Remote(endpoint, timeout, connection)
    connection.check_unused()
    return LocalBackend(parts, timeout)


class LocalBackend:
    """Computes in this process."""

    def __init__(self, parts: ServiceParts, timeout: float | None) -> None:
        self._parts = parts
        self._seconds = math.inf if timeout is None else timeout

    def explain(self, request: ExplainRequest, follow: Follow) -> ExplainResponse:
        """See `Backend.explain`."""
        runner = self._parts.runner()
        with _interruptible(self._call(follow or _ignore)) as call:
            return ExplainResponse.FromString(
                runner.explain(request.SerializeToString(), NO_BLOBS, call)
            )

    def describe(self, request: DescribeModelRequest) -> DescribeModelResponse:
        """See `Backend.describe`."""
        runner = self._parts.runner()
        with _interruptible(self._call(_ignore)) as call:
            reply = runner.describe(request.SerializeToString(), NO_BLOBS, call)
        return DescribeModelResponse.FromString(reply)

    def _call(self, follow: Callable[[float, float], None]) -> RequestContext:
        # The cache lives as long as the process: nobody else's names are in it.
        return RequestContext(self._parts.cache(), "", self._seconds, follow)


class Remote:
    """Asks a server."""

    def __init__(self, endpoint: str, timeout: float | None, connection: Connection) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._connection = connection

    def explain(self, request: ExplainRequest, follow: Follow) -> ExplainResponse:
        """See `Backend.explain`."""
        with self._connect() as client:
            return client.messages.explain(request, progress=follow)

    def describe(self, request: DescribeModelRequest) -> DescribeModelResponse:
        """See `Backend.describe`."""
        with self._connect() as client:
            return client.messages.describe(request)

    def _connect(self) -> onnxplain.Client:
        return self._connection.open(self._endpoint, self._timeout)


@contextmanager
def _interruptible(call: RequestContext) -> Iterator[RequestContext]:
    """Let the first Ctrl-C end the computation at its next step, and a second one at once."""

    def cancel(number: int, _frame: FrameType | None) -> None:
        call.cancel()
        signal.signal(number, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield call
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore(_done: float, _planned: float) -> None:
    """Tell nobody."""
