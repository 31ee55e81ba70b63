"""Latest progress of a computation, written by its threads and read by the streaming thread."""

from __future__ import annotations

import math
import threading

from onnxplain.v1.explanation_service_pb2 import Progress


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
