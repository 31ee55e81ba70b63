"""Events of a streamed explanation: its progress and parts, then its reply."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from onnxplain.v1.explanation_service_pb2 import Progress

from onnxplain_server.core.request import Reply
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.request_control import RequestControl

_EVENT_SECONDS = 0.1
_WAITING_BYTES = 2**23
"""Parts that wait for a slow reader; beyond them, the explanation waits as well, by its clock."""

_Explain: TypeAlias = Callable[[Callable[[], None], Follower], Reply]


class LatestProgress:
    """Latest progress, thread-safe: `done` never falls and `planned` never rises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = 0.0
        self._planned = math.inf
        self._is_new = False

    def advance(self, done: float, planned: float) -> None:
        """Record progress, if there is a plan; thread-safe."""
        if planned <= 0:
            return
        with self._lock:
            self._done = max(self._done, done)
            self._planned = min(self._planned, planned)
            self._is_new = True

    def take(self) -> Progress | None:
        """Return the progress; None if nothing was recorded since the last call."""
        with self._lock:
            if not self._is_new:
                return None
            self._is_new = False
            return Progress(done=self._done, planned=self._planned)


class _WaitingParts:
    """Parts of an answer between the thread that explains and a reader."""

    def __init__(self, control: RequestControl) -> None:
        self._control = control
        self._parts: deque[bytes] = deque()
        self._taken = threading.Condition()

    def publish(self, part: bytes) -> None:
        """Add a part behind those that wait, once there is room; raise as the request ends."""
        with self._taken:
            while self._parts and sum(map(len, self._parts)) + len(part) > _WAITING_BYTES:
                self._control.check("while parts of the answer waited for their reader")
                self._taken.wait(_EVENT_SECONDS)
            self._parts.append(part)

    def take(self) -> bytes | None:
        """Return the next part; None if none waits."""
        with self._taken:
            self._taken.notify()
            return self._parts.popleft() if self._parts else None


class Events:
    """Iterator over progress, parts and, last, the reply; the explanation has its own thread.

    Parameters
    ----------
    control : RequestControl
        Cancelled when the events are closed.
    explain : callable (begin, follower) -> Reply
        Calls `begin` when its request is decoded, and tells the follower progress and parts.

    Raises
    ------
    ExplainError
        Of an explanation that ends before it begins.
    """

    def __init__(self, control: RequestControl, explain: _Explain) -> None:
        self._control = control
        self._latest = LatestProgress()
        self._parts = _WaitingParts(control)
        self._thread = ThreadPoolExecutor(1, "onnxplain-stream")
        begun: Future[bool] = Future()
        self._reply: Future[Reply] = self._thread.submit(
            explain,
            lambda: begun.set_result(True),
            # Not a method of this object, which the explanation's frames would keep.
            Follower(self._latest.advance, self._parts.publish),
        )
        first: list[Future[Any]] = [begun, self._reply]
        wait(first, return_when=FIRST_COMPLETED)
        if not begun.done():
            # Not `close`: the caller may ask again with the same ticket.
            self._thread.shutdown()
            self._reply.result()

    def __iter__(self) -> Iterator[Progress | bytes | Reply]:
        """Yield progress, encoded parts and the reply; raise the error of the explanation."""
        try:
            is_running = True
            while is_running:
                is_running = bool(wait([self._reply], _EVENT_SECONDS).not_done)
                if (progress := self._latest.take()) is not None:
                    yield progress
                yield from iter(self._parts.take, None)
            yield self._reply.result()
        finally:
            self.close()

    def close(self) -> None:
        """Cancel the explanation, and wait for its end."""
        self._control.cancel()
        self._thread.shutdown()
