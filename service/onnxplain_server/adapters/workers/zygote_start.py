"""Waiting for a zygote: as long as it takes, while it works."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LOG = logging.getLogger(__name__)

_TELL_SECONDS = 10.0
_STUCK_SECONDS = 60.0
"""Who uses no processor for so long waits for something that does not come."""


class StartError(Exception):
    """Workers cannot be had; its text tells the operator why."""


class StartWatch:
    """Judges a start by the processor time that it uses: slow machines have all they need.

    Parameters
    ----------
    used : callable () -> float
        Processor time used so far, in seconds.
    """

    def __init__(self, used: Callable[[], float]) -> None:
        self._used = used
        self._begin = self._moved = self._told = time.monotonic()
        self._last = 0.0
        LOG.info("preparing workers: loading code, compiling what was not kept from earlier starts")

    def look(self) -> None:
        """Say in the log that it goes on; to be called again and again.

        Raises
        ------
        StartError
            Where it is stuck.
        """
        now, used = time.monotonic(), self._used()
        if used > self._last:
            self._last, self._moved = used, now
        if now - self._moved > _STUCK_SECONDS:
            raise StartError(f"their zygote used no processor time for {_STUCK_SECONDS:g} s")
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            LOG.info(
                "still preparing workers after %.0f s, of which %.0f s of processor time",
                now - self._begin,
                used,
            )
