"""Runner in the server's own process, with its processor time counted for the requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.interfaces import Blobs, Runner, RunnerHost
from onnxplain_server.core.request import Reply, ReplyFormat


class ProcessTimed:
    """`Runner` that counts the processor time of this process while it works on a request.

    Requests that run at the same time count each other's: nothing here tells them apart.

    Parameters
    ----------
    runner : Runner
        Of this process.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def explain(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.explain`."""
        with _timed(host):
            return self._runner.explain(request, blobs, host, reply_format)

    def plan(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.plan`."""
        with _timed(host):
            return self._runner.plan(request, blobs, host, reply_format)

    def describe(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.describe`."""
        with _timed(host):
            return self._runner.describe(request, blobs, host, reply_format)


@contextmanager
def _timed(host: RunnerHost) -> Iterator[None]:
    start = time.process_time()
    try:
        yield
    finally:
        host.count_processor(time.process_time() - start)
