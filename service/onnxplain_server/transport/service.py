"""What every transport calls: a message in, a message out, or an ExplainError."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager

from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.call import Call
from onnxplain_server.run import Cache, Runner
from onnxplain_server.transport.admission import Caller, Limits, admit
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.progress import Latest
from onnxplain_server.transport.turns import Turns

_EVENT_SECONDS = 0.1


class Service:
    """Admits requests, has them computed in turn, and gives the replies.

    Parameters
    ----------
    runner : Runner
        Does the work.
    cache : Cache
        Shared by all requests.
    limits : Limits
        What is admitted.
    turns : Turns
        How many are admitted.
    metrics : Metrics
        Counts the answers.
    """

    def __init__(
        self, runner: Runner, cache: Cache, limits: Limits, turns: Turns, metrics: Metrics
    ) -> None:
        self._runner = runner
        self._cache = cache
        self._limits = limits
        self._turns = turns
        self._metrics = metrics

    @property
    def ready(self) -> bool:
        """Whether new requests are taken."""
        return not self._turns.closed

    def place(self) -> AbstractContextManager[None]:
        """Hold a place among the requests; to be taken before one is read. See `Turns.place`."""
        return self._turns.place()

    def explain(self, request: ExplainRequest, caller: Caller) -> ExplainResponse:
        """Answer by an explanation."""
        return self._explain(request, self._admit(request.model, request.table, caller))

    def events(self, request: ExplainRequest, caller: Caller) -> Iterator[ExplainStreamResponse]:
        """Admit at once; then tell the progress, and the response as the last event."""
        latest = Latest()
        call = self._admit(request.model, request.table, caller, latest.advance)
        return self._events(request, call, latest)

    def describe(self, request: DescribeModelRequest, caller: Caller) -> DescribeModelResponse:
        """Answer by what a model takes and gives."""
        call = self._admit(request.model, Table(), caller)
        with self._turns.turn(call):
            reply = self._runner.describe(request.SerializeToString(), call)
        return DescribeModelResponse.FromString(reply)

    def _admit(
        self,
        model: Model,
        table: Table,
        caller: Caller,
        progress: Callable[[float, float], None] = lambda _done, _planned: None,
    ) -> Call:
        return admit(
            model, table, caller, cache=self._cache, limits=self._limits, progress=progress
        )

    def _explain(self, request: ExplainRequest, call: Call) -> ExplainResponse:
        with self._turns.turn(call):
            start = time.monotonic()
            reply = self._runner.explain(request.SerializeToString(), call)
            seconds = time.monotonic() - start
        response = ExplainResponse.FromString(reply)
        methods = [str(options.WhichOneof("method")) for options in request.methods]
        self._metrics.explained(methods, seconds, response.receipt.predicted_row_count)
        return response

    def _events(
        self, request: ExplainRequest, call: Call, latest: Latest
    ) -> Iterator[ExplainStreamResponse]:
        with ThreadPoolExecutor(1, "onnxplain-stream") as thread:
            reply = thread.submit(self._explain, request, call)
            try:
                running = True
                while running:
                    running = bool(wait([reply], _EVENT_SECONDS).not_done)
                    if (progress := latest.take()) is not None:
                        yield ExplainStreamResponse(progress=progress)
                yield ExplainStreamResponse(response=reply.result())
            finally:
                call.cancel()
