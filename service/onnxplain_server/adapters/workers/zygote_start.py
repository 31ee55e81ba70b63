"""Start of a zygote: waits without a time limit as long as it uses processor time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LOG = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_STUCK_SECONDS = 60.0
"""A process without processor time for so long is stuck."""


class StartError(Exception):
    """Failure to start workers; the text tells the operator why."""


class StartMonitor:
    """Monitor of a start by its processor time, so that slow machines have enough time.

    Parameters
    ----------
    processor_seconds : callable () -> float
        Processor time of the starting process so far.
    """

    def __init__(self, processor_seconds: Callable[[], float]) -> None:
        self._processor_seconds = processor_seconds
        self._started_at = self._progress_at = self._logged_at = time.monotonic()
        self._last = 0.0
        LOG.info("preparing workers: loading code, compiling what no earlier start has cached")

    def check(self) -> None:
        """Check for progress, and log it; called at short intervals.

        Raises
        ------
        StartError
            When it is stuck.
        """
        now, used = time.monotonic(), self._processor_seconds()
        if used > self._last:
            self._last, self._progress_at = used, now
        if now - self._progress_at > _STUCK_SECONDS:
            raise StartError(f"their zygote used no processor time for {_STUCK_SECONDS:g} s")
        if now - self._logged_at >= _LOG_SECONDS:
            self._logged_at = now
            LOG.info(
                "still preparing workers after %.0f s, of which %.0f s of processor time",
                now - self._started_at,
                used,
            )
