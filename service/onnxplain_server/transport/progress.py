"""How far a computation is, told by its threads and looked at by another."""

from __future__ import annotations

import math
import threading

from onnxplain.v1.explanation_service_pb2 import Progress


class LatestProgress:
    """The latest progress: `done` never falls and `planned` never rises, whoever tells first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = 0.0
        self._planned = math.inf
        self._fresh = False

    def advance(self, done: float, planned: float) -> None:
        """Take note; from any thread. A plan of nothing is none yet, and tells nothing."""
        if planned <= 0:
            return
        with self._lock:
            self._done = max(self._done, done)
            self._planned = min(self._planned, planned)
            self._fresh = True

    def take(self) -> Progress | None:
        """Return what was told since the last look; None where nothing was."""
        with self._lock:
            if not self._fresh:
                return None
            self._fresh = False
            return Progress(done=self._done, planned=self._planned)
