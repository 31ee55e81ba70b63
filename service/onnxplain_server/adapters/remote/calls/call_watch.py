"""Watchdog of calls: one thread per process ends calls that are cancelled or take too long.

A read with a timeout starts anew with each byte, so it neither sees a cancellation nor bounds a
server that trickles.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.sources import FetchControl

_CHECK_SECONDS = 0.05
_CALLING = "while it called the remote model"


class WatchedCall:
    """Call in flight.

    Parameters
    ----------
    control : FetchControl
    seconds : float
        Time of the call.

    Attributes
    ----------
    error : ExplainError or None
        Why the request ended meanwhile.
    is_late : bool
        Whether the call was ended because its time had passed.
    """

    def __init__(self, control: FetchControl, seconds: float) -> None:
        self._control = control
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._abort: Callable[[], object] | None = None
        self.error: ExplainError | None = None
        self.is_late = False

    @property
    def is_over(self) -> bool:
        """Return whether the call was ended from outside."""
        return self.is_late or self.error is not None

    def attach(self, abort: Callable[[], object]) -> None:
        """Set what aborts the call, as a socket's shutdown; runs at once if it is over."""
        with self._lock:
            self._abort = abort
            if self.is_over:
                abort()

    def detach(self) -> None:
        """Abort nothing from now on: another call may use the connection."""
        with self._lock:
            self._abort = None

    def inspect(self) -> None:
        """Abort the call if it is cancelled or late."""
        try:
            self._control.check(_CALLING)
        except ExplainError as error:
            self.error = error
        self.is_late = time.monotonic() > self._end
        with self._lock:
            if self.is_over and self._abort is not None:
                self._abort()


class CallWatch:
    """Watchdog of all calls of the process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: set[WatchedCall] = set()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, control: FetchControl, seconds: float) -> Iterator[WatchedCall]:
        """Watch a call inside the context."""
        call = WatchedCall(control, seconds)
        with self._changed:
            self._calls.add(call)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="remote-calls", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield call
        finally:
            call.detach()
            with self._changed:
                self._calls.discard(call)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._calls:
                    self._changed.wait()
                calls = list(self._calls)
            for call in calls:
                call.inspect()
            time.sleep(_CHECK_SECONDS)


WATCH = CallWatch()
"""Watchdog of this process."""
