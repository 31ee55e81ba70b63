"""CPU priority of workers by niceness: short requests go before long ones.

Admission alone cannot protect a short request from concurrent long ones, since
all share the same cores. So the niceness of a worker rises with the time that it
works on one request, and starts at the level where its caller's requests usually
end. By the kernel's weights, a worker with 4 s more behind it gets less than a
tenth of the CPU time of a new one under contention, and all of it without.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from cachetools import LRUCache

from onnxplain_server.adapters.workers.ipc.zygote_protocol import WORKER_NICENESS
from onnxplain_server.adapters.workers.process_status import processor_seconds
from onnxplain_server.adapters.workers.worker_process import Worker

if sys.platform != "linux":
    raise ImportError("of Linux alone")

_SHORT_SECONDS = 0.25
_LEVELS = 4
"""Levels per doubling of the time; each doubling multiplies the kernel's weight by 0.41."""

_MAX_LEVEL = 15
_MAX_NICENESS = 19
"""Of the system."""

_UPDATE_SECONDS = 0.1
_SMOOTHING = 0.5
_CALLER_COUNT = 10_000


def niceness(seconds: float) -> int:
    """Return the level for a processor time: 0 (first) to 15 (last)."""
    return min(_MAX_LEVEL, int(_LEVELS * math.log2(1 + seconds / _SHORT_SECONDS)))


class Priorities:
    """Moving average of processor time per request, by caller; safe for threads."""

    def __init__(self) -> None:
        self._usual_seconds: LRUCache[Hashable, float] = LRUCache(_CALLER_COUNT)

    def begin(self, worker: Worker, caller_key: Hashable) -> RequestPriority | None:
        """Set a worker's priority; None where its niceness is already too high for this caller.

        Only privileged processes may lower niceness; others need a new worker.
        """
        priority = RequestPriority(worker, self._usual_seconds.get(caller_key, 0.0))
        return priority if priority.is_fair else None

    def end(self, priority: RequestPriority, caller_key: Hashable) -> None:
        """Update the moving average of the caller."""
        usual = self._usual_seconds.get(caller_key, 0.0)
        self._usual_seconds[caller_key] = usual + _SMOOTHING * (priority.used_seconds() - usual)


class RequestPriority:
    """CPU priority of a worker during one request."""

    def __init__(self, worker: Worker, usual_seconds: float) -> None:
        self._worker = worker
        self._usual_seconds = usual_seconds
        self._start_seconds = processor_seconds(worker.pid)
        self._updated_at = time.monotonic()
        level = niceness(usual_seconds)
        _set_niceness(worker, level)
        self.is_fair = worker.niceness <= level + _LEVELS

    def used_seconds(self) -> float:
        """Return the processor time of the request so far."""
        return max(0.0, processor_seconds(self._worker.pid) - self._start_seconds)

    def update(self) -> None:
        """Raise the niceness of a long-running worker; called at short intervals."""
        now = time.monotonic()
        if now - self._updated_at < _UPDATE_SECONDS:
            return
        self._updated_at = now
        level = niceness(max(self._usual_seconds, self.used_seconds()))
        if level > self._worker.niceness:
            _set_niceness(self._worker, level)


def _set_niceness(worker: Worker, level: int) -> None:
    """Set the niceness of all threads, relative to that of new workers; new threads inherit it.

    No effect without the permission, or without /proc.
    """
    if level == worker.niceness:
        return
    base = os.getpriority(os.PRIO_PROCESS, 0) + WORKER_NICENESS
    with suppress(OSError):
        for thread in Path(f"/proc/{worker.pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), min(_MAX_NICENESS, base + level))
        worker.niceness = level
