"""Answers a client in its own process: `onnxplain.local()`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import onnxplain
from onnxplain.calls import no_answer, take
from onnxplain.progress import ProgressCallback
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)

from onnxplain_server.errors import ExplainError
from onnxplain_server.run import Cache, Runner
from onnxplain_server.transport.admission import Caller, Limits
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.status import STATUS
from onnxplain_server.transport.turns import Turns

# The caller's own machine and memory: nothing to protect from anyone.
_NO_LIMITS = Limits(2**63, 2**63, math.inf)
_RUNNING_COUNT = 2
_WAITING_COUNT = 1_000


class Local:
    """The calls of `onnxplain.calls.Messages`, computed here.

    Parameters
    ----------
    runner : Runner
        Does the work.
    cache : Cache
        Shared by all calls.
    """

    def __init__(self, runner: Runner, cache: Cache) -> None:
        self._turns = Turns(_RUNNING_COUNT, _WAITING_COUNT)
        self._service = Service(runner, cache, _NO_LIMITS, self._turns, Metrics())

    def explain(
        self,
        request: ExplainRequest,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> ExplainResponse:
        """Explain, on a thread of its own: an interrupt then ends the computation too."""
        answer = None
        for event in self.explain_stream(request, timeout=timeout):
            answer = take(event, progress or _ignore) or answer
        return answer or no_answer()

    def explain_stream(
        self, request: ExplainRequest, *, timeout: float | None = None
    ) -> Iterator[ExplainStreamResponse]:
        """Explain with progress; leaving the loop early cancels the computation."""
        with self._translated():
            yield from self._service.events(request, _caller(timeout))

    def describe(
        self, request: DescribeModelRequest, *, timeout: float | None = None
    ) -> DescribeModelResponse:
        """Tell what a model takes and gives."""
        with self._translated():
            return self._service.describe(request, _caller(timeout))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:  # noqa: ARG002 - of servers
        """Return "SERVING" until closed."""
        return "SERVING" if self._service.ready else "NOT_SERVING"

    def close(self) -> None:
        """End running calls, and take no others."""
        self._turns.close()
        self._turns.end_all()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the server's errors into the client's."""
        try:
            with self._service.place():
                yield
        except ExplainError as error:
            reason = error.reason
            raise onnxplain.ExplainError(
                reason.name, error.message, error.field, STATUS[reason].grpc.name
            ) from error


def _caller(timeout: float | None) -> Caller:
    return Caller("local", math.inf if timeout is None else timeout, gone=lambda: False)


def _ignore(_done: float, _planned: float) -> None:
    """Tell nobody."""
