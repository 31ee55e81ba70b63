"""Rate and concurrency limiter of calls, one per server, shared by all requests of the process.

The rate is a sliding window that a call leaves one second after its answer came: the server got it
at some moment between, so no second at the server has more calls than the bound, however long they
travelled. aiolimiter and pyrate-limiter count from the sending, and cannot be cancelled.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.sources import FetchControl

_CHECK_SECONDS = 0.1
_SERVER_COUNT = 1_000
_WAITING = "while it waited to call the remote model"


class CallLimiter:
    """Limiter of the calls of one server."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._active_count = 0
        self._ends: deque[float] = deque()
        self._period = 0.0

    @property
    def is_idle(self) -> bool:
        """Return whether no call counts any more."""
        with self._changed:
            self._forget(time.monotonic())
            return not self._active_count and not self._ends

    @contextmanager
    def slot(self, policy: RemotePolicy, control: FetchControl) -> Iterator[None]:
        """Wait until a call may start; inside, it counts as active.

        Raises
        ------
        ExplainError
            As `FetchControl.check`.
        """
        self._enter(policy, control)
        policy.count_call()
        try:
            yield
        finally:
            with self._changed:
                self._active_count -= 1
                if self._period:
                    self._ends.append(time.monotonic())
                self._changed.notify_all()

    def _enter(self, policy: RemotePolicy, control: FetchControl) -> None:
        count, period = _window(policy.calls_per_second)
        with self._changed:
            self._period = max(self._period, period)
            while (pause := self._pause(policy.call_count, count, period)) > 0:
                self._changed.wait(min(pause, _CHECK_SECONDS))
                control.check(_WAITING)
            self._active_count += 1

    def _pause(self, call_count: int, count: float, period: float) -> float:
        """Return after how many seconds a call may start, unless another call ends before."""
        if self._active_count >= min(call_count, count):
            return math.inf
        now = time.monotonic()
        self._forget(now)
        recent = [end for end in self._ends if end > now - period]
        excess = self._active_count + len(recent) + 1 - count
        return recent[int(excess) - 1] + period - now if excess > 0 else 0.0

    def _forget(self, now: float) -> None:
        while self._ends and self._ends[0] <= now - self._period:
            self._ends.popleft()


def _window(calls_per_second: float) -> tuple[float, float]:
    """Return the most calls in a period, and its seconds: whole calls, never above the rate."""
    if math.isinf(calls_per_second):
        return math.inf, 0.0
    if calls_per_second < 1:
        return 1, 1 / calls_per_second
    return math.floor(calls_per_second), 1.0


class LimiterRegistry:
    """Registry of limiters, by the address of the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limiters: dict[tuple[str, int], CallLimiter] = {}

    def of_server(self, host: str, port: int) -> CallLimiter:
        """Return the limiter of a server."""
        with self._lock:
            if len(self._limiters) > _SERVER_COUNT:
                self._drop_idle()
            return self._limiters.setdefault((host, port), CallLimiter())

    def _drop_idle(self) -> None:
        self._limiters = {
            server: limiter for server, limiter in self._limiters.items() if not limiter.is_idle
        }


LIMITERS = LimiterRegistry()
"""Limiters of this process."""
