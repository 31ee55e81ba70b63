"""Which workers get the processor first: those of callers whose requests are short.

Turns alone do not keep a short request from being slowed by long ones beside
it: all are computed on the same cores. So a worker steps back the further the
longer it works on one request, and begins where its caller's requests usually
end. By the kernel's weights, one that has worked for 4 s more gets less than a
tenth of what a new one gets where both want all, and all where none other does.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from cachetools import LRUCache

from onnxplain_server.adapters.workers.process_status import processor_seconds
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.adapters.workers.zygote import WORKER_NICENESS

_SHORT_SECONDS = 0.25
_LEVELS = 4
"""Per doubling of the time: a weight of 0.41 times that before."""

_MOST = 15
_WEAKEST = 19
"""Where the system's scale ends."""

_LOOK_SECONDS = 0.1
_NEWEST = 0.5
_CALLER_COUNT = 10_000


def niceness(seconds: float) -> int:
    """Return the level for so much processor time: 0 goes first, 15 last."""
    return min(_MOST, int(_LEVELS * math.log2(1 + seconds / _SHORT_SECONDS)))


class Priorities:
    """Remembers what the requests of each caller usually take; safe for threads."""

    def __init__(self) -> None:
        self._usual: LRUCache[Hashable, float] = LRUCache(_CALLER_COUNT)

    def begin(self, worker: Worker, caller_key: Hashable) -> Share | None:
        """Give a worker its priority; None where it has stepped back too far for this caller.

        Only the privileged may step forward again. Others need a new worker.
        """
        share = Share(worker, self._usual.get(caller_key, 0.0))
        return share if share.is_fair else None

    def end(self, share: Share, caller_key: Hashable) -> None:
        """Learn from a request what the next ones of its caller will take."""
        usual = self._usual.get(caller_key, 0.0)
        self._usual[caller_key] = usual + _NEWEST * (share.used() - usual)


class Share:
    """The priority of a worker for one request."""

    def __init__(self, worker: Worker, usual_seconds: float) -> None:
        self._worker = worker
        self._usual_seconds = usual_seconds
        self._begin = processor_seconds(worker.pid)
        self._looked = time.monotonic()
        wanted = niceness(usual_seconds)
        _set(worker, wanted)
        self.is_fair = worker.niceness <= wanted + _LEVELS

    def used(self) -> float:
        """Processor time so far, in seconds."""
        return max(0.0, processor_seconds(self._worker.pid) - self._begin)

    def look(self) -> None:
        """Let the worker step back where it has worked for long; to be called again and again."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        level = niceness(max(self._usual_seconds, self.used()))
        if level > self._worker.niceness:
            _set(self._worker, level)


def _set(worker: Worker, level: int) -> None:
    """Set it, beyond where workers begin, for all threads; those to come inherit it.

    Left as it is where it may not be set, and where the system has no file to look with.
    """
    if level == worker.niceness:
        return
    first = os.getpriority(os.PRIO_PROCESS, 0) + WORKER_NICENESS
    with suppress(OSError):
        for thread in Path(f"/proc/{worker.pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), min(_WEAKEST, first + level))
        worker.niceness = level
