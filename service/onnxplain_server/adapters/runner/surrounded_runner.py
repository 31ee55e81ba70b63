"""Runner that answers each call inside a context, such as one that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from onnxplain_server.core.interfaces import Blobs, Call, Runner, RunnerHost
from onnxplain_server.core.request import Reply


@dataclass(frozen=True, slots=True)
class SurroundedRunner:
    """`Runner` that enters a context around each call of another runner.

    Attributes
    ----------
    runner : Runner
    surround : callable (blobs, host) -> context manager
    """

    runner: Runner
    surround: Callable[[Blobs, RunnerHost], AbstractContextManager[None]]

    def answer(self, call: Call, host: RunnerHost) -> Reply:
        """See `Runner.answer`."""
        with self.surround(call.blobs, host):
            return self.runner.answer(call, host)


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
