"""Runner that computes each request inside a context, such as one that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from onnxplain_server.core.interfaces import Blobs, Runner, RunnerHost
from onnxplain_server.core.request import Reply, ReplyFormat


class SurroundedRunner:
    """`Runner` that enters a context around each request of another runner.

    Parameters
    ----------
    runner : Runner
    surround : callable (blobs, host) -> context manager
    """

    def __init__(
        self,
        runner: Runner,
        surround: Callable[[Blobs, RunnerHost], AbstractContextManager[None]],
    ) -> None:
        self._runner = runner
        self._surround = surround

    def explain(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.explain`."""
        with self._surround(blobs, host):
            return self._runner.explain(request, blobs, host, reply_format)

    def plan(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.plan`."""
        with self._surround(blobs, host):
            return self._runner.plan(request, blobs, host, reply_format)

    def describe(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.describe`."""
        with self._surround(blobs, host):
            return self._runner.describe(request, blobs, host, reply_format)

    def describe_table(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.describe_table`."""
        with self._surround(blobs, host):
            return self._runner.describe_table(request, blobs, host, reply_format)

    def predict(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.predict`."""
        with self._surround(blobs, host):
            return self._runner.predict(request, blobs, host, reply_format)

    def check(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.check`."""
        with self._surround(blobs, host):
            return self._runner.check(request, blobs, host, reply_format)


@contextmanager
def process_timed(_blobs: Blobs, host: RunnerHost) -> Iterator[None]:
    """Count the processor time of this process meanwhile for a request.

    Requests that run at the same time count each other's: nothing here tells them apart.
    """
    start = time.process_time()
    try:
        yield
    finally:
        host.count_processor(time.process_time() - start)
